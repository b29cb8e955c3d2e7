"""Programs over several devices: which devices, and how each argument and each result is sharded.

A program is one for several devices where a sharding is stated for an argument or a result, where its equations state
one, or where an argument is on several. It is compiled once for each combination of placements of its arguments, as a
program for as many partitions as there are devices; where the sharding of a result is not stated, the compiler chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from tangrad._backend_xla import jaxlib_api, sharded
from tangrad._backend_xla.array import Placement, XlaArray
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import ShapedArray, Sharding, transfers
from tangrad.core.backends import (
    CompileOptions,
    agreed_devices,
    check_argument,
    stated_claims,
)

if TYPE_CHECKING:
    from tangrad._backend_xla.calls import Loaded
    from tangrad._backend_xla.clients import XlaDevice


def key_of(placements: Sequence[Placement]) -> Placement | tuple[Placement, ...]:
    """Under what a program for arguments at these placements is kept: one placement, if it is that of all."""
    first = placements[0] if placements else None
    return first if first is not None and all([place is first for place in placements]) else tuple(placements)


def with_default(options: CompileOptions, over: Sharding | None) -> CompileOptions:
    """Options with the devices of the mesh in use, if one is, for arguments that nothing has placed."""
    if over is None or options.device is not None or not _NOT_ON_MESHES.isdisjoint(options.extra):
        return options
    return options.changed(extra={**options.extra, "over": over})


_NOT_ON_MESHES = frozenset(("export", "placement", "platform", "replica_axes"))


def shardings_for(
    found: Sequence[Sharding], options: CompileOptions, places: Sequence[Placement]
) -> Sequence[Sharding]:
    """The shardings of a program's equations; where nothing is stated or committed, that of the mesh in use."""
    over = options.extra.get("over")
    return found if found or options.shardings or not is_default(over, places) else (over,)


def is_default(over: Sharding | None, places: Sequence[Placement]) -> TypeGuard[Sharding]:
    """Whether a mesh is in use, and arguments at these places are to be there, as nothing has placed them."""
    return over is not None and not any([place.committed for place in places])


class Plan:
    """How a program runs on several devices.

    Attributes:
        devices: the devices, in the order of the partitions.
        inputs: the placement of each argument.
        model: a sharding over these devices, of whose kind the others are made.
    """

    __slots__ = ("devices", "inputs", "model")

    def __init__(
        self,
        options: CompileOptions,
        program: Sequence[Sharding],
        avals: Sequence[ShapedArray],
        places: Sequence[Placement],
    ) -> None:
        self.model, self.devices = _devices(options, program, avals, places)
        self.inputs = tuple(
            [
                self._input(options, aval, stated, place, position)
                for position, (aval, stated, place) in enumerate(
                    zip(avals, options.in_shardings or (None,) * len(avals), places, strict=True)
                )
            ]
        )

    def _input(
        self, options: CompileOptions, aval: ShapedArray, stated: Sharding | None, place: Placement, position: int
    ) -> Placement:
        if stated is None:
            return place if place.user_sharding is not None else self.replicated(aval.ndim)
        given = place.user_sharding
        over = options.extra.get("over")
        by_default = over is not None and place is sharded.whole(over, aval.ndim)  # what is there so may be moved
        check_argument(options.name, position, aval, None if by_default else given, stated)
        return sharded.placement_of(stated)

    def replicated(self, ndim: int) -> Placement:
        """The placement of what every device has whole."""
        return sharded.placement_of(self.model.resharded((1,) * ndim, self.devices))

    def output(self, aval: ShapedArray, stated: Sharding | None, chosen: object) -> Placement:
        """The placement of a result: as stated, or as the compiler chose."""
        if stated is not None:
            return sharded.placement_of(stated)
        tiles, order = jaxlib_api.tiling_of(chosen, aval.ndim)
        if not order:
            return self.replicated(aval.ndim)
        return sharded.placement_of(self.model.resharded(tiles, [self.devices[number] for number in order]))


