"""Functions that kernels call: small arithmetic, and what they decide, repeat and print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import tangrad.numpy as tnp
from tangrad import debug, new_ref, tree
from tangrad._references.cells import Ref
from tangrad._references.pallas.interpretation import unwritten
from tangrad._references.pallas.specs import MemoryRef
from tangrad.core import Array, api_boundary, get_aval
from tangrad.extend.lax import cond, fori_loop
from tangrad.typing import ArrayLike, PyTree

if TYPE_CHECKING:
    from tangrad.lax import PrecisionLike

# --- Small functions that kernels use ---------------------------------------------------------------------------------


V = TypeVar("V")


@overload
def cdiv(a: int, b: int) -> int: ...
@overload
def cdiv(a: object, b: object) -> Array: ...
@api_boundary
def cdiv(a: Any, b: Any) -> int | Array:
    """The quotient of two integers, rounded up: of Python's, or of arrays.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.cdiv(10, 4)
    3
    """
    quotient: int | Array = (a + b - 1) // b
    return quotient


@api_boundary
def next_power_of_2(x: int) -> int:
    """The least power of two that is not less than an integer; 1 for 0.

    Raises ValueError for a negative integer.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.next_power_of_2(100)
    128
    """
    if x < 0:
        raise ValueError(f"next_power_of_2: x must not be negative, got {x}")
    return 1 << (x - 1).bit_length() if x > 1 else 1


@api_boundary
def align_to(x: int, alignment: int) -> int:
    """The least multiple of `alignment` that is not less than an integer.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.align_to(100, 8)
    104
    """
    return int(cdiv(x, alignment) * alignment)


@api_boundary
def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """How far apart in memory the elements of an array are along each dimension, in elements, the last one 1.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.strides_from_shape((2, 3, 4))
    (12, 4, 1)
    """
    strides: list[int] = []
    total = 1
    for size in reversed(shape):
        strides.insert(0, total)
        total *= size
    return tuple(strides)


@api_boundary
def reciprocal(x: ArrayLike, *, approx: bool = False, full_range: bool = True) -> Array:
    """1 / x. With `approx` hardware may be less exact; here it is as exact as a division.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.reciprocal(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return tnp.reciprocal(x)


@api_boundary
def dot(
    a: ArrayLike,
    b: ArrayLike,
    trans_a: bool = False,
    trans_b: bool = False,
    allow_tf32: bool | None = None,
    precision: PrecisionLike = None,
) -> Array:
    """The product of two matrices, in float32 for floating-point ones of 32 bits or fewer.

    Args:
        a, b: matrices, transposed first where `trans_a` or `trans_b` is true.
        allow_tf32: accepted.
        precision: as in `lax.dot`.

    Raises ValueError for what is no matrix.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> pl.dot(np.ones((2, 3)), np.ones((2, 3)), trans_b=True)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    left, right = tnp.asarray(a), tnp.asarray(b)
    if left.ndim != 2 or right.ndim != 2:
        raise ValueError(f"dot: a and b must be matrices, got shapes {left.shape} and {right.shape}")
    accumulated = "int32" if left.dtype.kind in "iu" else tnp.promote_types("float32", left.dtype)
    return tnp.dot(
        left.T if trans_a else left,
        right.T if trans_b else right,
        precision=precision,
        preferred_element_type=accumulated,
    )


@api_boundary
def multiple_of(x: V, values: Sequence[int] | int) -> V:
    """`x`, of which the author knows that it is a multiple of `values`.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.multiple_of(16, 8)
    16
    """
    return x


@api_boundary
def max_contiguous(x: V, values: Sequence[int] | int) -> V:
    """`x`, of which the author knows that so many elements in a row follow each other.

    >>> from tangrad.experimental.pallas import triton
    >>> triton.max_contiguous(16, 8)
    16
    """
    return x


@api_boundary
def broadcast_to(a: ArrayLike, shape: tuple[int, ...]) -> Array:
    """An array in a larger shape, as `numpy.broadcast_to` has it.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.broadcast_to(1.0, (2,))
    Array([1., 1.], dtype=float32, weak_type=True)
    """
    return tnp.broadcast_to(a, shape)


@api_boundary
def approx_tanh(x: ArrayLike) -> Array:
    """The hyperbolic tangent; here it is as exact as `numpy.tanh`.

    >>> from tangrad.experimental.pallas import triton
    >>> triton.approx_tanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return tnp.tanh(x)


@api_boundary
def roll(
    x: ArrayLike, shift: ArrayLike, axis: int, *, stride: int | None = None, stride_axis: int | None = None
) -> Array:
    """An array whose elements moved along one axis, those that left it to its other end.

    Raises NotImplementedError for a `stride`.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.pallas import tpu
    >>> tpu.roll(np.arange(3), 1, 0)
    Array([2, 0, 1], dtype=int32)
    """
    if stride is not None or stride_axis is not None:
        raise NotImplementedError("tpu.roll: stride and stride_axis are not implemented; roll each row by itself")
    return tnp.roll(x, shift, axis)


# --- What kernels decide and repeat: `when`, `loop`, memory for a while, prints ---------------------------------------


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
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    init_carry: object = None,
    step: ArrayLike = 1,
    unroll: int | bool | None = None,
) -> Callable[[Callable[..., object]], PyTree]:
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

    def run(function: Callable[..., object]) -> PyTree:
        def body(number: Array, carry: object) -> object:
            index = lower + number * step
            if init_carry is None:
                function(index)
                return None
            return function(index, carry)

        return fori_loop(0, cdiv(upper - lower, step), body, init_carry, unroll=unroll)  # type: ignore[operator]

    return run


@api_boundary
def run_scoped(f: Callable[..., R], *types: object, **kw_types: object) -> R:
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

    def made(wanted: object) -> Ref:
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
