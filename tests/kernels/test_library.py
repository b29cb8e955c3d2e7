"""The library by itself: how it is built and found, its threads, what sanitizers say of it."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import rule_table
from tangrad.extend.lax import cumsum_p

EXERCISE = Path(__file__).with_name("exercise.py")


def printed(*command, **variables):
    """What a process prints."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_kernels_are_what_runs(backend, kernels):
    program = tangrad.jit(np.cumsum)
    x = np.ones(5000, "float32")
    kind = "lower.numpy" if backend == "numpy" else "lower.xla.cpu"
    with kernels():
        assert rule_table(kind).cell(cumsum_p).overridden or kind == "lower.xla.cpu"
        numpy.testing.assert_array_equal(program(x), numpy.arange(1, 5001))
        if backend == "xla":
            assert "tangrad_kernels.running" in program.lower(x).as_text()
            assert "tangrad_kernels" not in program.lower(x[:100]).as_text(), "few elements are XLA's"
    if backend == "xla":
        assert "tangrad_kernels" not in program.lower(x).as_text()


def test_without_the_library_rules_are_those_of_the_backend(tmp_path):
    program = (
        "import tangrad, tangrad.numpy as np\n"
        "from tangrad.core import rule_table\n"
        "from tangrad.extend.lax import cumsum_p\n"
        "cell = rule_table('lower.numpy').cell(cumsum_p)\n"
        "print(cell.plugin.distribution, tangrad.jit(np.cumsum)(np.ones(5000))[-1])"
    )
    found = printed("-c", program, TANGRAD_BACKEND="numpy", TANGRAD_KERNELS_LIBRARY=str(tmp_path / "none.so"))
    assert found == "tangrad-backend-numpy 5000.0\n"


def test_without_a_compiler_the_build_says_what_to_do(build, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "compiler", lambda: None)
    with pytest.raises(RuntimeError, match=r"needs a compiler of C\+\+17, and none was found: install c\+\+"):
        build.compile_library(tmp_path)


def test_exported_programs_call_no_kernels(kernels):
    export = pytest.importorskip("tangrad.export", exc_type=ImportError)
    pytest.importorskip("jaxlib", reason="programs are exported by XLA")
    with kernels(), tangrad.use_backend("xla"):
        exported = export.export(tangrad.jit(np.cumsum))(tangrad.ShapeDtypeStruct((9000,), "float32"))
        assert "tangrad_kernels" not in exported.mlir_module()
        numpy.testing.assert_array_equal(exported.call(np.ones(9000, "float32")), numpy.arange(1, 9001))


def test_threads_that_call_at_once(backend, kernels):
    xs = [numpy.random.default_rng(seed).normal(size=200_000) for seed in range(6)]
    start = threading.Barrier(6)
    with kernels():
        run = tangrad.jit(np.cumsum)
        expected = [numpy.asarray(run(x)) for x in xs]

        def often(x, right):
            with tangrad.use_backend(backend), tangrad.enable_x64(True):
                start.wait()
                return all([numpy.array_equal(run(x), right) for _ in range(20)])

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(often, xs, expected))


def test_results_do_not_depend_on_the_number_of_threads(library_path):
    assert len({printed(EXERCISE, library_path, TANGRAD_KERNELS_THREADS=count) for count in "125"}) == 1


def test_threads_sleep_between_calls(library_path):
    """They look out for the next job for a moment, and do not burn a processor until it comes."""
    program = (
        "import sys, time\n"
        f"sys.path.insert(0, {str(EXERCISE.parent)!r})\n"
        "import numpy as np\n"
        "from exercise import Caller\n"
        "call, x = Caller(sys.argv[1]), np.ones((256, 1000), 'float32')\n"
        "call('softmax', [0, *x.shape], [x], [np.empty_like(x)])\n"
        "time.sleep(0.05)\n"
        "before = time.process_time()\n"
        "time.sleep(0.4)\n"
        "print(time.process_time() - before)"
    )
    assert float(printed("-c", program, library_path, TANGRAD_KERNELS_THREADS="6")) < 0.02


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes are not held to processors here")
@pytest.mark.parametrize(("wanted", "more"), [("", 0), ("3", 2)], ids=["by itself", "by its setting"])
def test_there_are_no_more_threads_than_the_process_has_processors(library_path, wanted, more):
    """Of the machine's, a container or a job may use one: a second thread would take turns with the first."""
    program = (
        "import os, sys\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        f"sys.path.insert(0, {str(EXERCISE.parent)!r})\n"
        "import numpy as np\n"
        "from exercise import Caller\n"
        "call, x = Caller(sys.argv[1]), np.ones((256, 1000), 'float32')\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "call('softmax', [0, *x.shape], [x], [np.empty_like(x)])\n"
        "print(len(os.listdir('/proc/self/task')) - before)"
    )
    assert int(printed("-c", program, library_path, TANGRAD_KERNELS_THREADS=wanted)) == more


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_of_fork_has_threads_of_its_own(library_path):
    program = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(EXERCISE.parent)!r})\n"
        "import numpy as np\n"
        "from exercise import Caller\n"
        "call, x = Caller(sys.argv[1]), np.ones(300_000)\n"
        "def last():\n"
        "    y = np.empty_like(x)\n"
        "    call('running', [1, 0, 1, x.size, 1, 0], [x], [y])\n"
        "    return y[-1]\n"
        "last()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if last() == x.size else 1)\n"
        "print(os.waitpid(child, 0)[1], last())"
    )
    found = printed("-W", "ignore", "-c", program, library_path, TANGRAD_KERNELS_THREADS="3")
    assert found == "0 300000.0\n"


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_sanitizers_find_nothing(build, tmp_path, sanitizer):
    name = "libtsan.so" if sanitizer == "thread" else "libasan.so"
    command = build.compiler()
    if command is None:
        pytest.skip("there is no compiler of C++ here")
    found = subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"the compiler has no {name}, which a process loads first")
    options = [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=undefined", "-DTANGRAD_NO_CLONES", "-O1", "-g"]
    library = build.compile_library(tmp_path, *options)
    reports = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "exitcode=66:ignore_noninstrumented_modules=1"}
    assert len(printed(EXERCISE, library, LD_PRELOAD=found, TANGRAD_KERNELS_THREADS="3", **reports)) == 65
