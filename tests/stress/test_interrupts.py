"""Interrupts, forks, a full disk, files of others: nothing is lost, and the next call works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "interrupted.py"


def run(*command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    settings = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, *command], env=settings, capture_output=True, text=True, timeout=1800, check=False
    )


def interrupted(backend: str, kind: str, count: int, crowd: int) -> None:
    done = run(str(PROGRAM), kind, str(count), "0", str(crowd), TANGRAD_BACKEND=backend)
    assert done.returncode == 0 and "nothing lost" in done.stdout, done.stdout[-500:] + done.stderr[-3000:]


@pytest.mark.parametrize("kind", ["signal", "sent"])
def test_some_interrupts(kind: str) -> None:
    interrupted("numpy", kind, 20, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["signal", "sent"])
@pytest.mark.parametrize(("crowd", "count"), [(0, 300), (32, 60), pytest.param(32, 300, marks=pytest.mark.sweep)])
def test_interrupts_while_plugins_come_and_go(kind: str, crowd: int, count: int) -> None:
    interrupted("numpy", kind, count, crowd)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["signal", "sent"])
@pytest.mark.parametrize(("crowd", "count"), [(0, 60), (32, 20), pytest.param(32, 60, marks=pytest.mark.sweep)])
def test_interrupts_of_compilations(kind: str, crowd: int, count: int) -> None:
    pytest.importorskip("jaxlib")
    interrupted("xla", kind, count, crowd)


def test_an_interrupt_leaves_no_compilation_without_its_program() -> None:
    """The compiler of jaxlib goes on in a thread of its own when the thread that waits for it is interrupted."""
    pytest.importorskip("jaxlib")
    code = """
import signal, time
import tangrad, tangrad.numpy as np
from tangrad._backend_xla import jaxlib_api
signal.signal(signal.SIGALRM, signal.default_int_handler)
compiling, hits = jaxlib_api.compile_and_load, 0
def interrupted(*args):
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    try:
        return compiling(*args)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
def f(x):
    for _ in range(60):
        x = np.sin(x) @ x
    return x.sum()
x = np.eye(3)
for number in range(12):
    g = tangrad.jit(lambda x: f(x) * number)
    program = g.lower(x)
    jaxlib_api.compile_and_load = interrupted
    try:
        program.compile()
    except KeyboardInterrupt:
        hits += 1
    jaxlib_api.compile_and_load = compiling
assert hits > 2, hits
assert float(g(x)) == float(f(x)) * 11
print("whole")
"""
    done = run("-c", code, TANGRAD_BACKEND="xla")
    assert done.returncode == 0 and done.stdout.strip() == "whole", done.stderr


GRADIENT = """
import tangrad, tangrad.numpy as np
print(tangrad.jit(tangrad.grad(lambda x: (np.sin(x) * x).sum()))(np.arange(3.0)).tolist())
"""
EXPECTED = "[0.0, 1.381773"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_computes_on_while_threads_run() -> None:
    code = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12 and later: forks of processes with threads
import tangrad, tangrad.numpy as np
from tangrad.core import PrimitiveSet, register
stop = threading.Event()
def churn(name):
    while not stop.is_set():
        with register(PrimitiveSet(name, api=1)):
            tangrad.jit(lambda x: np.sin(x) + 1)(1.0)
threads = [threading.Thread(target=churn, args=(f"family_{i}",)) for i in range(4)]
f = tangrad.jit(lambda x: (x * 2).sum())
x = np.arange(3.0)
assert float(f(x)) == 6.0
for thread in threads: thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        os._exit(0 if float(f(x)) == 6.0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert float(f(x)) == 6.0
stop.set()
for thread in threads: thread.join()
print("whole")
"""
    done = run("-c", code, TANGRAD_BACKEND="numpy")
    assert done.stdout.strip() == "whole", done.stderr


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_a_full_disk(tmp_path: Path, backend: str) -> None:
    pytest.importorskip("resource")
    if backend == "xla":
        pytest.importorskip("jaxlib")
    full = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing beyond the limit is then an OSError, as on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
