"""`jax._src.numpy.util`: how functions of `jax.numpy` make operands of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.core import Array, as_array, dtypes
from tangrad.extend import numpy

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike


__all__ = [
    "check_arraylike",
    "ensure_arraylike",
    "promote_args",
    "promote_args_inexact",
    "promote_args_numeric",
    "promote_dtypes",
    "promote_dtypes_complex",
    "promote_dtypes_inexact",
    "promote_dtypes_numeric",
    "promote_shapes",
]


def check_arraylike(fun_name: str, *args: object, **_: object) -> None:
    """Raise TypeError for the first argument that is no array or number."""
    numpy.check_array_like(fun_name, *args)


def ensure_arraylike(fun_name: str, *args: object) -> tuple[Array, ...] | Array:
    """The arguments as arrays, one of them alone as it is. Raises TypeError for what is no array or number."""
    check_arraylike(fun_name, *args)
    arrays = [as_array(arg) for arg in args]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def promote_shapes(fun_name: str, *args: object) -> list[Array]:
    """The arguments as arrays of one number of dimensions, by dimensions of size 1 in front; scalars stay as they are.

    Raises ValueError for shapes that do not broadcast.
    """
    arrays = [as_array(arg) for arg in args]
    rank = len(numpy.broadcast_shape(fun_name, [array.shape for array in arrays]))
    return [array.reshape((1,) * (rank - array.ndim) + array.shape) if array.ndim else array for array in arrays]


def promote_dtypes(*args: object) -> list[Array]:
    """The arguments as arrays of the dtype in which they meet."""
    return [as_array(operand) for operand in numpy.promote("promote_dtypes", *args)]


def promote_dtypes_inexact(*args: object) -> list[Array]:
    """As `promote_dtypes`; integers and booleans become floats."""
    return [as_array(operand) for operand in numpy.promote_inexact("promote_dtypes_inexact", *args)]


def promote_dtypes_numeric(*args: bool) -> list[Array]:
    """As `promote_dtypes`; booleans become integers."""
    return [as_array(operand) for operand in numpy.promote_numeric("promote_dtypes_numeric", *args)]


def promote_dtypes_complex(*args: object) -> list[Array]:
    """As `promote_dtypes`; all else than complex numbers becomes complex, of the precision that it has."""
    found, weak = dtypes.lattice_result_type(*args)
    dtype = dtypes.to_complex_dtype(dtypes.to_inexact_dtype(found))
    return [as_array(numpy.cast(arg, dtype, weak)) for arg in args]


def promote_args(fun_name: str, *args: object) -> list[Array]:
    """Arguments of a function as arrays of one dtype and one number of dimensions."""
    return promote_shapes(fun_name, *numpy.promote(fun_name, *args))


def promote_args_inexact(fun_name: str, *args: object) -> list[Array]:
    """As `promote_args`; integers and booleans become floats."""
    return promote_shapes(fun_name, *numpy.promote_inexact(fun_name, *args))


def promote_args_numeric(fun_name: str, *args: ArrayLike) -> list[Array]:
    """As `promote_args`; booleans become integers."""
    return promote_shapes(fun_name, *numpy.promote_numeric(fun_name, *args))
