"""Cotangents of values whose types have more than shape and dtype: a sharding, or axes along which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._autodiff.tangents import Linear, Zero, has_tangent, linear_placeholders, tangent_aval, zeros
from tangrad.core import Array, ShapedArray, as_array, as_operand, dtypes, get_aval, holding, is_array_value, thread
from tangrad.core.arguments import first_symbolic

if TYPE_CHECKING:
    from tangrad.typing import Value


def current_typed_axes() -> tuple[str, ...] | None:
    """The axes that types record now: part of what a transposed program depends on."""
    return None if thread.typed_axes is None else thread.typed_axes.names


@contextmanager
def each_by_itself(names: Sequence[object]) -> Iterator[None]:
    """Along these axes the cotangents of programs that are transposed meanwhile are those of each device by itself.

    For branches that not all devices take: a sum in one would wait for those that are in another.
    """
    before = thread.typed_axes
    with holding(typed_axes=None if before is None else before.without(names)):
        yield


def summed(cotangent: Value, aval: ShapedArray) -> Value:
    """A cotangent of a value of type `aval`: summed over the axes along which it differs, and the value does not."""
    beyond = _beyond(cotangent.aval, aval)
    return thread.typed_axes.total(cotangent, beyond) if beyond else cotangent


def as_different_as(tangent: Value, primal: Value) -> Value | Zero:
    """A tangent of a result, marked as differing along the axes along which the result does.

    So the tangents of a loop's carry are of one type from iteration to iteration, as the carry is.
    """
    return tangent if type(tangent) is Zero else marked(tangent, get_aval(primal))


def marked(cotangent: Value, aval: ShapedArray) -> Value:
    """A cotangent, marked as differing along the axes that a value of type `aval` differs along."""
    missing = _beyond(aval, cotangent.aval)
    return thread.typed_axes.marked(cotangent, missing) if missing else cotangent


def materialised(tangent: Value | Zero) -> Value:
    """A tangent or cotangent for users: an array in place of a symbolic zero, differing along the axes that it does."""
    if type(tangent) is not Zero:
        return tangent
    aval: Any = tangent.aval
    made = marked(zeros(aval), aval)
    return made if aval.infer_types is None or not has_tangent(aval.dtype) else aval.constrain(made)


def check_same(name: str, aval: ShapedArray, cotangent: Value) -> None:
    """Raise ValueError for a user's cotangent that differs along an axis along which the output is the same."""
    beyond = _beyond(cotangent.aval, aval)
    if beyond:
        raise ValueError(
            f"{name}: the cotangent differs along the mapped axes {beyond}, and the output, of type "
            f"{aval.str_short()}, is the same along them; sum it, lax.psum(cotangent, {beyond}), or mark a value that "
            f"the output depends on as differing: lax.pcast(x, {beyond}, to='varying')"
        )


def _beyond(one: ShapedArray, other: ShapedArray) -> tuple[object, ...]:
    """The axes that the first type records and the second does not, among those that types record now."""
    typed = thread.typed_axes
    if typed is None or not one.named_shape or one.named_shape == other.named_shape:
        return ()
    known = [name for name, _ in other.named_shape]
    return tuple([name for name, _ in one.named_shape if name in typed.names and name not in known])


def with_plain_type(value: Any) -> Value | Zero | Linear:
    """A value, or the placeholder of one, with the plain type."""
    if type(value) is Linear:
        return value if value.aval.infer_types is None else linear_placeholders[value.aval.plain]
    if not is_array_value(value):  # a symbolic zero
        return value
    aval: Any = get_aval(value)
    return value if aval.infer_types is None else aval.as_plain(value)


def with_type_of(cotangent: Value, aval: Any) -> Value | Zero:
    """A cotangent of a value of type `aval`: of just that type, as far as types have more than shape and dtype."""
    value = as_operand(cotangent)
    if thread.typed_axes is not None:
        value = marked(summed(value, aval), aval)
    found: Any = value.aval
    wanted = cotangent_aval(aval)
    if found is wanted or (aval.infer_types is None and found.infer_types is None):
        return value
    if aval.infer_types is None:
        return found.as_plain(value)
    return value if found.infer_types is not None and found.placed == wanted.placed else wanted.constrain(value)


def reduced_axes(value: Any) -> frozenset[Any]:
    """The axes along which a value is reduced, and its cotangents unreduced."""
    return frozenset() if value.aval.infer_types is None else value.aval.placed.combining.reduced


def unreduced_axes(value: Any) -> frozenset[Any]:
    """The axes along which what devices have are shares of a value."""
    return frozenset() if value.aval.infer_types is None else value.aval.placed.combining.unreduced


def as_summed(value: Any, axes: frozenset[Any]) -> Any:
    """A value whose sums over what is cut along axes stay shares of the devices."""
    aval: Any = get_aval(value) if is_array_value(value) else None
    return value if aval is None or aval.infer_types is None or not axes else aval.as_summed(value, axes)


def cotangent_aval(aval: Any) -> Any:
    """The type of cotangents of values of a type: of what is reduced along axes of a mesh, it is unreduced there."""
    return aval if aval.infer_types is None else aval.dual


# --- what users give and get ---


def check_cotangent(name: str, aval: ShapedArray, leaf: object) -> Value | Zero:
    cotangent = given_tangent(leaf)
    expected = tangent_aval(aval)
    # Integers have no derivative: beside float0, a cotangent of the output's own dtype is taken, and has no effect.
    if cotangent.aval.dtype not in (expected.dtype, aval.dtype):
        raise TypeError(
            f"{name}: for an output of type {aval.str_short()} expected a cotangent of dtype "
            f"{dtypes.dtype_name(expected.dtype)}, got {dtypes.dtype_name(cotangent.aval.dtype)}"
        )
    if cotangent.aval.shape != aval.shape:
        raise ValueError(
            f"{name}: for an output of shape {aval.shape} expected a cotangent of that shape, got "
            f"{cotangent.aval.shape}"
        )
    return cotangent


def marked_for(name: str, aval: ShapedArray, cotangent: Value | Zero) -> Value | Zero:
    """A user's cotangent, differing along the mapped axes that the output differs along."""
    if type(cotangent) is Zero:
        return cotangent
    check_same(name, aval, cotangent)
    return marked(as_operand(cotangent), aval)


def user_tangent(tangent: Value | Zero) -> Array | np.ndarray:
    """A tangent as users see it: arrays; for float0, NumPy arrays of that dtype, where sizes are numbers."""
    is_float0 = type(tangent) is Zero and tangent.aval.dtype == dtypes.float0
    if is_float0 and first_symbolic([tangent.aval]) is None:
        return np.zeros(tangent.aval.shape, dtypes.float0)
    return as_array(materialised(tangent))


def given_tangent(leaf: object) -> Value | Zero:
    """A tangent that a user gave: arrays of float0 are symbolic zeros."""
    if isinstance(leaf, (np.ndarray, Array)) and leaf.dtype == dtypes.float0:
        return Zero(ShapedArray(leaf.shape, dtypes.float0))
    return leaf if isinstance(leaf, Zero) else array_of(leaf, "jvp", "tangent")


def array_of(leaf: object, name: str, what: str) -> Array:
    if isinstance(leaf, Array):
        return leaf
    if not is_array_value(leaf):
        raise TypeError(f"{name}: {what} {leaf!r} of type {type(leaf).__name__} is not an array or a number")
    return as_array(leaf)