"""
    folders = caches(tmp_path)
    first = run("-c", full + GRADIENT, TANGRAD_BACKEND=backend, **folders)
    assert first.stdout.startswith(EXPECTED), first.stderr
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
    second = run("-c", GRADIENT, TANGRAD_BACKEND=backend, **folders)
    assert second.stdout == first.stdout
    if backend == "xla":
        assert list((tmp_path / "programs").glob("*.xlaexec"))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_caches_that_belong_to_another_user(tmp_path: Path, backend: str) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    folders = caches(tmp_path)
    first = run("-c", GRADIENT, TANGRAD_BACKEND=backend, **folders)
    for path in tmp_path.rglob("*"):
        if path.is_file():  # nothing in them may be used any more
            path.write_bytes(path.read_bytes()[:-8] + b"planted!")
        os.chown(path, 12345, 12345)
    second = run("-c", GRADIENT, TANGRAD_BACKEND=backend, **folders)
    assert second.stdout == first.stdout and second.stdout.startswith(EXPECTED), second.stderr


def caches(folder: Path) -> dict[str, str]:
    return {
        "TANGRAD_CACHE_DIR": str(folder / "found"),
        "TANGRAD_COMPILATION_CACHE_DIR": str(folder / "programs"),
        "TANGRAD_XLA_CACHE_MIN_COMPILE_SECONDS": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def test_interrupts_leave_no_thread_behind() -> None:
    """Wherever the interrupt comes, also while the thread of a compilation starts: each ends, and so does Python."""
    pytest.importorskip("jaxlib")
    code = """
import random, signal, sys, threading, time
from tangrad._backend_xla.failures import _running, uninterrupted
signal.signal(signal.SIGALRM, signal.default_int_handler)
sys.setswitchinterval(1e-5)
over = threading.Event()
def busy():
    while not over.is_set():
        sum(range(50))
crowd = [threading.Thread(target=busy) for _ in range(8)]
for one in crowd:
    one.start()
hits, begun, ended = 0, [], []
def call(number):
    begun.append(number)
    ended.append(number)
    return number
generator, number = random.Random(0), 0
while hits < 200:
    number += 1
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, generator.uniform(1e-5, 2e-3))
            assert uninterrupted(call, number) == number
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        hits += 1
over.set()
for one in crowd:
    one.join()
late, whole = time.monotonic() + 30, False
while not whole and time.monotonic() < late:  # a thread may begin late
    time.sleep(0.01)
    whole = not _running and sorted(begun) == sorted(ended)
assert whole and begun
print("whole")
"""
    done = run("-c", code)
    assert done.returncode == 0 and done.stdout.strip() == "whole", done.stderr


def test_exceptions_that_are_sent_while_a_thread_starts() -> None:
    """They may go to the new thread, which then ends at once; the call is made all the same."""
    pytest.importorskip("jaxlib")
    code = """
import random, sys, time
import interrupted
from tangrad._backend_xla.failures import _running, uninterrupted
sys.setswitchinterval(1e-5)
sys.unraisablehook = lambda unraisable: None  # what the interpreter says of a thread that ended so
interrupted.work = lambda number: [uninterrupted(lambda: number) for _ in range(20)]
generator, hits = random.Random(0), 0
for number in range(1500):
    hits += interrupted.interrupt_by_thread(generator, 3e-3, number)
late = time.monotonic() + 30
while _running and time.monotonic() < late:
    time.sleep(0.01)
assert hits > 50 and not _running, hits
assert interrupted.work(7) == [7] * 20
print("whole")
"""
    done = run("-c", code, PYTHONPATH=str(PROGRAM.parent))
    assert done.returncode == 0 and done.stdout.strip() == "whole", done.stderr
