"""Traces, one at a time in a process, from `start_trace` to `stop_trace`; also for backends without a profiler."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tangrad._profiler.backends import own_profiler
from tangrad.core import ClosedJaxpr, Executable, HookContext, class_boundary, hookimpl, register
from tangrad.core.caches import after_fork, free_after_fork


@class_boundary
@dataclass
class ProfileOptions:
    """How much a trace of XLA's profiler holds; other backends record annotations and compilations, whatever is set.

    Attributes:
        host_tracer_level: of what the runtime does on the host: 0 nothing, 1 annotations, 2 what takes long, 3 all.
        python_tracer_level: 1 for every call of a Python function, 0 for none.
        enable_hlo_proto: whether the programs themselves are written.
        include_dataset_ops: whether operations of input pipelines are.
        raise_error_on_start_failure: whether a collector that does not start is an error.
        advanced_configuration: more options, which collectors of devices know by name.
        start_timestamp_ns: when to begin, in nanoseconds since 1970; 0: at once.
        duration_ms: how long to record, in milliseconds; 0: until it is stopped.
        repository_path, session_id: where a server writes what it records.

    >>> from tangrad.profiler import ProfileOptions
    >>> ProfileOptions(python_tracer_level=0).host_tracer_level
    2
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 1
    enable_hlo_proto: bool = True
    include_dataset_ops: bool = True
    raise_error_on_start_failure: bool = False
    advanced_configuration: dict[str, bool | int | str] = field(default_factory=dict)
    start_timestamp_ns: int = 0
    duration_ms: int = 0
    repository_path: str = ""
    session_id: str = ""


EVENTS = 1_000_000  # the most that a trace holds: some hundred bytes each


class HostTrace:
    """One recording, from when it is made until `stop`. Its methods may be called by any thread."""

    def __init__(self) -> None:
        self._events: list[dict[str, object]] = []
        self._dropped = 0
        self._observing = register(_Observer(self), group="tangrad.hooks", name=f"profiler-{id(self)}")

    def add(self, name: str, started: int, ended: int, details: dict[str, object]) -> None:
        """Record an event between two instants of `time.perf_counter_ns`."""
        if len(self._events) >= EVENTS:
            self._dropped += 1
            return
        self._events.append(
            {
                "name": name,
                "ph": "X",
                "ts": started / 1000,
                "dur": (ended - started) / 1000,
                "pid": os.getpid(),
                "tid": threading.get_ident(),
                "args": {key: _plain(value) for key, value in details.items()},
            }
        )

    def stop(self) -> None:
        """Record nothing more."""
        self._observing.undo()

    def write(self, folder: str) -> None:
        """Write `<host>.trace.json.gz` where TensorBoard looks for profiles below `folder`."""
        events = [{"name": "process_name", "ph": "M", "pid": os.getpid(), "args": {"name": "host"}}, *self._events]
        contents = {"displayTimeUnit": "ns", "metadata": {"dropped events": self._dropped}, "traceEvents": events}
        home = new_folder(folder)
        with gzip.open(home / f"{socket.gethostname()}.trace.json.gz", "wt", encoding="utf-8") as file:
            json.dump(contents, file)


class _Observer:
    """The hooks by which compilations come into the trace, which are reported when they are over."""

    def __init__(self, recording: HostTrace) -> None:
        self._recording = recording

    @hookimpl
    def tangrad_traced(self, context: HookContext, closed_jaxpr: ClosedJaxpr, seconds: float) -> None:
        self._add("trace", context, seconds)

    @hookimpl
    def tangrad_compiled(self, context: HookContext, executable: Executable, seconds: float) -> None:
        self._add("compile", context, seconds)

    def _add(self, what: str, context: HookContext, seconds: float) -> None:
        now = time.perf_counter_ns()
        self._recording.add(f"{what} {context.function_name}", now - int(seconds * 1e9), now, {})


def _plain(value: object) -> int | float | str | None:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def new_folder(folder: str) -> Path:
    """A new folder for one profile, named by the time."""
    home = Path(folder) / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    home.mkdir(parents=True, exist_ok=True)
    return home


class _Session:
    """The trace that is being recorded.

    Attributes:
        own: what annotations are recorded in, where the backend has no profiler.
    """

    def __init__(self, folder: str, perfetto: bool, options: ProfileOptions) -> None:
        profiler = own_profiler()
        self._folder, self._perfetto = folder, perfetto
        self._foreign = None if profiler is None else profiler.session(options)
        self.own = HostTrace() if profiler is None else None

    def finish(self) -> None:
        """Stop it, and write its files."""
        if self._foreign is not None:
            self._foreign.stop_and_export(self._folder)
        elif self.own is not None:
            self.own.stop()
            self.own.write(self._folder)
        if self._perfetto:
            _write_for_perfetto(self._folder)


class _State:
    """The session of this process, if there is one."""

    session: _Session | None = None


_lock = free_after_fork(threading.Lock())
after_fork(lambda: setattr(_State, "session", None))  # the child has no threads that record


def own_recording() -> HostTrace | None:
    """The trace that annotations write into themselves."""
    session = _State.session
    return None if session is None else session.own


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Record a trace from now on, until `stop_trace` is called.

    On XLA its profiler records Python functions, annotations, and what the runtime and the devices do. Other backends
    have annotations, and the tracing and compiling of programs.

    Args:
        log_dir: the folder below which files are written, which TensorBoard reads.
        create_perfetto_link: is refused: no server is started; open the file at ui.perfetto.dev.
        create_perfetto_trace: whether to write `perfetto_trace.json.gz` too, which ui.perfetto.dev shows.
        profiler_options: how much the trace holds; default: `ProfileOptions()`.

    Raises:
        RuntimeError: another trace is being recorded; NotImplementedError: for `create_perfetto_link`.

    >>> import tangrad, tempfile
    >>> tangrad.profiler.start_trace(tempfile.mkdtemp())
    >>> tangrad.profiler.stop_trace()
    """
    if create_perfetto_link:
        raise NotImplementedError(
            "start_trace starts no server for create_perfetto_link: use create_perfetto_trace=True, and open the file "
            "perfetto_trace.json.gz at ui.perfetto.dev"
        )
    with _lock:
        if _State.session is not None:
            raise RuntimeError("a trace is being recorded already: one at a time; call stop_trace() first")
        _State.session = _Session(os.fspath(log_dir), create_perfetto_trace, profiler_options or ProfileOptions())


def stop_trace() -> None:
    """Stop recording, and write the files of the trace. Raises RuntimeError where none is being recorded."""
    with _lock:
        session, _State.session = _State.session, None
        if session is None:
            raise RuntimeError("no trace is being recorded: call start_trace(log_dir) first")
        session.finish()


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """Record a trace of the block; arguments and errors are those of `start_trace`.

    >>> import tangrad, tempfile
    >>> with tangrad.profiler.trace(tempfile.mkdtemp()), tangrad.profiler.TraceAnnotation("a step"):
    ...     total = sum(range(10))
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def _write_for_perfetto(folder: str) -> None:
    """The newest trace once more, as Perfetto takes it: without the part that it has no word for."""
    homes = (Path(folder) / "plugins" / "profile").iterdir()
    newest = max(homes, key=os.path.getmtime)
    (source,) = newest.glob("*.trace.json.gz")
    with gzip.open(source, "rt", encoding="utf-8") as file:
        contents: dict[str, Any] = json.load(file)
    contents.pop("metadata", None)
    with gzip.open(newest / "perfetto_trace.json.gz", "wt", encoding="utf-8") as file:
        json.dump(contents, file)
