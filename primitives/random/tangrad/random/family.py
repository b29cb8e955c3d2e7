"""The family with all of its primitives, which the modules of this package add to it as they are imported."""

from __future__ import annotations

from tangrad.random import generators
from tangrad.random.cipher import random
from tangrad.random.distributions import (
    counts,
    gamma,
    integers,
    inversion,
    normal,
    selection,
    shaped,
    stream,
    uniform,
)

__all__ = [
    "counts",
    "gamma",
    "generators",
    "integers",
    "inversion",
    "normal",
    "random",
    "selection",
    "shaped",
    "stream",
    "uniform",
]