def _devices(
    options: CompileOptions, program: Sequence[Sharding], avals: Sequence[ShapedArray], places: Sequence[Placement]
) -> tuple[Sharding, tuple[XlaDevice, ...]]:
    """A sharding to take as a model, and the devices in order. Raises ValueError where two sets of them are meant.

    Types of axes are those of the arguments: within the program a mesh may have other ones (`explicit_axes`).
    """
    claims = stated_claims(options, program)
    models = list(options.shardings)
    for position, (aval, place) in enumerate(zip(avals, places, strict=True)):
        if place.committed:
            claims.append((f"argument {position} ({aval.str_short()})", place.devices))
        if place.user_sharding is not None:
            models.append(place.user_sharding)
    return (*models, *program)[0], sharded.in_order(agreed_devices(options.name, claims))


def load(runner: Any, plan: Plan, compile_for: Callable[[Plan], Any]) -> Loaded:
    """What a runner keeps for arguments of a plan: (run, handlers, placement of all results, or of each)."""
    executable = compile_for(plan)
    options = runner.options
    stated = options.out_shardings or (None,) * len(runner.out_avals)
    chosen = jaxlib_api.output_shardings(executable) or [None] * len(runner.out_avals)
    chosen = chosen if runner.out_avals else []  # of no results it has the sharding of an empty tuple, in places
    outputs = [plan.output(aval, given, hlo) for aval, given, hlo in zip(runner.out_avals, stated, chosen, strict=True)]
    handlers = [
        jaxlib_api.result_handler(physical_aval(aval), place.sharding, True)
        for aval, place in zip(runner.out_avals, outputs, strict=True)
    ]
    same = outputs and all([place is outputs[0] for place in outputs])
    run = _of_live_buffers(executable.execute_sharded)
    if plan.devices[0].platform == "cpu" and len({device.process_index for device in plan.devices}) > 1:
        run = _to_its_end(run)
    return run, handlers, outputs[0] if same else tuple(outputs)


def _to_its_end(execute: Callable[..., object]) -> Callable[..., _Done]:
    """The method that starts a program, as one that waits until it is done.

    Where several programs are under way, XLA's threads for a process's CPUs can all wait for one whose counterpart in
    another process has no thread left: both would wait for ever, as programs of JAX do.
    """
    return lambda values, with_tokens=False: _Done(execute(values, with_tokens=True))


class _Done:
    """The results of a program that has ended: as jaxlib's, with the token that was waited for."""

    __slots__ = ("_token", "consume_with_handlers")

    def __init__(self, results: Any) -> None:
        self._token = results.consume_token()
        self._token.block_until_ready()
        self.consume_with_handlers = results.consume_with_handlers

    def consume_token(self) -> Any:
        """The token of the execution."""
        return self._token


def _of_live_buffers(run: Callable[..., object]) -> Callable[..., object]:
    """`run` for several devices: of a buffer that was deleted or donated, the client there does not raise, but ends the
    process."""

    def run_on_live(values: Sequence[Any], **options: object) -> object:
        for value in values:
            if value.is_deleted():
                raise jaxlib_api.XlaRuntimeError("a buffer has been deleted or donated")
        return run(values, **options)

    return run_on_live


def buffers_for(arrays: Sequence[XlaArray], plan: Plan) -> list[object]:
    """The buffers of arguments, where the plan wants them.

    Raises ValueError for an argument that this process alone has, and that is to be cut over devices of several: that
    it is the same in each would have to be found out at every call.
    """
    for position, (array, place) in enumerate(zip(arrays, plan.inputs, strict=True)):
        sharding = place.sharding
        if not sharding.is_fully_addressable and not sharding.is_fully_replicated and array.is_fully_addressable:
            raise ValueError(
                f"argument {position}, {array.aval.str_short()}, is an array of this process alone, to be sharded by "
                f"{place.user_sharding} on devices of several. Make it an array of all processes first: "
                f"tangrad.make_array_from_process_local_data(sharding, part), or tangrad.device_put(x, sharding) of "
                f"what is the same in each"
            )
    buffers = []
    for array, place in zip(arrays, plan.inputs, strict=True):
        if array.placement is not place:
            transfers.copied(transfers.DEVICE_TO_DEVICE, array.aval, place.user_sharding)
            array = sharded.move(array, place)
        buffers.append(array.value)
    return buffers
