"""Integer division by zero on the XLA backend: defined everywhere, and never the end of the process."""

import subprocess
import sys

import pytest

pytest.importorskip("jaxlib")
pytest.importorskip("jax")

import jax
import numpy as np

import tangrad
from tangrad import lax
from tangrad.core import dtypes
from tangrad.core.settings import SETTINGS

# Expression -> what it computes: the quotient by 0 is -1, the remainder the dividend. The divisors are such that XLA
# finds out while compiling that they are zero; run in one process of its own, since a failure would be its end.
FIVES, ZEROS, ARGUMENT = "np.full(2, 5)", "np.zeros(2, int)", "np.arange(2)"
PROGRAMS = {
    f"jit(lambda: {FIVES} // {ZEROS})()": [-2, -2],
    f"jit(lambda: lax.div({FIVES}, {ZEROS}))()": [-1, -1],
    f"jit(lambda: lax.rem({FIVES}, {ZEROS}))()": [5, 5],
    "jit(lambda: lax.div(np.full(2, 5, 'uint8'), np.zeros(2, 'uint8')))()": [255, 255],
    "jit(lambda: lax.rem(np.full(2, 5, 'int4'), np.zeros(2, 'int4')))().astype(int)": [5, 5],
    "jit(lambda: lax.div(np.full(2, 5, 'uint4'), np.zeros(2, 'uint4')))().astype(int)": [15, 15],
    "jit(lambda: np.divmod(5, 0))()[0]": -2,
    "jit(lambda: lax.div(np.int32(5), np.int32(0)))()": -1,
    "np.mean(np.zeros(0), dtype='int32')": -1,
    f"jit(lambda: lax.div({FIVES}, onp.array([0, 2], 'int32')))()": [-1, 2],
    f"jit(lambda x: lax.div({FIVES}, x * 0))({ARGUMENT})": [-1, -1],
    f"jit(lambda x: lax.div({FIVES}, x - x))({ARGUMENT})": [-1, -1],
    f"jit(lambda x: lax.rem(x - x, x - x))({ARGUMENT})": [0, 0],
    f"jit(lambda: lax.div({FIVES}, lax.dynamic_slice(np.zeros(5, int), (1,), (2,))))()": [-1, -1],
    f"jit(lambda p: lax.cond(p, lambda: lax.div({FIVES}, {ZEROS}), lambda: {FIVES}))(True)": [-1, -1],
    f"jit(lambda p: lax.cond(p, lax.div, lax.add, {FIVES}, {ZEROS}))(True)": [-1, -1],
    f"jit(lambda: jit(lax.div)({FIVES}, {ZEROS}))()": [-1, -1],
    f"lax.fori_loop(0, 3, lambda i, x: lax.div({FIVES}, {ZEROS}), {FIVES})": [-1, -1],
    f"jit(lambda: lax.scan(lambda c, x: (lax.div(c, x), x), np.int32(5), {ZEROS}, unroll=2))()[0]": -1,
    f"vmap(lambda x: lax.div(x, x * 0))({FIVES})": [-1, -1],
}


def test_a_constant_divisor_of_zero_does_not_end_the_process() -> None:
    source = f"""
import numpy as onp
import tangrad, tangrad.numpy as np
from tangrad import lax, jit, vmap
for text in {list(PROGRAMS)!r}:
    print(text, flush=True)
    print(onp.asarray(eval(text)).tolist(), flush=True)
"""
    command = [sys.executable, "-c", "import os; os.environ['TANGRAD_BACKEND'] = 'xla'\n" + source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended by {done.returncode} at {lines[-1:]}\n{done.stderr}"
    assert dict(zip(lines[::2], map(eval, lines[1::2]), strict=True)) == PROGRAMS


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_a_guarded_division_is_the_plain_one(dtype: str) -> None:
    limits = np.iinfo(dtype)
    numbers = np.array([0, 1, 2, 7, limits.max, limits.min], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    with tangrad.enable_x64(True), SETTINGS["backend"]("xla"):
        for operation in (lax.div, lax.rem):
            plain = tangrad.jit(operation)(x, y)
            guarded = tangrad.jit(lambda x, y, operation=operation: operation(x, y + y - y))(x, y)
            assert plain.dtype == dtypes.as_dtype(dtype)
            np.testing.assert_array_equal(np.asarray(guarded), np.asarray(plain))
            with jax.enable_x64(True):
                expected = getattr(jax.lax, operation.__name__)(x, y)
            np.testing.assert_array_equal(np.asarray(guarded), np.asarray(expected))


@pytest.mark.parametrize(
    ("program", "guarded"),
    [
        (lambda x: lax.div(x, np.int32(3)), False),
        (lambda x: lax.div(x, np.arange(1, 5, dtype=np.int32)), False),
        (lambda x: lax.div(x, x), False),
        (lambda x: lax.div(x, x * 2), True),
    ],
)
def test_only_divisors_that_may_become_constants_are_guarded(program, guarded: bool) -> None:
    with SETTINGS["backend"]("xla"):
        text = tangrad.jit(program).lower(np.arange(4, dtype=np.int32)).as_text()
    assert ("compare EQ" in text) is guarded
