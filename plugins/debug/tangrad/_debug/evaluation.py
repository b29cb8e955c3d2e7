"""Callbacks on concrete values, outside of any program: the function is called at once, and nothing is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._debug.calls import HostCall, HostProgram
from tangrad._debug.effects import debug_effects, io_effects
from tangrad.core import Array, Backend, Device, ShapedArray
from tangrad.core.backends import loaded_backends
from tangrad.core.transformations import find_backend

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values


def evaluate_callback(args: Values, params: Params) -> Values:
    """Call the function of a pure callback, or of one for input and output."""
    if params.get("ordered"):
        wait_for_earlier(io_effects((), params))
    backend, operands = find_backend(args)
    results = params["result_avals"]
    contents = _called(params["callback"], backend, operands, results, wrapped=True)
    device = _common_device(operands)
    return tuple([backend.put(array, aval, device) for array, aval in zip(contents, results)])


def evaluate_debug(args: Values, params: Params) -> tuple[Any, ...]:
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


def _common_device(operands: Sequence[Value]) -> Any:
    """The device that an operand is committed to, or None: results go where operands are.

    Beside operands on several devices they are free to go with them: the function returned one whole array.
    """
    for operand in operands:
        if getattr(operand, "committed", False):
            return None if len(operand.devices()) > 1 else operand.device
    return None


def wait_for_earlier(effects: Any) -> None:
    """Wait until programs with these ordered effects, which this thread has started, are done."""
    for backend in loaded_backends():
        backend.synchronize(effects)
