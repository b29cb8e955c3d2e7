"""The public functions of the family."""

from __future__ import annotations

from typing import TypeVar, overload

from tangrad import tree
from tangrad._lax.placement.primitives import Target, device_put_p
from tangrad._lax.structure.primitives import copy_p
from tangrad.core import (
    Array,
    Device,
    Sharding,
    Tracer,
    as_array,
    as_operand,
    get_aval,
    is_array_value,
    thread,
    transfers,
)
from tangrad.core.settings import SETTINGS
from tangrad.errors import UnexpectedTracerError
from tangrad.tree_util import flatten_axes
from tangrad.typing import ArrayLike, DeviceLike, PyTree, Value

T = TypeVar("T")


@overload
def device_put(
    x: ArrayLike, device: DeviceLike = None, *, src: object = None, donate: bool = False, may_alias: bool | None = None
) -> Array: ...
@overload
def device_put(
    x: T, device: DeviceLike = None, *, src: object = None, donate: bool = False, may_alias: bool | None = None
) -> T: ...
@transfers.copies_explicitly
def device_put(
    x: PyTree, device: DeviceLike = None, *, src: object = None, donate: bool = False, may_alias: bool | None = None
) -> PyTree:
    """The arrays of a tree on a device, and committed to it: what is computed from them stays there.

    Args:
        x: a tree of arrays, NumPy arrays and numbers.
        device: a device, a sharding over several, a partition spec by the mesh in use, None (as arrays are made, not
            committed), or a tree of these that is a prefix of `x`.
        src, donate: taken as JAX does, without effect: an array knows its place, and keeps its memory.
        may_alias: False: the result has memory of its own, where an array that is there already would be returned; or
            a tree of such, as for `device`.

    Raises TypeError for what is not an array, ValueError for what is neither device nor sharding, and for an array that
    a sharding cannot cut, naming the dimension and the axes of the mesh; RuntimeError for a partition spec where no
    mesh is in use.

    >>> import tangrad
    >>> tangrad.device_put(1.5, tangrad.devices()[0])
    Array(1.5, dtype=float32, weak_type=True)
    """
    leaves, treedef = tree.flatten(x)
    targets = flatten_axes("device_put device", treedef, device)
    if may_alias is not None:
        shared = flatten_axes("device_put may_alias", treedef, may_alias)
        leaves = [leaf if alias in (True, None) else _apart(leaf) for leaf, alias in zip(leaves, shared, strict=True)]
    return treedef.unflatten([_put(leaf, target) for leaf, target in zip(leaves, targets)])


def _apart(leaf: Value) -> Value:
    """An array with memory of its own: what is done with the given one, such as donating it, leaves it."""
    return copy_p.bind(leaf) if isinstance(leaf, Array) else leaf


def _put(leaf: Value, device: object) -> Array:
    if not is_array_value(leaf):
        raise TypeError(f"device_put takes arrays and numbers, got {leaf!r} of type {type(leaf).__name__}")
    if isinstance(leaf, Tracer) and not leaf._trace.alive:
        raise UnexpectedTracerError(leaf)
    if hasattr(device, "to_sharding") and not isinstance(device, Sharding):  # a partition spec, or a memory
        device = device.to_sharding("device_put", leaf)
    if transfers.watch.on:
        _say_copy(leaf, device)
    if device is None:
        if isinstance(leaf, Array) or not isinstance(thread.default_device, Sharding):
            return leaf if isinstance(leaf, Array) else as_array(leaf)
        with SETTINGS["default_device"](None):  # on one device, from where computations take it to the mesh in use
            return as_array(leaf)
    if isinstance(device, Device):
        return device_put_p.bind(leaf if isinstance(leaf, Array) else as_operand(leaf), target=Target(device))
    if isinstance(device, Sharding):
        device.check_shape(get_aval(leaf).shape, "device_put: an array")
        return device.constrain(leaf)
    raise ValueError(
        f"device_put takes a device (tangrad.devices()) or a sharding, got {device!r} of type {type(device).__name__}"
    )


def _say_copy(leaf: Value, device: object) -> None:
    if not isinstance(leaf, Array):
        transfers.copied(transfers.HOST_TO_DEVICE, get_aval(leaf), device, explicit=True)
    elif isinstance(device, Device | Sharding) and not isinstance(leaf, Tracer):
        wanted = {device} if isinstance(device, Device) else set(device.device_order)
        if leaf.devices() != wanted:
            transfers.copied(transfers.DEVICE_TO_DEVICE, leaf.aval, device, explicit=True)
