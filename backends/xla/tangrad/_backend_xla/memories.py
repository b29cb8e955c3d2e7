"""Arrays in another memory of their devices than the usual one: they wait there, and are brought to compute with.

Programs are compiled for the usual memory. So for computations such an array is one in the usual memory, of
which a copy is made whenever its buffer is asked for, and which is gone when the computation is. Results that are to
wait in another memory are copied there when the program has been started.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import jaxlib_api, sharded
from tangrad._backend_xla.array import Placement, XlaArray, deleted_message
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import ClosedJaxpr, ShapedArray, Sharding
from tangrad.core.backends import CompileOptions, sharding_of_result

if TYPE_CHECKING:
    from tangrad._backend_xla.calls import Execute


class StoredArray(XlaArray):
    """An array in another memory.

    Attributes:
        placement: its placement once it is in the default memory.
        value: a buffer there, a new one each time.
    """

    __slots__ = ("_sharding", "_stored")

    def __init__(self, aval: ShapedArray, placement: Placement, sharding: Sharding, stored: Sequence[Any]) -> None:
        self.aval = aval
        self.placement = placement
        self._unsent = None
        self._sharding = sharding
        self._stored = tuple(stored)

    @property
    def value(self) -> Any:
        self._check_not_deleted()
        found = [
            jaxlib_api.copy_to(buffer, aval, jaxlib_api.OnDevice(device.raw, device.memory_kinds[0]))
            for buffer, aval, device in zip(self._stored, _part_avals(self), self.placement.reachable, strict=True)
        ]
        aval, sharding = physical_aval(self.aval), self.placement.sharding
        if self.placement.user_sharding is None:
            return jaxlib_api.with_aval(found[0], aval, sharding)
        return jaxlib_api.assemble(found, aval, sharding)

    @property
    def user_sharding(self) -> Sharding:
        """Its `Sharding`, which names the memory that it is in."""
        return self._sharding

    def in_usual_memory(self) -> XlaArray:
        return XlaArray(self.aval, self.value, self.placement)

    def _check_not_deleted(self, cause: BaseException | None = None) -> None:
        if self.is_deleted():
            raise RuntimeError(deleted_message(self)) from cause

    def block_until_ready(self) -> XlaArray:
        self._check_not_deleted()
        for buffer in self._stored:
            buffer.block_until_ready()
        return self

    def is_ready(self) -> bool:
        self._check_not_deleted()
        return all([buffer.is_ready() for buffer in self._stored])

    def delete(self) -> None:
        for buffer in self._stored:
            buffer.delete()

    def is_deleted(self) -> bool:
        return any([buffer.is_deleted() for buffer in self._stored])

    def on_device_size_in_bytes(self) -> int:
        return sum([int(buffer.on_device_size_in_bytes()) for buffer in self._stored])

    def unsafe_buffer_pointer(self) -> int:
        return int(self._stored[0].unsafe_buffer_pointer())


def _part_avals(array: XlaArray) -> list[ShapedArray]:
    """The types of the buffers on the devices of this process."""
    bounds = sharded.layout_of(array.placement, array.aval.shape).bounds
    return [physical_aval(sharded.part_aval(array.aval, one)) for one in bounds]


def stored(array: XlaArray, sharding: Sharding) -> StoredArray:
    """A copy of an array in the memory that a sharding names; the array is sharded likewise, in the default memory."""
    placement = array.placement
    buffers = [
        jaxlib_api.copy_to(buffer, aval, jaxlib_api.OnDevice(device.raw, sharding.memory_kind))
        for buffer, aval, device in zip(sharded.raw_parts(array), _part_avals(array), placement.reachable, strict=True)
    ]
    return StoredArray(array.aval, placement, sharding, buffers)


# --- programs --------------------------------------------------------------------------------------------------------


class Waiting:
    """In which memories arguments and results of a program wait.

    Attributes:
        arguments, results: for each the sharding that states a kind of memory, or None.
    """

    __slots__ = ("arguments", "results")

    def __init__(self, arguments: Sequence[Sharding | None], results: Sequence[Sharding | None]) -> None:
        self.arguments = arguments
        self.results = results

    def around(self, execute: Execute, name: str) -> Execute:
        """What runs a program on a list of arrays, and has its results wait."""

        def run(arrays: Sequence[XlaArray]) -> list[XlaArray]:
            for position, (array, there) in enumerate(zip(arrays, self.arguments, strict=True)):
                own = getattr(getattr(array, "user_sharding", None), "other_memory", None)
                if there is not None and own != there.memory_kind and array.committed:
                    own = own or array.placement.devices[0].memory_kinds[0]
                    raise ValueError(
                        f"{name}: argument {position}, {array.aval.str_short()}, is in the memory {own!r}, and "
                        f"in_shardings say {there.memory_kind!r}; move it first: tangrad.device_put(x, sharding)"
                    )
            outs = execute(arrays)
            return [out if where is None else _waiting(out, where) for out, where in zip(outs, self.results)]

        return run

    def in_memories(self, inputs: Sequence[object], outputs: Sequence[object]) -> tuple[list[object], list[object]]:
        """The shardings of arguments and results, given those in the default memory."""
        sides = ((inputs, self.arguments), (outputs, self.results))
        ins, outs = [[_there(*pair) for pair in zip(*side, strict=True)] for side in sides]
        return ins, outs


def _there(usual_one: object, there: Sharding | None) -> object:
    """A sharding, or the one device, in the memory that another sharding states."""
    if there is None or not isinstance(usual_one, Sharding):
        return usual_one if there is None else there
    return usual_one.with_memory_kind(there.memory_kind)


def _waiting(array: XlaArray, where: Sharding) -> XlaArray:
    user_sharding = array.placement.user_sharding
    return stored(array, where if user_sharding is None else user_sharding.with_memory_kind(where.memory_kind))


def in_usual_memory(closed: ClosedJaxpr, options: CompileOptions) -> tuple[CompileOptions, Waiting]:
    """The options with shardings in the usual memory, and what waits in another one.

    A result waits where `out_shardings`, or the last equation that places it, say.
    """
    stated = (
        options.in_shardings or (None,) * len(closed.in_avals),
        options.out_shardings or (None,) * len(closed.out_avals),
    )
    arguments, results = [[one if one is not usual(one) else None for one in side] for side in stated]
    for position, (atom, one) in enumerate(zip(closed.jaxpr.outvars, stated[1], strict=True)):
        placed = sharding_of_result(closed.jaxpr, atom) if one is None else None
        if placed is not None and placed.other_memory is not None:
            results[position] = placed
    ins, outs = [tuple([usual(one) for one in side]) for side in (options.in_shardings, options.out_shardings)]
    return options.changed(in_shardings=ins, out_shardings=outs), Waiting(arguments, results)


def usual(sharding: Sharding | None) -> Sharding | None:
    """A sharding in the usual memory; None for None."""
    return sharding if sharding is None or sharding.other_memory is None else sharding.with_memory_kind(None)
