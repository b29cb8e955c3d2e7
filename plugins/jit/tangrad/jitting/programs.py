"""Compiled programs: from a closed jaxpr to something that runs, once per program, backend and device."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from tangrad.core import (
    Array,
    Backend,
    ClosedJaxpr,
    CompileOptions,
    JaxprCache,
    Literal,
    dce_jaxpr,
    eval_jaxpr,
    get_backend,
    register_cache,
)
from tangrad.core.config import thread
from tangrad.core.hooks import HookContext, hooks
from tangrad.core.jaxpr_check import check_jaxpr
from tangrad.core.nan_checks import bad_value, error_for, is_checking
from tangrad.core.trace import Tracer, checked_operands

logger = logging.getLogger("tangrad")

# One lock per program that is being compiled; each is dropped when the compilation is done.
_locks: dict[Any, threading.Lock] = {}
_locks_guard = threading.Lock()


class Compilation:
    """A context manager that lets one thread at a time compile what `key` stands for."""

    __slots__ = ("_key", "_lock")

    def __init__(self, key: Any) -> None:
        self._key = key

    def __enter__(self) -> None:
        with _locks_guard:
            self._lock = _locks.setdefault(self._key, threading.Lock())
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        with _locks_guard:
            if _locks.get(self._key) is self._lock and not self._lock.locked():
                del _locks[self._key]


class Program:
    """A closed jaxpr that is ready to run on one backend and device.

    Attributes:
      executable: the backend's executable.
      kept: positions of the arguments that it takes, or None for all.
    """

    __slots__ = ("executable", "kept")

    def __init__(self, executable: Any, kept: tuple[int, ...] | None) -> None:
        self.executable = executable
        self.kept = kept

    def execute(self, arrays: Sequence[Any]) -> list[Any]:
        """Run on all arguments of the jaxpr; returns flat results."""
        if self.kept is not None:
            arrays = [arrays[position] for position in self.kept]
        return self.executable.execute(arrays)  # type: ignore[no-any-return]


def prepared(
    closed: ClosedJaxpr, context: HookContext, keep_unused: bool
) -> tuple[ClosedJaxpr, tuple[int, ...] | None]:
    """The program as backends get it: after the passes of hook plugins, without arguments that it does not read."""
    closed = hooks.run_passes(closed, context)
    if thread.check_jaxprs:
        check_jaxpr(closed)
    jaxpr, used = dce_jaxpr(closed.jaxpr, [True] * len(closed.out_avals), instantiate=keep_unused)
    kept = None if all(used) else tuple([position for position, is_used in enumerate(used) if is_used])
    return ClosedJaxpr(jaxpr, closed.consts), kept


def compile_program(
    closed: ClosedJaxpr,
    backend: Backend,
    name: str,
    *,
    device: Any = None,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
) -> Program:
    """Compile a closed jaxpr for a backend."""
    context = HookContext(name, backend.name, backend.platform)
    start = time.perf_counter()
    program, kept = prepared(closed, context, keep_unused)
    flags = tuple(donated) if kept is None else tuple([donated[p] for p in kept] if donated else ())
    executable = backend.compile(program, CompileOptions(name=name, device=device, donated=flags))
    seconds = time.perf_counter() - start
    hooks.compiled(context, executable, seconds)
    if thread.log_compiles:
        logger.warning("Compiled %s for %s in %.3f s", name, backend.name, seconds)
    return Program(executable, kept)


_programs = JaxprCache()
register_cache(_programs.clear)


def program_for(closed: ClosedJaxpr, backend: Backend, name: str, device: Any = None) -> Program:
    """The compiled program of a closed jaxpr; compiled once, remembered as long as the jaxpr lives."""
    key = (backend.name, device)
    found = _programs.find(closed, key)
    if found is None:
        with Compilation((closed, key)):
            found = _programs.get(closed, key, lambda: compile_program(closed, backend, name, device=device))
    return found  # type: ignore[no-any-return]


class Checked:
    """Runs a program and looks at its results, for `debug_nans` and `debug_infs`.

    Where one is bad the program is run again, operation by operation, to find the one that made it.
    """

    __slots__ = ("_closed", "_execute", "_name")

    def __init__(self, execute: Any, closed: ClosedJaxpr, name: str) -> None:
        self._execute = execute
        self._closed = closed
        self._name = name

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        outs = self._execute(arrays)
        found = bad_value(outs)
        if found is not None:
            eval_jaxpr(self._closed.jaxpr, self._closed.consts, *arrays)
            raise error_for(found, f"the compiled function {self._name!r}, but not by its operations one by one")
        return outs  # type: ignore[no-any-return]


def backend_of(arrays: Sequence[Any]) -> Backend:
    """The backend of the first array among `arrays`, else that of the default device, else the default one."""
    for array in arrays:
        if isinstance(array, Array) and not isinstance(array, Tracer):
            return type(array).backend  # type: ignore[attr-defined, no-any-return]
    device = thread.default_device
    return device.backend if device is not None and not isinstance(device, str) else get_backend()


def run_jaxpr(args: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    """Run the program of a `jit` equation on concrete arrays."""
    backend = backend_of(args)
    arrays = to_arrays(backend, args)
    if is_checking():  # one by one, so that the error names the operation
        return tuple(eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *arrays))
    program = program_for(params["jaxpr"], backend, params["name"], backend.placement(arrays))
    return tuple(program.execute(arrays))


def to_arrays(backend: Backend, args: Sequence[Any]) -> list[Any]:
    """The arguments as arrays of `backend`; literals become arrays."""
    kind = backend.array_type
    if all([type(arg) is kind for arg in args]):
        return list(args)
    operands = checked_operands(backend, tuple(args))
    return [backend.put(a.ndarray, a.aval) if type(a) is Literal else a for a in operands]
