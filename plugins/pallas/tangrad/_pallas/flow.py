"""What kernels decide and repeat: `when`, `loop`, memory for a while, prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tangrad import debug, new_ref, tree
from tangrad._pallas.arithmetic import cdiv
from tangrad._pallas.memory import unwritten
from tangrad._pallas.specs import MemoryRef
from tangrad.core import api_boundary, get_aval
from tangrad.extend.lax import cond, fori_loop
from tangrad.typing import ArrayLike

R = TypeVar("R")


@api_boundary
def when(condition: ArrayLike, /) -> Callable[[Callable[[], None]], None]:
    """A decorator: run a function without arguments, now, where a condition holds.

    Args:
        condition: a truth value, or a scalar that the program computes. What the function writes to references is only
            written if it holds.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> def total(x_ref, o_ref):
    ...     @pl.when(pl.program_id(0) == 0)
    ...     def _():
    ...         o_ref[...] = np.zeros_like(o_ref)
    ...     o_ref[...] += x_ref[...]
    >>> blocks = pl.BlockSpec((2,), lambda i: (i,))
    >>> result = tangrad.ShapeDtypeStruct((2,), "float32")
    >>> pl.pallas_call(total, result, grid=3, in_specs=[blocks])(np.arange(6.0))
    Array([6., 9.], dtype=float32)
    """

    def run(function: Callable[[], None]) -> None:
        def branch() -> tuple[()]:
            function()
            return ()

        if isinstance(condition, bool):
            if condition:
                function()
            return
        aval = get_aval(condition)
        if aval.shape:
            raise ValueError(f"when: the condition must be a scalar, got {aval.str_short()}")
        cond(condition, branch, lambda: ())

    return run


@api_boundary
def loop(
    lower: ArrayLike, upper: ArrayLike, *, init_carry: Any = None, step: ArrayLike = 1, unroll: int | bool | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: run a function for each number from `lower` to `upper`, now, and return what it carried.

    Args:
        lower, upper, step: integers or integer scalars; `upper` is not reached.
        init_carry: what the function gets first, beside the number; None: it gets the number alone.
        unroll: how many iterations make one of the loop; needs bounds that are Python numbers.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> ref = tangrad.new_ref(np.zeros(4, int))
    >>> @pl.loop(0, 4, step=2)
    ... def _(i):
    ...     ref[i] = i
    >>> ref[...]
    Array([0, 0, 2, 0], dtype=int32)
    """

    def run(function: Callable[..., Any]) -> Any:
        def body(number: Any, carry: Any) -> Any:
            index = lower + number * step
            if init_carry is None:
                function(index)
                return None
            return function(index, carry)

        return fori_loop(0, cdiv(upper - lower, step), body, init_carry, unroll=unroll)  # type: ignore[operator]

    return run


@api_boundary
def run_scoped(f: Callable[..., R], *types: Any, **kw_types: Any) -> R:
    """Call a function with references to memory of its own, and return what it returns.

    Args:
        f: a function of references.
        *types, **kw_types: requests for memory, such as `tpu.VMEM((8, 128), "float32")`, and trees of them.

    Raises TypeError for other things.

    >>> from tangrad.experimental import pallas as pl
    >>> from tangrad.experimental.pallas import tpu
    >>> def twice(ref):
    ...     ref[...] = 1.0
    ...     return ref[...] + ref[...]
    >>> pl.run_scoped(twice, tpu.VMEM((2,), "float32"))
    Array([2., 2.], dtype=float32)
    """

    def made(wanted: Any) -> Any:
        if not isinstance(wanted, MemoryRef):
            raise TypeError(
                f"run_scoped: expected requests for memory, such as tpu.VMEM(shape, dtype), got {wanted!r} of type "
                f"{type(wanted).__name__}"
            )
        return new_ref(unwritten(wanted.shape, wanted.dtype))

    args, kwargs = tree.map(made, (types, kw_types))
    return f(*args, **kwargs)


@api_boundary
def debug_print(fmt: str, *args: ArrayLike) -> None:
    """Print values from within a kernel, at each place of the grid.

    Args:
        fmt: text with a `{}` for each value; without any, the values are printed after it.

    >>> import tangrad
    >>> from tangrad.experimental import pallas as pl
    >>> def kernel(o_ref):
    ...     pl.debug_print("at {}", pl.program_id(0))
    ...     o_ref[...] = 0
    >>> _ = pl.pallas_call(kernel, tangrad.ShapeDtypeStruct((), "int32"), grid=2)()
    at 0
    at 1
    """
    debug.print(fmt if "{" in fmt else " ".join([fmt, *["{}"] * len(args)]), *args, ordered=True)
