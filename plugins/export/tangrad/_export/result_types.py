"""The named tuples that Tangrad's own functions return, by the names that files give them."""

from __future__ import annotations

import importlib

# Name -> where its distribution offers it. A file names none but these, so reading one imports nothing else.
RESULTS = {
    "tangrad.EigResult": "tangrad.extend.numpy",
    "tangrad.EighResult": "tangrad.extend.numpy",
    "tangrad.QRResult": "tangrad.extend.numpy",
    "tangrad.SVDResult": "tangrad.extend.numpy",
    "tangrad.SlogdetResult": "tangrad.extend.numpy",
    "tangrad.UniqueAll": "tangrad.extend.numpy",
    "tangrad.UniqueCounts": "tangrad.extend.numpy",
    "tangrad.UniqueInverse": "tangrad.extend.numpy",
    "tangrad.ModeResult": "tangrad.extend.scipy",
    "tangrad.OptimizeResults": "tangrad.extend.scipy",
    "tangrad.Rotation": "tangrad.extend.scipy",
}


def result_type(name: str) -> type | None:
    """Return the type of that name. Returns None for other names, and where its distribution is not installed."""
    module = RESULTS.get(name)
    if module is None:
        return None
    try:
        found: type = getattr(importlib.import_module(module), name.rpartition(".")[2])
    except ModuleNotFoundError:
        return None
    return found
