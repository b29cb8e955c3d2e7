"""A loop as function of arrays: what the entry loads where that pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._numba.program import loop_program
from tangrad._numba.running import array_function


def loop_function(
    identity: str, params: Any, in_avals: Sequence[Any], out_avals: Sequence[Any], stretch: int
) -> Callable[..., tuple[np.ndarray, ...]]:
    """The function. Raises UnsupportedError, and what numba raises."""
    return array_function(loop_program(identity, params, in_avals, out_avals), stretch)
