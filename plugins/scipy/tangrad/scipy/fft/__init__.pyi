# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.cosine_transforms import dct as dct
from tangrad.scipy.cosine_transforms import dctn as dctn
from tangrad.scipy.cosine_transforms import idct as idct
from tangrad.scipy.cosine_transforms import idctn as idctn

__all__ = [
    "dct",
    "dctn",
    "idct",
    "idctn",
]
