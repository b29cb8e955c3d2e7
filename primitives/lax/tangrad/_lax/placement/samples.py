"""Samples of moving arrays to devices, for the conformance kit."""

from __future__ import annotations

from tangrad._lax.placement.primitives import Target, device_put_p
from tangrad.conformance import Sample, draw
from tangrad.core import backend_names, get_backend

BY_IDENTITY = "a device is compared by identity, and belongs to its process"


def samples() -> list[Sample]:
    """One array to the first device of each backend."""
    return [
        Sample(
            device_put_p,
            (draw(2, 3, dtype=kind),),
            {"target": Target(get_backend(name).devices()[0])},
            without={"params": BY_IDENTITY, "pickle": BY_IDENTITY},
            backends=(name,),
        )
        for name in backend_names()
        for kind in ("float32", "int32")
    ]
