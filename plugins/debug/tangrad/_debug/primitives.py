"""The primitives that call Python functions: what they do besides computing results, and how they run at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._debug.calls import HostCall, HostProgram
from tangrad.core import Array, Backend, Device, Effect, PrimitiveSet, ShapedArray
from tangrad.core.backends import loaded_backends
from tangrad.core.transformations import find_backend

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values


class _HostEffect(Effect):
    """Any two of one class are the same effect."""

    __slots__ = ()
    name = ""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return self.name


class DebugEffect(_HostEffect):
    """A callback for debugging, in no particular order."""

    __slots__ = ()
    name = "Debug"
    incidental = True


class OrderedDebugEffect(_HostEffect):
    """A callback for debugging, after those before it in the program."""

    __slots__ = ()
    name = "OrderedDebug"
    ordered = True
    incidental = True


class IOEffect(_HostEffect):
    """A callback that reads or changes something outside, in no particular order."""

    __slots__ = ()
    name = "IO"


class OrderedIOEffect(_HostEffect):
    """A callback that reads or changes something outside, after those before it in the program."""

    __slots__ = ()
    name = "OrderedIO"
    ordered = True


_DEBUG = (frozenset([DebugEffect()]), frozenset([OrderedDebugEffect()]))
_IO = (frozenset([IOEffect()]), frozenset([OrderedIOEffect()]))


def debug_effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    """The effects of a callback for debugging, by its parameters."""
    return _DEBUG[bool(params["ordered"])]


def io_effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    """The effects of a callback for input and output, by its parameters."""
    return _IO[bool(params["ordered"])]


def evaluate_callback(args: Values, params: Params) -> Values:
    """Call the function of a pure callback, or of one for input and output."""
    if params.get("ordered"):
        wait_for_earlier(io_effects((), params))
    backend, operands = find_backend(args)
    results = params["result_avals"]
    contents = _called(params["callback"], backend, operands, results, wrapped=True)
    device = _common_device(operands)
    return tuple([backend.put(array, aval, device) for array, aval in zip(contents, results)])


def evaluate_debug(args: Values, params: Params) -> tuple[()]:
    """Call a function for debugging. What it raises comes out as it is, as if the user had called it."""
    if params["ordered"]:
        wait_for_earlier(debug_effects((), params))
    backend, operands = find_backend(args)
    _called(params["callback"], backend, operands, (), wrapped=False)
    return ()


def _called(
    call: HostCall, backend: Backend, operands: Sequence[Value], results: Sequence[ShapedArray], wrapped: bool
) -> Sequence[np.ndarray]:
    if call.maps:
        contents = [operand.ndarray if not isinstance(operand, Array) else operand.to_numpy() for operand in operands]
        avals = [operand.aval for operand in operands]
        return HostProgram(call, avals, results, backend.put, wrapped)(*contents)
    return call.run([_on_host(backend, operand) for operand in operands], results, wrapped)


def _on_host(backend: Backend, operand: Value) -> Array:
    """An operand as an array that NumPy can read."""
    if not isinstance(operand, Array):  # a literal
        return backend.put(operand.ndarray, operand.aval)
    if type(operand).backend.platform == "cpu":
        return operand
    return backend.put(operand.to_numpy(), operand.aval, host_device(backend))


def host_device(backend: Backend) -> Device | None:
    """The backend's first device that is the host's processor; None where that is the default."""
    if backend.platform == "cpu":
        return None
    return backend.devices("cpu")[0]  # type: ignore[call-arg]


def _common_device(operands: Sequence[Value]) -> object:
    """The device that an operand is committed to, or None: results go where operands are.

    Beside operands on several devices they are free to go with them: the function returned one whole array.
    """
    for operand in operands:
        if getattr(operand, "committed", False):
            return None if len(operand.devices()) > 1 else operand.device
    return None


def wait_for_earlier(effects: object) -> None:
    """Wait until programs with these ordered effects, which this thread has started, are done."""
    for backend in loaded_backends():
        backend.synchronize(effects)


callbacks = PrimitiveSet("callbacks", api=1)


@callbacks.primitive(name="pure_callback", multiple_results=True, weak_type="own", evaluate=evaluate_callback)
def pure_callback_p(
    *avals: ShapedArray, callback: HostCall, result_avals: tuple[ShapedArray, ...], vmap_method: str | None
) -> tuple[ShapedArray, ...]:
    """The results of a Python function without effects: it may be called more than once, or not at all."""
    return result_avals


@callbacks.primitive(
    name="io_callback", multiple_results=True, weak_type="own", effects=io_effects, evaluate=evaluate_callback
)
def io_callback_p(
    *avals: ShapedArray, callback: HostCall, result_avals: tuple[ShapedArray, ...], ordered: bool
) -> tuple[ShapedArray, ...]:
    """The results of a Python function with effects: it is called once."""
    return result_avals


@callbacks.primitive(name="debug_callback", multiple_results=True, effects=debug_effects, evaluate=evaluate_debug)
def debug_callback_p(
    *avals: ShapedArray, callback: HostCall, ordered: bool, partitioned: bool
) -> tuple[ShapedArray, ...]:
    """Nothing; a Python function sees the operands."""
    return ()


@callbacks.primitive(name="debug_print", multiple_results=True, effects=debug_effects, evaluate=evaluate_debug)
def debug_print_p(
    *avals: ShapedArray, fmt: str, callback: HostCall, ordered: bool, partitioned: bool
) -> tuple[ShapedArray, ...]:
    """Nothing; the operands are printed in the format `fmt`."""
    return ()
