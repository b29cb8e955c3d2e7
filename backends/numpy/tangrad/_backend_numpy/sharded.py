"""Arrays over several simulated devices: one NumPy array for each part, and the shardings of results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.array import NumpyArray, PlacedArray, deleted_message, placed
from tangrad.core import ClosedJaxpr, Device, ShapedArray, Sharding, thread, transfers
from tangrad.core.backends import (
    CompileOptions,
    agreed_devices,
    check_argument,
    program_shardings,
    sharding_of_result,
    stated_claims,
    with_shardings_of_types,
)

if TYPE_CHECKING:
    from tangrad.typing import Value


class ShardedArray(NumpyArray):
    """An array over several devices. Its slot `ndarray` stays empty, so that dispatch takes the slow path.

    Attributes:
        user_sharding: its sharding.
    """

    __slots__ = ("_parts", "user_sharding")

    def __init__(self, aval: ShapedArray, sharding: Sharding, parts: Sequence[np.ndarray]) -> None:
        self.aval = aval
        self.user_sharding = sharding
        self._parts: list[np.ndarray] | None = list(parts)

    def part_buffers(self) -> list[np.ndarray]:
        """The contents of the parts, in the order of the devices. Raises RuntimeError for a deleted array."""
        if self._parts is None:
            raise RuntimeError(deleted_message(self))
        return self._parts

    def buffer(self) -> np.ndarray:
        parts = self.part_buffers()
        if self.user_sharding.is_fully_replicated:
            return parts[0]
        indices = self.user_sharding.parts(self.aval.shape).indices
        if (shares := _shares_of(self.user_sharding)) is not None:
            return shares.whole(self.aval.shape, indices, parts)
        inside = parts[0].shape[len(self.aval.shape) :]  # of typed keys
        whole = np.empty((*self.aval.shape, *inside), parts[0].dtype)
        for index, part in zip(indices, parts, strict=True):
            whole[index] = part
        return whole

    @property
    def device(self) -> Any:
        return self.user_sharding

    def devices(self) -> set[Device]:
        return self.user_sharding.device_set

    @property
    def committed(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        return self.user_sharding.is_fully_replicated

    def on_device_size_in_bytes(self) -> int:
        """The bytes of its parts, on all devices together."""
        return sum([part.nbytes for part in self.part_buffers()])

    def delete(self) -> None:
        self._parts = None

    def is_deleted(self) -> bool:
        return self._parts is None

    def __deepcopy__(self, _: object) -> ShardedArray:
        return ShardedArray(self.aval, self.user_sharding, [part.copy() for part in self.part_buffers()])


def shard(contents: np.ndarray, aval: ShapedArray, sharding: Sharding) -> NumpyArray:
    """An array with these contents, sharded as given. Raises ValueError for a shape that it cannot cut."""
    contents = np.asarray(contents)
    sharding.check_shape(aval.shape)
    _check_devices(sharding)
    if sharding.num_devices == 1:
        return _on_one(placed(aval, contents, sharding.device_order[0], True), sharding)
    layout = sharding.parts(aval.shape)
    made = [_own_part(contents, index) for index in layout.distinct]  # devices that hold the same part share it
    parts = [made[number] for number in layout.numbers]
    shares = _shares_of(sharding)
    return ShardedArray(aval, sharding, parts if shares is None else shares.split(parts))


def _on_one(array: NumpyArray, sharding: Sharding) -> NumpyArray:
    """An array on one device, which keeps a sharding over a mesh of that."""
    return array.stating(sharding) if sharding.grid else array


def _shares_of(sharding: object) -> Any:
    """How what devices hold makes an array, where they hold shares of it; else None."""
    return getattr(sharding, "combine", lambda: None)()


def _own_part(contents: np.ndarray, index: tuple[slice, ...]) -> np.ndarray:
    """A part as an array of its own, even where it has no dimensions; all of the contents as they are."""
    part = np.asarray(contents[index])
    return part if part.shape == contents.shape else np.array(part, order="C")


def _check_devices(sharding: Sharding) -> None:
    for device in sharding.device_order:
        if device.backend is not NumpyArray.backend:
            raise ValueError(f"{sharding} must be of devices of the NumPy backend, got {device!r}")
    if sharding.other_memory is not None:
        raise ValueError(f"the NumPy backend has one memory, got {sharding}")


def assembled(aval: ShapedArray, sharding: Sharding, parts: Sequence[NumpyArray]) -> NumpyArray:
    """An array of parts on one device each, in the order of the devices."""
    _check_devices(sharding)
    aval = sharding.type_of(aval)
    buffers = [part.buffer() for part in parts]
    if sharding.num_devices == 1:
        return _on_one(placed(aval, buffers[0], sharding.device_order[0], True), sharding)
    return ShardedArray(aval, sharding, buffers)


def parts_of(array: NumpyArray) -> list[NumpyArray]:
    """The parts of an array, on one device each, in the order of the devices."""
    if not isinstance(array, ShardedArray):
        return [array]
    shape = array.aval.shape
    return [
        placed(array.aval.plain.update(shape=part.shape[: len(shape)]), part, device, True)
        for part, device in zip(array.part_buffers(), array.user_sharding.device_order, strict=True)
    ]


# --- placements of results ---


class Place:
    """Where the results of a computation are placed.

    Attributes:
        device, committed: for one device.
    """

    __slots__ = ("committed", "device")

    def __init__(self, device: Device, committed: bool) -> None:
        self.device = device
        self.committed = committed

    def wrap(self, aval: ShapedArray, contents: np.ndarray) -> NumpyArray:
        """A result as an array there."""
        return placed(aval, contents, self.device, self.committed)


class SeveralDevices(Place):
    """Several devices. A result is sharded as the first sharded argument of its shape; others are repeated.

    XLA's compiler chooses by more than that; the numbers are the same.

    Attributes:
        known: shape and sharding of the arguments that are sharded over these devices.
    """

    __slots__ = ("_model", "devices", "known")

    def __init__(self, devices: tuple[Device, ...], model: Sharding, known: Sequence[tuple[Any, Sharding]]) -> None:
        self.devices = devices
        self._model = model
        self.known = known

    def wrap(self, aval: ShapedArray, contents: np.ndarray) -> NumpyArray:
        return shard(contents, aval, self.sharding_of(aval))

    def sharding_of(self, aval: Any) -> Sharding:
        """The sharding of a result of a type."""
        if aval.infer_types is not None:
            return aval.placed
        # One along Explicit axes is part of the types of what has it.
        alike = [known for shape, known in self.known if shape == aval.shape and known.type_of(aval) is aval]
        return alike[0] if alike else self.replicated(aval.ndim)

    def replicated(self, ndim: int) -> Sharding:
        """The sharding of what is replicated on every device."""
        return self._model.resharded((1,) * ndim, self.devices)


def default_sharding() -> Sharding | None:
    """That of arrays which nothing has placed, while a mesh is in use: `set_mesh` sets it."""
    chosen = thread.default_device
    ours = isinstance(chosen, Sharding) and chosen.device_order[0].backend is NumpyArray.backend
    return chosen if ours else None


@lru_cache(256)
def whole(over: Sharding, ndim: int) -> Sharding:
    """The sharding of arrays of `ndim` dimensions that each device has whole, written as types have it."""
    return over.resharded((1,) * ndim, over.device_order)


def common_place(what: str, arrays: Sequence[Value], over: Sharding | None = None) -> Place:
    """Where a computation with `arrays` runs, and whether its results are committed to it.

    `over`: where nothing has placed them. Raises ValueError where arrays are committed to different devices.
    """
    if any([isinstance(array, ShardedArray) for array in arrays]):
        _say_copies(arrays)
        return _several(what, arrays, [], (), ())
    device, first = None, 0
    for position, array in enumerate(arrays):
        if isinstance(array, PlacedArray) and array.committed:
            if device is None:
                device, first = array.device, position
            elif array.device is not device:
                places = [
                    f"argument {p}, {arrays[p].aval.str_short()}, to {arrays[p].device}" for p in (first, position)
                ]
                raise ValueError(
                    f"{what}: arguments are committed to different devices: {' and '.join(places)}; "
                    "move one of them with tangrad.device_put"
                )
    if device is not None:
        _say_copies(arrays, device)
        return Place(device, True)
    if over is not None:
        return SeveralDevices(over.device_order, over, ())
    for array in arrays:
        if isinstance(array, NumpyArray):
            return Place(array.device, False)
    return Place(NumpyArray.backend.default_device(), False)


def _several(
    what: str, arrays: Sequence[Value], claims: list[Any], stated: Sequence[Sharding], within: Sequence[Sharding]
) -> SeveralDevices:
    """The devices of a computation; its results are sharded as is stated, as the arguments, or as what is `within`."""
    known = [(array.aval.shape, array.user_sharding) for array in arrays if isinstance(array, ShardedArray)]
    for position, array in enumerate(arrays):
        if isinstance(array, ShardedArray):
            claims.append((f"argument {position} ({array.aval.str_short()})", array.user_sharding.device_order))
        elif isinstance(array, PlacedArray) and array.committed:
            claims.append((f"argument {position} ({array.aval.str_short()})", (array.device,)))
    models = (*stated, *[sharding for _, sharding in known], *within)
    return SeveralDevices(agreed_devices(what, claims), models[0], known)


def _say_copies(arrays: Sequence[Value], device: object = None) -> None:
    """Say which arrays a computation on a device, or on several, has to move: the uncommitted ones."""
    if transfers.watch.on:
        for array in arrays:
            if isinstance(array, NumpyArray) and not array.committed and array.device is not device:
                transfers.copied(transfers.DEVICE_TO_DEVICE, array.aval, device)


class ProgramLayout:
    """How a program is sharded over several devices, where its options or its equations say so."""

    __slots__ = ("_claims", "_inputs", "_name", "_outputs", "_over", "_stated", "_within")

    def __init__(self, closed: ClosedJaxpr, options: CompileOptions) -> None:
        program = program_shardings(closed)
        options = with_shardings_of_types(closed, options)
        self._name, self._over = options.name, default_sharding()
        self._inputs = options.in_shardings or (None,) * len(closed.in_avals)
        stated = options.out_shardings or (None,) * len(closed.out_avals)
        self._outputs = [
            sharding_of_result(closed.jaxpr, atom) if sharding is None else sharding
            for sharding, atom in zip(stated, closed.jaxpr.outvars, strict=True)
        ]
        self._claims = stated_claims(options, program)
        self._stated, self._within = options.shardings, program[:1]

    @property
    def _model(self) -> Sharding:
        return (*self._stated, *self._within)[0]

    @property
    def is_stated(self) -> bool:
        """Whether anything claims it."""
        return bool(self._claims)

    def wrap(
        self, arrays: Sequence[Value], avals: Sequence[ShapedArray], results: Sequence[np.ndarray]
    ) -> list[NumpyArray]:
        """The results of a run as arrays."""
        place = self._place(arrays)
        return [
            place.wrap(aval, contents) if sharding is None else shard(contents, sharding.type_of(aval), sharding)
            for aval, contents, sharding in zip(avals, results, self._outputs, strict=True)
        ]

    def places(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> tuple[list[Any], list[Any]]:
        """For each argument and each result its sharding, or its one device."""
        model = self._model
        if model.num_devices == 1:
            (device,) = model.device_order
            return [device] * len(in_avals), [device] * len(out_avals)
        place = SeveralDevices(agreed_devices(self._name, list(self._claims)), model, self._stated_inputs(in_avals))
        pairs = zip(in_avals, self._inputs, strict=True)
        inputs = [place.replicated(aval.ndim) if sharding is None else sharding for aval, sharding in pairs]
        pairs = zip(out_avals, self._outputs, strict=True)
        return inputs, [place.sharding_of(aval) if sharding is None else sharding for aval, sharding in pairs]

    def _stated_inputs(self, avals: Sequence[ShapedArray]) -> list[tuple[Any, Sharding]]:
        return [(aval.shape, stated) for aval, stated in zip(avals, self._inputs, strict=True) if stated is not None]

    def _place(self, arrays: Sequence[Value]) -> Place:
        if self._model.num_devices == 1:
            return Place(self._model.device_order[0], True)
        place = _several(self._name, arrays, list(self._claims), self._stated, self._within)
        place.known = [*self._stated_inputs([array.aval for array in arrays]), *place.known]
        return place

    def check(self, arrays: Sequence[Value]) -> None:
        """Raise ValueError for arguments that are not sharded as required."""
        self._place(arrays)
        _say_copies(arrays)
        for position, (array, stated) in enumerate(zip(arrays, self._inputs, strict=True)):
            given, over = getattr(array, "user_sharding", None), self._over
            by_default = over is not None and given == whole(over, array.aval.ndim)  # what is there so may be moved
            if stated is not None:
                check_argument(self._name, position, array.aval, None if by_default else given, stated)
