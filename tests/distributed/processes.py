"""Starts programs in several processes on this machine, and waits for them, but not for long."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "programs"
TIME_LIMIT = 400.0  # seconds, for all processes together: what ends takes a tenth, on a busy machine too


class Ended(NamedTuple):
    """How a process ended: its exit status (negative: the signal), or None for one that had to be stopped."""

    status: int | None
    output: str
    errors: str


def run_together(
    program: str, commands: Sequence[Sequence[object]], *, stopped: Sequence[int] = (), apart: float = 0
) -> list[Ended]:
    """Run a program once for each command line, at the same time.

    Args:
        program: the name of its file in `programs/`.
        commands: its arguments.
        stopped: the numbers of processes that do not end by themselves: they are killed when the others have ended.
        apart: seconds from the start of one to that of the next.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "TANGRAD_"))}
    environment |= {"TANGRAD_BACKEND": "xla", "TANGRAD_CACHE_DIR": os.environ["TANGRAD_CACHE_DIR"]}
    started = []
    try:
        for arguments in commands:
            if started:
                time.sleep(apart)
            command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            started.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        deadline = time.monotonic() + TIME_LIMIT
        ended = {number: _ended(process, deadline) for number, process in enumerate(started) if number not in stopped}
        return [ended.get(number) or _ended(process, 0) for number, process in enumerate(started)]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _ended(process: subprocess.Popen, deadline: float) -> Ended:
    try:
        output, errors = process.communicate(timeout=max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        return Ended(None, *process.communicate())
    return Ended(process.returncode, output, errors)
