"""When loops are compiled, and what happens where they cannot be."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tests.numba.support import both, check_equal, counted, loops

pytest.importorskip("numba", reason="numba is not installed: loops run in the ordinary code")

np_ = tangrad.numpy
X = np.linspace(-1, 1, 5, dtype="float32")

PROGRAM = """
import sys
import tangrad
from tangrad import lax

def run(count, x):
    return tangrad.jit(lambda x: lax.fori_loop(0, count, lambda i, x: x * 0.999 + 0.25 * x * (1 - x), x))(x)

small = float(run(20, 0.5))
print("numba" in sys.modules)
large = float(run(20_000, 0.5))
print("numba" in sys.modules)
from tangrad._numba import running
print(sum(sum(function.stats.cache_hits.values()) for function in running._functions.values()))
print(small, large)
"""


def run_in_process(**environment):
    """The lines that the program prints in a process of its own."""
    variables = {**os.environ, "TANGRAD_BACKEND": "numpy", **environment}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:4]


def test_numba_is_imported_for_what_pays_and_its_cache_serves_the_next_process(tmp_path):
    first = run_in_process(TANGRAD_CACHE_DIR=str(tmp_path))
    assert first[:3] == ["False", "True", "0"]
    second = run_in_process(TANGRAD_CACHE_DIR=str(tmp_path))
    assert second == ["False", "True", "1", first[3]]


def test_without_a_folder_of_ones_own_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "shared"):
        if folder.name == "shared":
            (folder / "numba").mkdir(parents=True)
            (folder / "numba").chmod(0o777)
        assert run_in_process(TANGRAD_CACHE_DIR=str(folder))[:3] == ["False", "True", "0"]
    assert not list((tmp_path / "shared" / "numba").iterdir())


def test_the_setting_leaves_numba_out():
    variables = {**os.environ, "TANGRAD_BACKEND": "numpy", "TANGRAD_NUMBA_LOOPS": "off"}
    program = PROGRAM.partition("from tangrad._numba")[0]
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_values_of_the_setting():
    with pytest.raises(ValueError, match="expected False or one of 'auto', 'always'"):
        tangrad.config.update("numba_loops", "never")
    with pytest.raises(TypeError, match="expected False"):
        tangrad.config.update("numba_loops", 3)


FALLBACKS = {
    "complex numbers": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 1j, x + 0j),
    "narrow floats": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x.astype("float16")),
    "sorting": lambda x: lax.fori_loop(0, 3, lambda i, c: np_.sort(c * -1), x),
    "effects": lambda x: lax.fori_loop(0, 3, lambda i, c: (tangrad.debug.callback(lambda: None), c + 1)[1], x),
    "random bits": lambda x: lax.fori_loop(
        0, 3, lambda i, c: c + tangrad.random.bits(tangrad.random.key(i), (5,)), 0 * x
    ),
}


@pytest.mark.parametrize("program", FALLBACKS.values(), ids=FALLBACKS)
def test_what_has_no_code_runs_in_the_ordinary_code(program):
    check_equal(*both(program, X))


def test_loops_outside_jit_and_checked_ones():
    with loops("always"), counted() as made:
        result = lax.fori_loop(0, 300, lambda i, c: c + 2, X)
        assert made == ["control_flow.scan"]
        np.testing.assert_allclose(result, X + 600)
        with tangrad.debug_nans(True):
            np.testing.assert_allclose(lax.fori_loop(0, 301, lambda i, c: c + 2, X), X + 602)
        assert made == ["control_flow.scan"]


def test_threads_have_working_memory_of_their_own():
    with loops("always"):
        run = tangrad.jit(lambda x: lax.fori_loop(0, 3000, lambda i, c: np_.sin(c) + x, x))
        inputs = [np.full(40, k / 7, "float32") for k in range(8)]
        expected = [np.asarray(run(x)) for x in inputs]
        found = [None] * 8

        def call(k):
            found[k] = [np.asarray(run(inputs[k])) for _ in range(5)]

        threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for results, right in zip(found, expected):
        for result in results:
            np.testing.assert_array_equal(result, right)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
def test_a_loop_without_end_can_be_interrupted():
    with loops("always"):
        forever = tangrad.jit(lambda x: lax.while_loop(lambda c: c[0] > -1.0, lambda c: (c[0] * 0.5, c[1] + 1), (x, 0)))
        with counted() as made:
            forever.lower(np.float32(1)).compile()
        assert made == ["control_flow.while"]
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
            with pytest.raises(KeyboardInterrupt):
                np.asarray(forever(np.float32(1))[0])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert float(tangrad.jit(lambda x: lax.fori_loop(0, 5, lambda i, c: c + 1, x))(1.0)) == 6.0


def test_what_numpy_computes_faster_is_left_to_it():
    x = np.ones((4096,), "float64")
    with loops("auto"), counted() as made:
        for function in (
            np_.tanh,
            lambda c: np_.sin(c) ** 0.3,
            lambda c: (c.reshape(64, 64) @ c.reshape(64, 64)).ravel() * 0,
        ):
            with tangrad.enable_x64():
                tangrad.jit(lambda x, f=function: lax.fori_loop(0, 2000, lambda i, c: f(c), x)).lower(x).compile()
    assert made == []
