"""An array on another device: the primitive; and results with a sharding (`out_sharding`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from tangrad.core import (
    Array,
    Device,
    PrimitiveSet,
    ShapedArray,
    Sharding,
    as_array,
    as_operand,
    get_aval,
    is_array_value,
    thread,
)
from tangrad.core.backends import as_sharding
from tangrad.core.caches import exact_equality
from tangrad.typing import Params, ShardingLike, Value, Values

if TYPE_CHECKING:
    from tangrad.typing import PyTree

placement = PrimitiveSet("placement", api=1)


@exact_equality
class Target:
    """A device as a parameter: compared by identity, as devices are."""

    __slots__ = ("device",)

    def __init__(self, device: object) -> None:
        self.device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.device is other.device

    def __hash__(self) -> int:
        return hash((Target, id(self.device)))

    def __repr__(self) -> str:
        return str(self.device)


def _move(args: Values, params: Params) -> Value:
    """Outside of programs the array is moved; inside, where a program runs decides."""
    array, device = as_array(args[0]), params["target"].device
    if isinstance(array, Array) and type(array).backend is device.backend:
        return device.backend.move(array, device)
    return device.backend.put(array.to_numpy(), array.aval, device)


@placement.primitive(name="device_put", evaluate=_move)
def device_put_p(x: ShapedArray, *, target: Target) -> ShapedArray:
    """The same array on another device."""
    return x


# --- results with a sharding ---

Function = TypeVar("Function", bound=Callable[..., Any])


def stated(out_sharding: object, what: str) -> Sharding | None:
    """The sharding that `out_sharding` means; None where it leaves that open, as one of a type without a sharding."""
    if out_sharding is None or getattr(out_sharding, "is_unspecified", False):
        return None
    return as_sharding(out_sharding, what)


def sharding_of(value: Any) -> Sharding | None:
    """How what is made like `value` is sharded: as its type or a struct states, or an array on several devices is."""
    aval = value.aval if hasattr(type(value), "aval") else None
    if aval is None:
        found = getattr(value, "sharding", None)
        mesh = getattr(found, "mesh", None)  # the shape of one is of devices where a mesh is in use
        is_shape = mesh is not None and not hasattr(mesh, "devices")
        return None if is_shape and getattr(thread, "mesh", None) is None else found
    return aval.placed if aval.infer_types is not None else getattr(value, "user_sharding", None)


def constrained(x: Array, out_sharding: object, as_given: bool = False) -> Array:
    """`x`, sharded by `out_sharding`: None (unconstrained), a sharding, or a partition spec.

    The sharding then has an entry for each dimension, unless it is to be `as_given`, as that of a device is.

    Raises TypeError for what is none of these, ValueError where `x` cannot be cut so.
    """
    sharding = stated(out_sharding, "out_sharding")
    if sharding is None:
        return x
    sharding.check_shape(x.shape, "out_sharding: the result")
    sharding = sharding if as_given and type(out_sharding) is not OfResult else sharding.of_rank(x.ndim)
    return sharding.constrain(as_array(x) if get_aval(x).infer_types is None else x)


def sharded_call(out_sharding: object, function: Callable[..., Any], *args: object, **options: object) -> Array:
    """Call a function, and constrain its result to `out_sharding`.

    It gets operands without shardings in their types: between them and the result the compiler decides. Of a result
    that is to be unreduced along axes, types say how devices get shares of it, where they do.
    """
    unreduced = getattr(getattr(stated(out_sharding, "out_sharding"), "spec", None), "unreduced", None)
    if unreduced:
        try:
            return constrained(function(*[_as_summed(arg, unreduced) for arg in args], **options), out_sharding)
        except TypeError:  # types leave something open
            pass
    return constrained(function(*[with_plain_type(arg) for arg in args], **options), out_sharding)


def _as_summed(value: object, axes: frozenset[Any]) -> PyTree:
    """An operand, or a list of them, whose sums over what is cut along axes stay shares of the devices."""
    if isinstance(value, (list, tuple)):
        return _of_items(value, [_as_summed(item, axes) for item in value])
    aval: Any = get_aval(value) if is_array_value(value) else None
    return value if getattr(aval, "infer_types", None) is None else aval.as_summed(as_operand(value), axes)


def with_plain_type(value: object) -> PyTree:
    """An operand, or a list of them, without the sharding in its type; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return _of_items(value, [with_plain_type(item) for item in value])
    if not is_array_value(value):
        return value
    aval: Any = get_aval(value)
    return value if aval.infer_types is None else aval.as_plain(as_operand(value))


def _of_items(given: Sequence[object], items: list[object]) -> Sequence[object]:
    """A list or tuple with other items; itself where they are the same: it may be of a class, such as of dimensions."""
    if all([new is old for new, old in zip(items, given, strict=True)]):
        return given
    return items if isinstance(given, list) else tuple(items)


def takes_out_sharding(function: Function) -> Function:
    """Decorator that gives a function that makes a new array the keyword argument `out_sharding`."""

    @functools.wraps(function)
    def made(*args: object, out_sharding: ShardingLike = None, **options: object) -> Array:
        found = function(*args, **options)
        return found if out_sharding is None else constrained(found, out_sharding)

    return cast(Function, made)


class OfResult:
    """A sharding that is stated for a result: with an entry for each dimension, unlike one in the place of a device."""

    __slots__ = ("_sharding",)

    def __init__(self, sharding: Sharding) -> None:
        self._sharding = sharding

    def to_sharding(self, what: str) -> Sharding:
        """The sharding."""
        return self._sharding


def place_of(name: str, device: Any, out_sharding: object) -> Any:
    """Where a new array is placed: by one of the two arguments, or None. Raises ValueError where both are given."""
    if out_sharding is None:
        return device
    if device is not None:
        raise ValueError(f"{name} takes device or out_sharding, not both; got {device!r} and {out_sharding!r}")
    sharding = stated(out_sharding, f"{name} out_sharding")
    return sharding if sharding is None else OfResult(sharding)


def is_device(place: object) -> TypeGuard[Device]:
    """Whether a place is one device; else it is a sharding, or stands for one."""
    return isinstance(place, Device)
