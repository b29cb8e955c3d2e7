"""The family with all of its primitives, which the modules of this package add to it as they are imported."""

from __future__ import annotations

from tangrad._random import generators
from tangrad._random.ciphers import random
from tangrad._random.distributions import counts, gamma, inversion, normal, selection, shaped, stream, uniform

__all__ = [
    "counts",
    "gamma",
    "generators",
    "inversion",
    "normal",
    "random",
    "selection",
    "shaped",
    "stream",
    "uniform",
]
