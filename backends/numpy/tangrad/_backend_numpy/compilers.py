"""Compilers of loops, which other distributions may provide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from typing_extensions import Protocol

from tangrad import errors
from tangrad._backend_numpy.functions import FRESH
from tangrad.core import Primitive, ShapedArray, composition

if TYPE_CHECKING:
    import numpy as np

    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Params

GROUP = "tangrad.numpy_compilers"


class LoopCompiler(Protocol):
    """What an entry point of group `tangrad.numpy_compilers` names: it compiles loops for the NumPy backend."""

    def compile_loop(
        self, primitive: Primitive, params: Params, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
    ) -> Callable[..., tuple[np.ndarray, ...]] | None:
        """Return a loop as a function of arrays, or None: then the backend's own code runs.

        Args:
            primitive: `scan` or `while`, with its parameters.
            in_avals, out_avals: the types of the operands and the results.

        The function gets an array for each operand, in any memory order, which it must not write to, and returns a
        tuple of new arrays. It may run in several threads at once. What is raised here reaches the user.
        """
        ...


def compiled_or(ordinary: Callable[..., tuple[Value, ...]]) -> Callable[..., tuple[Value, ...]]:
    """Decorator of a loop's rule: what a compiler has for the loop comes first."""

    def emit(ctx: Lowering, *operands: Value, **params: object) -> tuple[Value, ...]:
        compiled = _compiled_loop(ctx, params)
        if compiled is None:
            return ordinary(ctx, *operands, **params)
        return ctx.call(compiled, *operands, nature=FRESH)

    return emit


def _compiled_loop(ctx: Lowering, params: Params) -> Callable[..., tuple[np.ndarray, ...]] | None:
    """The loop of an equation as a function of arrays, from the first compiler that has one."""
    for plugin in composition().entries(GROUP):
        try:
            compiler: LoopCompiler = plugin.load()
        except errors.PluginError:  # `tangrad doctor` reports why
            continue
        function = compiler.compile_loop(ctx.primitive, params, ctx.in_avals, ctx.out_avals)
        if function is not None:
            return function
    return None
