"""Traces: one at a time in a process, from `start_trace` to `stop_trace`."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tangrad._profiler.backends import own_profiler
from tangrad._profiler.host_trace import HostTrace
from tangrad._profiler.options import ProfileOptions
from tangrad.core.caches import after_fork, free_after_fork


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
