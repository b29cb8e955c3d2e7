# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.cosine_transforms import (
    dct as dct,
    dctn as dctn,
    idct as idct,
    idctn as idctn,
)

__all__ = [
    "dct",
    "dctn",
    "idct",
    "idctn",
]
