"""Work that is timed over whole fresh processes: imports, the way to a first result, memory, many installed plugins."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from .loading import command
from .programs import fresh_processes
from .sides import Side

TIME_LIMIT = 120.0
PLUGIN_COUNT = 1000

FRAME = """
import sys, time
start, cpu_start = time.perf_counter(), time.process_time()
{work}
seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
def resident():
    try:
        import os
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
memory = resident()
print('{{"seconds": %r, "cpu_seconds": %r, "bytes": %r}}' % (seconds, cpu_seconds, memory))
"""

WORK = {
    "import": "import {module}",
    "first array": "import {module}.numpy\n{module}.numpy.array([1.0, 2.0, 3.0])",
    "first jitted grad": """import {module} as api
import {module}.numpy as np
api.jit(api.grad(lambda x: np.sum(np.sin(x) * x)))(np.arange(3.0)).block_until_ready()""",
    "plugins": "import {module}",
    **fresh_processes.SECOND_PROCESS,
}

ENTRY_POINTS = """[tangrad.primitives]
sample{number} = tangrad_sample{number}.primitives:sample
[tangrad.rules.jvp]
sample{number} = tangrad_sample{number}.autodiff:jvp
[tangrad.rules.batch]
sample{number} = tangrad_sample{number}.batching:batch
[tangrad.rules.lower.numpy]
sample{number} = tangrad_sample{number}.numpy:lower
[tangrad.api]
lax.sample{number} = tangrad_sample{number}.primitives:sample_call
"""


def write_fake_distributions(folder: Path, count: int = PLUGIN_COUNT) -> None:
    """Write `count` dist-info folders with entry points. Their modules do not exist: importing them is an error."""
    for number in range(count):
        info = folder / f"tangrad_sample{number}-1.0.dist-info"
        info.mkdir(parents=True)
        metadata = f"Metadata-Version: 2.1\nName: tangrad-sample{number}\nVersion: 1.0\n"
        info.joinpath("METADATA").write_text(metadata, encoding="utf-8")
        info.joinpath("entry_points.txt").write_text(ENTRY_POINTS.format(number=number), encoding="utf-8")


class ProcessBench:
    """Runs the process programs. Caches on disk live in a folder of the bench's own, so that every run starts equal."""

    def __init__(self, peer_python: str = sys.executable) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tangrad-bench-")
        self.peer_python = peer_python
        self.plugins: Path | None = None
        self.prepared: set[tuple[str, str]] = set()

    def close(self) -> None:
        """Remove the bench's folder."""
        self.folder.cleanup()

    def sample(self, side: Side, program: str) -> dict[str, float]:
        """Run the program in a fresh process, or several; its seconds and resident bytes. RuntimeError if it fails."""
        if program in fresh_processes.SEVERAL_PROCESSES:
            return self._sample_together(side, program)
        if program in fresh_processes.SECOND_PROCESS and (side.name, program) not in self.prepared:
            self.prepared.add((side.name, program))
            self._sample_alone(side, program)  # the first process, which fills the cache
        return self._sample_alone(side, program)

    def _sample_alone(self, side: Side, program: str) -> dict[str, float]:
        done = subprocess.run(
            [self.python(side), "-c", FRAME.format(work=WORK[program].format(module=side.module))],
            env=self.environment(side, program),
            cwd=self.folder.name,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
        if done.returncode != 0:
            raise RuntimeError(last_line(done.stderr) or f"exit status {done.returncode}")
        return json.loads(done.stdout.splitlines()[-1])

    def _sample_together(self, side: Side, program: str) -> dict[str, float]:
        """What process 0 of several says."""
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{trial.getsockname()[1]}"
        started: list[subprocess.Popen[str]] = []
        try:
            for number in range(fresh_processes.SEVERAL_PROCESSES[program][0]):
                words = (side.name, program, address, str(number))
                options = {"env": self.environment(side, program), "cwd": self.folder.name, "text": True}
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                whole = command(self.python(side), "programs.fresh_processes", *words)
                started.append(subprocess.Popen(whole, **options, **pipes))
            output, errors = started[0].communicate(timeout=TIME_LIMIT)
            if started[0].returncode != 0:
                raise RuntimeError(last_line(errors) or f"exit status {started[0].returncode}")
            return json.loads(output.splitlines()[-1])
        finally:
            for process in started:
                process.kill()
                process.communicate()

    def python(self, side: Side) -> str:
        """The interpreter of a side."""
        return sys.executable if side.module == "tangrad" else self.peer_python

    def environment(self, side: Side, program: str) -> dict[str, str]:
        """The side's environment, with the fake distributions on the path where the program is about them."""
        environment = side_environment(side, Path(self.folder.name))
        if program == "plugins":
            environment["PYTHONPATH"] = str(self.plugin_folder())
        if program in fresh_processes.SECOND_PROCESS:
            environment |= fresh_processes.environment(Path(self.folder.name), side.name)
        return environment

    def plugin_folder(self) -> Path:
        """The folder with 1,000 fake distributions (written at first use)."""
        if self.plugins is None:
            self.plugins = Path(self.folder.name) / "plugins"
            write_fake_distributions(self.plugins)
        return self.plugins


def side_environment(side: Side, folder: Path) -> dict[str, str]:
    """The caller's environment without settings of either framework, then the side's own.

    Bytecode is written and read, as it is for users: without, the time to compile thousands of lines is measured.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TANGRAD_", "JAX_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    caches = {"TANGRAD_CACHE_DIR": str(folder / "cache")}
    return {**kept, **caches, **dict(side.environment)}


def last_line(text: str) -> str:
    """The last line that is not empty: of a traceback, the error itself."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
