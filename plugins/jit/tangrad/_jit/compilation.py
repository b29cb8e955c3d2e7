"""What a compiled program remembers of how it was made, for its report."""

from __future__ import annotations

from typing import Any, NamedTuple

from tangrad.core import ClosedJaxpr


class Compilation(NamedTuple):
    """What a compiled program remembers of how it was made.

    Attributes:
        traced, passes, lowered, compiled: seconds. reused: whether the function had been traced before.
        program: what the backend got. options: with which options.
    """

    traced: float
    reused: bool
    passes: float
    lowered: float
    compiled: float
    program: ClosedJaxpr
    options: Any
