"""The driver's end of the workers: starts one process per side at first need, asks it, and survives its death."""

import json
import selectors
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from .loading import command
from .processes import last_line, side_environment
from .sides import SIDES, Side

TIME_LIMIT = 1800.0  # what hangs; deep programs take minutes to compile


class WorkerError(Exception):
    """A worker could not do what was asked."""


class WorkerProcess:
    """One side's process and its pipes."""

    def __init__(self, side: Side, python: str, folder: Path) -> None:
        self.log: IO[str] = tempfile.TemporaryFile("w+", dir=folder)  # noqa: SIM115 (lives as long as the process)
        self.process = subprocess.Popen(
            command(python, "worker", side.name),
            cwd=folder,
            env=side_environment(side, folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            line = self._line()
        except OSError:
            line = b""
        if not line:
            raise WorkerError(f"the process ended: {self._last_logged()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(TIME_LIMIT):
                self.process.kill()
                raise WorkerError(f"no answer within {TIME_LIMIT:.0f} s")
        return self.process.stdout.readline()

    def _last_logged(self) -> str:
        self.process.wait(5)
        self.log.seek(0)
        return last_line(self.log.read()) or f"exit status {self.process.returncode}"

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.log):
            if pipe is not None:
                pipe.close()


class WorkerPool:
    """Workers by side; a dead one is replaced at the next request."""

    def __init__(
        self,
        folder: Path,
        peer_python: str = sys.executable,
        xmap_python: str | None = None,
        torch_python: str | None = None,
    ) -> None:
        self.folder = folder
        self.pythons = {"peer": peer_python, "xmap": xmap_python, "torch": torch_python}
        self.workers: dict[str, WorkerProcess] = {}

    def ask(self, side_name: str, **request: Any) -> dict[str, Any]:
        """Ask the side's worker. Raises WorkerError with the reason where it cannot."""
        worker = self.workers.get(side_name)
        if worker is None or not worker.alive:
            if worker is not None:
                worker.close()
            side = SIDES[side_name]
            python = sys.executable if side.module == "tangrad" else self.pythons[side.interpreter]
            if python is None:
                raise WorkerError(f"no interpreter that has {side.title}")
            worker = self.workers[side_name] = WorkerProcess(side, python, self.folder)
        return worker.ask(request)

    def close(self) -> None:
        """End all workers."""
        for worker in self.workers.values():
            worker.close()
