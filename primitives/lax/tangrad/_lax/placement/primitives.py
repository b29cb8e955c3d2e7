"""The primitive of the family: the same array on another device."""

from __future__ import annotations

from typing import Any

from tangrad.core import Array, PrimitiveSet, ShapedArray, as_array
from tangrad.core.caches import exact_equality
from tangrad.typing import Params, Value, Values

placement = PrimitiveSet("placement", api=1)


@exact_equality
class Target:
    """A device as a parameter: compared by identity, as devices are."""

    __slots__ = ("device",)

    def __init__(self, device: Any) -> None:
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
