"""The error of a foreign function."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._ffi import frames
from tangrad._ffi.targets import STAGES, Target, deleters, find, missing, number_types
from tangrad.errors import BackendError, TangradError

if TYPE_CHECKING:
    from tangrad._ffi.frames import BufferList
    from tangrad.core import ShapedArray
    from tangrad.typing import Params


class FfiError(TangradError, RuntimeError):
    """A handler reported an error; the text is the name of its status code and its message.

    On the NumPy backend. On XLA the same text comes with the runtime's own error, a RuntimeError too.

    >>> import tangrad
    >>> issubclass(tangrad.ffi.FfiError, RuntimeError)
    True
    """


_Function = CFUNCTYPE(c_void_p, c_void_p)
_numbers = itertools.count(1)
INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED = 3, 5, 12
CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip

# What has been handed out, by its number.
_errors: dict[int, tuple[int, bytes]] = {}
_memory: dict[int, Any] = {}
_futures: dict[int, tuple[threading.Event, list[int]]] = {}
_instances: weakref.WeakValueDictionary[int, Instance] = weakref.WeakValueDictionary()


def _new_error(code: int, message: bytes) -> int:
    number = next(_numbers)
    _errors[number] = code, message
    return number


def _raise(error: int | None) -> None:
    """Raise FfiError for what a handler returned, if that is an error."""
    if error:
        code, message = _errors.pop(error, (2, b"the handler returned an error that it did not make"))
        name = CODES[code] if 0 <= code < len(CODES) else f"code {code}"
        raise FfiError(f"{name}: {message.decode(errors='replace')}")


# --- the functions of the interface ----------------------------------------------------------------------------------


def _error_create(args: Any) -> None:
    return _new_error(args.code, args.message or b"")  # type: ignore[return-value]


def _error_details(args: Any) -> None:
    code, args.message = _errors[args.error]
    if args.struct_size >= frames.ErrorDetails.code.offset + ctypes.sizeof(ctypes.c_int):  # the last field is newer
        args.code = code


def _error_destroy(args: Any) -> None:
    _errors.pop(args.error, None)


def _state_set(args: Any) -> int | None:
    states = _instances[args.ctx].states
    if args.stage in states:
        return _new_error(6, b"the state of this stage is set already")
    states[args.stage] = args.type_id.contents.value, args.state
    deleter = deleters.get(ctypes.addressof(args.type_id.contents))
    if deleter is not None:
        weakref.finalize(_instances[args.ctx], deleter, args.state)
    return None


def _state_get(args: Any) -> int | None:
    found = _instances[args.ctx].states.get(args.stage)
    if found is None:
        return _new_error(NOT_FOUND, b"no state has been set")
    if found[0] != args.type_id.contents.value:
        return _new_error(INVALID_ARGUMENT, b"the state is of another type")
    args.state = found[1]
    return None


def _allocate(args: Any) -> None:
    room = ctypes.create_string_buffer(args.size + args.alignment)
    address = ctypes.addressof(room)
    args.data = address + -address % max(args.alignment, 1)
    _memory[args.data] = room


def _free(args: Any) -> None:
    _memory.pop(args.data, None)


def _schedule(args: Any) -> None:
    args.task(args.data)


def _num_threads(args: Any) -> None:
    args.num_threads[0] = 1


def _run_id(args: Any) -> None:
    args.run_id = 0


def _device_ordinal(args: Any) -> None:
    args.device_ordinal = 0


def _future_create(args: Any) -> None:
    args.future = next(_numbers)
    _futures[args.future] = threading.Event(), []


def _future_available(args: Any) -> None:
    _futures[args.future][0].set()


def _future_error(args: Any) -> None:
    event, errors = _futures[args.future]
    errors.append(args.error)
    event.set()


def _absent(what: str) -> Callable[[Any], int]:
    return lambda _: _new_error(UNIMPLEMENTED, f"the NumPy backend has no {what}".encode())


# In the order of XLA_FFI_Api.
_FUNCTIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (frames.ErrorCreate, _error_create),
    (frames.ErrorDetails, _error_details),
    (frames.ErrorDestroy, _error_destroy),
    (None, _absent("registration of handlers by handlers")),
    (None, _absent("streams")),
    (None, _absent("registration of types by handlers")),
    (None, _absent("context of an execution")),
    (frames.StateArgs, _state_set),
    (frames.StateArgs, _state_get),
    (frames.MemoryAllocate, _allocate),
    (frames.MemoryFree, _free),
    (frames.Schedule, _schedule),
    (frames.NumThreads, _num_threads),
    (frames.FutureArgs, _future_create),
    (frames.FutureArgs, _future_available),
    (frames.FutureArgs, _future_error),
    (frames.RunId, _run_id),
    (frames.DeviceOrdinal, _device_ordinal),
    (None, _absent("extensions of a call")),
    (None, _absent("options of an execution")),
)


def _for_c(structure: Any, function: Callable[[Any], Any]) -> Any:
    def called(address: int) -> int | None:
        try:
            return function(structure.from_address(address) if structure is not None else None)
        except Exception as error:  # nothing may go up through C
            return _new_error(13, f"{type(error).__name__}: {error}".encode())

    return _Function(called)


class _Api(frames.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extensions", c_void_p),
        ("version", frames.Version),
        ("internal", c_void_p),
        ("functions", _Function * len(_FUNCTIONS)),
    ]


_api = _Api(
    version=frames.Version(major=frames.MAJOR, minor=frames.MINOR),
    functions=(_Function * len(_FUNCTIONS))(*[_for_c(*entry) for entry in _FUNCTIONS]),
)


# --- calls -----------------------------------------------------------------------------------------------------------


class Instance:
    """A call in a program: the handler with its attributes, and the state that it keeps between calls.

    Called with the operands' arrays, it returns a tuple of the results' arrays.

    Raises:
        BackendError: when made, where the target is not registered for the host, or cannot be called here.
        FfiError: when made or called, for what the handler reports.
    """

    def __init__(self, params: Params, in_avals: Sequence[ShapedArray]) -> None:
        name = params["target"]
        target = find(name, "cpu")
        if target is None:
            raise BackendError(missing(name, "cpu"))
        if target.api_version != 1 or params["api_version"] != 4:
            raise BackendError(
                f"the foreign function {name!r} is an old custom call, which XLA alone can call: compile its handler "
                "with the typed interface, xla/ffi/api/ffi.h, and register it with api_version=1"
            )
        self.states: dict[int, tuple[int, int]] = {}
        self._handlers = {stage: _Function(address) for stage, address in target.addresses.items()}
        self._target = target
        self._attributes = frames.AttributeList(params["attributes"])
        self._operands = [(aval.shape, tuple(layout)) for aval, layout in zip(in_avals, params["input_layouts"])]
        self._results = list(zip(params["result_avals"], params["output_layouts"], strict=True))
        self._source = {result: operand for operand, result in params["aliases"]}
        self._number = next(_numbers)
        _instances[self._number] = self
        _check_version(target, self._handlers["execute"])
        number_types()
        self._begun = False
        self._lock = threading.Lock()
        self._run("instantiate", (), ())

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        if not self._begun:
            with self._lock:
                if not self._begun:
                    for stage in ("prepare", "initialize"):
                        self._run(stage, (), ())
                    self._begun = True
        operands = [_in_layout(array, layout) for array, (_, layout) in zip(arrays, self._operands, strict=True)]
        results = []
        for position, (aval, layout) in enumerate(self._results):
            # No operand is written to: others may hold it.
            source = self._source.get(position)
            made = np.empty([aval.shape[dimension] for dimension in layout], aval.dtype)
            if source is not None:
                made[...] = np.asarray(arrays[source]).transpose(layout)
            results.append(made)
        self._run(
            "execute",
            frames.BufferList(operands, [shape for shape, _ in self._operands]),
            frames.BufferList(results, [aval.shape for aval, _ in self._results]),
        )
        return tuple(
            [made.transpose(np.argsort(layout)) for made, (_, layout) in zip(results, self._results, strict=True)]
        )

    def _run(self, stage: str, operands: BufferList | tuple[()], results: BufferList | tuple[()]) -> None:
        handler = self._handlers.get(stage)
        if handler is None:
            return
        frame = frames.CallFrame(
            api=ctypes.addressof(_api),
            ctx=self._number,
            stage=frames.STAGE_NUMBERS[stage],
            args=operands.structure if operands else frames.Args(),
            rets=results.structure if results else frames.Args(),
            attrs=self._attributes.structure,
        )
        _raise(handler(ctypes.addressof(frame)))
        if frame.future:
            event, errors = _futures[frame.future]
            event.wait()
            del _futures[frame.future]
            _raise(errors[0] if errors else None)


def _in_layout(array: object, layout: tuple[int, ...]) -> np.ndarray:
    return np.ascontiguousarray(np.asarray(array).transpose(layout))


def _check_version(target: Target, handler: Any) -> None:
    """Raise BackendError for a handler that was compiled for an interface with other structures."""
    metadata = frames.Metadata(version=frames.Version())
    extension = frames.MetadataExtension(type=frames.METADATA, metadata=ctypes.pointer(metadata))
    frame = frames.CallFrame(api=ctypes.addressof(_api), extensions=ctypes.addressof(extension), stage=3)
    _raise(handler(ctypes.addressof(frame)))
    if metadata.version.major != frames.MAJOR:
        raise BackendError(
            f"the foreign function {target.name!r} was compiled for version {metadata.version.major}."
            f"{metadata.version.minor} of XLA's interface; the NumPy backend calls those of version {frames.MAJOR}"
        )


assert tuple(frames.STAGE_NUMBERS) == STAGES
