"""What the NumPy backend asks for compiled loops. The size of a loop decides: importing numba takes a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._numba.costs import Cost, cost_of_loop
from tangrad._numba.settings import numba_loops
from tangrad.core.settings import is_checking_values
from tangrad.core.tools import own_fault

if TYPE_CHECKING:
    import numpy as np

    from tangrad.core import Primitive, ShapedArray

LOOPS = frozenset(("control_flow.scan", "control_flow.while"))
# Seconds that the ordinary code of one call must take at least. numba's second pays after some two hundred such calls,
# or at the first one of what takes so long; measured in docs/speed.md.
PAYS = 0.005
GAIN = 0.7  # and so much of them that compiled code must take at most


def _pays(cost: Cost) -> bool:
    return cost.ordinary >= PAYS and cost.compiled < GAIN * cost.ordinary


class Loops:
    """The compiler of loops: see `tangrad.extend.backend_numpy.LoopCompiler`."""

    def compile_loop(
        self, primitive: Primitive, params: Any, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
    ) -> Callable[..., tuple[np.ndarray, ...]] | None:
        """A loop as function of arrays; None where it does not pay, or where there is something that has no code."""
        chosen: Any = numba_loops.value
        if not chosen or primitive.identity not in LOOPS or is_checking_values():
            return None
        try:
            cost = cost_of_loop(primitive.identity, params)
            if cost is None or not (chosen == "always" or _pays(cost)):
                return None
            from tangrad._numba import compiled

            return compiled.loop_function(primitive.identity, params, in_avals, out_avals, cost.stretch)
        except own_fault(Exception):  # whatever keeps numba from it, the ordinary code does the same
            return None


loops = Loops()
