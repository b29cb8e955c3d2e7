"""A trace of annotations and compilations, for backends without a profiler of their own.

It is written in the Trace Event Format, which chrome://tracing, ui.perfetto.dev and TensorBoard show:
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

from tangrad.core import ClosedJaxpr, Executable, HookContext, hookimpl, register

EVENTS = 1_000_000  # the most that a trace holds: some hundred bytes each


class HostTrace:
    """One recording, from when it is made until `stop`. Its methods may be called by any thread."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []
        self._dropped = 0
        self._observing = register(_Observer(self), group="tangrad.hooks", name=f"profiler-{id(self)}")

    def add(self, name: str, started: int, ended: int, details: dict[str, Any]) -> None:
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


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def new_folder(folder: str) -> Path:
    """A new folder for one profile, named by the time."""
    home = Path(folder) / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    home.mkdir(parents=True, exist_ok=True)
    return home
