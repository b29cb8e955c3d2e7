"""Compiled loops: the results of the ordinary code, for random programs and those that have gone wrong elsewhere."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tests.numba.support import SHAPES, both, check, check_equal, counted, draw_body, loops, values_of

pytest.importorskip("numba", reason="numba is not installed: loops run in the ordinary code")

np_ = tangrad.numpy


def arrays(dtype, seed=0):
    draw = np.random.default_rng(seed)
    drawn = [draw.normal(size=shape) for shape in SHAPES]
    return tuple(
        [np.asarray(x * 10 if np.dtype(dtype).kind in "iu" else x).astype("int8").astype(dtype) for x in drawn]
    )


def check_program(seed, dtype):
    body = draw_body(seed, dtype)
    kind = seed % 3
    if kind == 0:
        run = lambda *xs: lax.fori_loop(0, 5, lambda i, c: body(tangrad, i, c), xs)
    elif kind == 1:
        run = lambda *xs: lax.scan(
            lambda c, i: (body(tangrad, i, c), c[1] + c[0][0]), xs, np_.arange(4), reverse=seed % 2
        )
    else:
        run = lambda *xs: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, body(tangrad, c[0], c[1])), (0, xs))
    check(run, *arrays(dtype, seed), tolerance=2e-4 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("seed", range(9))
def test_random_programs(seed):
    with tangrad.enable_x64():
        check_program(seed, ("float32", "int32", "float64")[seed // 3])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(9, 20), *[pytest.param(n, marks=pytest.mark.sweep) for n in range(20, 50)]])
def test_more_random_programs(seed):
    with tangrad.enable_x64():
        check_program(seed, ("float32", "int32", "float64", "uint8", "int64")[seed % 5])


# --- programs of one kind each ---------------------------------------------------------------------------------------


def swapped(x, y):
    """Carries that change places, one of which stays as it is too."""
    return lax.fori_loop(0, 5, lambda i, c: (c[1], c[0], c[0] + c[1], c[3]), (x, y, x, y))


def shifted(x, y):
    """Each element from its neighbour: nothing may be written before it is read."""
    return lax.fori_loop(0, 5, lambda i, c: np_.concatenate([c[1:], c[:1]]) + 1, x)


def written(x, y):
    """Rows written in place, while a part of what was there is read afterwards."""

    def body(i, c):
        old = c[0]
        return lax.dynamic_update_index_in_dim(c, c[1] * 2, i % 2, 0) + old * 0.1

    return lax.fori_loop(0, 5, body, np_.stack([x, y]))


def rows(x, y):
    """Results written in place, one row an iteration."""
    fill = lambda i, c: lax.dynamic_update_index_in_dim(c, x * i + c[0], i, 0)
    return lax.fori_loop(0, 6, fill, np_.zeros((6, *x.shape), x.dtype))


def stacked(x, y):
    """What a carry was before it changed, and what it is then."""
    return lax.scan(lambda c, row: (c + row, (c, c + row, row, 1)), x, np_.stack([y, x, y]), reverse=True)


def far(x, y):
    """Sine and cosine of numbers that need all digits of pi."""
    return lax.fori_loop(0, 3, lambda i, c: np_.sin(c * 1e7) + np_.cos(c * 1e30) + np_.sin(c / 0 * 0), x)


def newton(x, y):
    """A loop that ends by its values."""
    ends = lambda c: (np_.abs(c[1] * c[1] - abs(y[0]) - 2) > 1e-3) & (c[0] < 40)
    return lax.while_loop(ends, lambda c: (c[0] + 1, (c[1] + (abs(y[0]) + 2) / c[1]) / 2), (0, x[0] * x[0] + 1))


def nothing(x, y):
    """No iteration, and arrays without elements."""
    none = x[:0]
    never = lax.while_loop(lambda c: c[0] > 9, lambda c: (c[0] + 1, c[1] * 2), (0, x))
    return lax.fori_loop(3, 3, lambda i, c: c * 2, x), lax.fori_loop(0, 3, lambda i, c: c + none.sum(), none), never


PROGRAMS = (swapped, shifted, written, rows, stacked, far, newton, nothing)
X, Y = np.linspace(-1, 2, 6, dtype="float32"), np.array([3, -1, 0.5, 2, 7, -4], "float32")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    check(program, X, Y)


@pytest.mark.parametrize("program", [rows, stacked, written])
def test_gradients(program):
    total = lambda x, y: sum([np_.sum(np_.sin(leaf)) for leaf in tangrad.tree.leaves(program(x, y))])
    check(tangrad.grad(total, (0, 1)), X, Y, tolerance=2e-5, count=2)


@pytest.mark.parametrize("program", [rows, newton, swapped])
def test_mapped_programs(program):
    check(tangrad.vmap(program), np.stack([X, Y]), np.stack([Y, X]))


def test_arrays_that_are_views_and_read_only():
    x = np.arange(24, dtype="float32").reshape(4, 6)
    with tangrad.use_backend("numpy"):
        x = tangrad.device_put(x)
    run = lambda x: lax.scan(lambda c, row: (c + row, c * row), np_.zeros(4), x.T[::2])
    check(run, x)


def test_constants_of_the_loop():
    table = np.arange(12, dtype="float32").reshape(4, 3)
    check(
        lambda x: lax.fori_loop(0, 4, lambda i, c: c + lax.dynamic_index_in_dim(np_.asarray(table), i, 0, False), x),
        X[:3],
    )


# --- what people write -----------------------------------------------------------------------------------------------


def conjugate_gradients(x):
    matrix = np_.outer(x, x) + 3 * np_.eye(x.shape[0], dtype=x.dtype)

    def step(state):
        solution, rest, direction, size = state
        image = matrix @ direction
        length = size / (direction @ image)
        rest = rest - length * image
        return solution + length * direction, rest, rest + (rest @ rest) / size * direction, rest @ rest

    return lax.while_loop(lambda state: state[3] > 1e-6, step, (x * 0, x + 1, x + 1, (x + 1) @ (x + 1)))[0]


def descent(x):
    loss = lambda x: np_.sum((x**2 - 1) ** 2)

    def step(state, i):
        x, mean, square = state
        slope = tangrad.grad(loss)(x)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        return (x - 0.01 * mean / (np_.sqrt(square) + 1e-3), mean, square), loss(x)

    return lax.scan(step, (x, x * 0, x * 0), np_.arange(30))


def sieve(x):
    numbers = np_.arange(64) + x.astype("int32")[0]
    strike = lambda i, left: left & ((numbers % i != 0) | (numbers == i))
    return lax.fori_loop(2, 9, strike, np_.ones(64, bool))


def jacobian(x):
    return tangrad.jacfwd(lambda x: lax.fori_loop(0, 5, lambda i, c: np_.tanh(c * x), x))(x)


def hessian(x):
    return tangrad.hessian(lambda x: lax.scan(lambda c, i: (np_.sin(c * x), None), x, np_.arange(4))[0].sum())(x)


def ends_at_different_times(x):
    turn = lambda c: (c[0] + 1, c[1] * 0.9 + x[0])
    return tangrad.vmap(lambda end: lax.while_loop(lambda c: c[0] < end * 5, turn, (0.0, end)))(x)


ALGORITHMS = (conjugate_gradients, descent, sieve, jacobian, hessian, ends_at_different_times)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.__name__)
def test_algorithms(algorithm):
    check(algorithm, X, tolerance=2e-4)


# --- Elementwise primitives in compiled loops: the results of the ordinary code, at special values too ---


ONE = {
    "f": "abs neg sign floor ceil is_finite round exp exp2 log log1p expm1 logistic sqrt rsqrt cbrt square sin cos tan "
    "asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma",
    "i": "abs neg sign square bitwise_not",
    "u": "sign neg square bitwise_not",
    "b": "bitwise_not",
}
TWO = {
    "f": "add sub mul div rem max min atan2 pow eq ne lt le gt ge",
    "i": "add sub mul div rem max min eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic",
    "b": "bitwise_and bitwise_or bitwise_xor eq ne max min",
}
TWO["u"] = TWO["i"]
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


def every_function(dtype, names):
    """A loop over pairs of numbers, whose body applies everything."""
    kind = np.dtype(dtype).kind

    def body(carry, pair):
        x, y = pair
        results = [getattr(lax, name)(x) for name in ONE[kind].split() if name in names]
        results += [getattr(lax, name)(x, y) for name in TWO[kind].split() if name in names]
        return carry, tuple(results)

    return lambda xs, ys: lax.scan(body, 0, (xs, ys))[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_one_and_two_numbers(dtype):
    with tangrad.enable_x64():
        values = values_of(dtype)
        xs, ys = [np.ascontiguousarray(grid) for grid in np.meshgrid(values, values, indexing="ij")]
        kind = np.dtype(dtype).kind
        names = set(ONE[kind].split()) | set(TWO[kind].split())
        check(every_function(dtype, names), xs, ys, tolerance=3e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype):
    with tangrad.enable_x64():
        values = values_of(dtype)
        if values.dtype.kind == "f":
            values = np.concatenate([values, np.array([2.0**31, 2.0**63, -(2.0**63), 2.0**64, 254.9, 255.5], dtype)])

        def body(carry, x):
            converted = [lax.convert_element_type(x, other) for other in DTYPES]
            return carry, (converted, lax.select(converted[0], x, x * 0 if x.dtype != bool else ~x))

        check(lambda xs: lax.scan(body, 0, xs)[1], values[:, None])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_powers_clamps_and_choices(dtype):
    with tangrad.enable_x64():
        values = values_of(dtype)

        def body(carry, pair):
            x, y = pair
            powers = [lax.integer_pow(x, n) for n in (0, 1, 2, 3, 7)]
            return carry + 1, (
                powers,
                lax.clamp(x, y, x + 1),
                lax.select_n(x > y, x, y),
                lax.select_n(np.int32(2) - carry % 3, x, y, x - y),
            )

        xs, ys = [np.ascontiguousarray(grid) for grid in np.meshgrid(values, values)]
        check(lambda xs, ys: lax.scan(body, np.int32(0), (xs, ys))[1], xs, ys)


# --- When loops are compiled, and what happens where they cannot be ---


FORCED_X = np.linspace(-1, 1, 5, dtype="float32")

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
from tangrad._numba import compiled
print(sum(sum(function.stats.cache_hits.values()) for function in compiled._functions.values()))
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
    check_equal(*both(program, FORCED_X))


def test_loops_outside_jit_and_checked_ones():
    with loops("always"), counted() as made:
        result = lax.fori_loop(0, 300, lambda i, c: c + 2, FORCED_X)
        assert made == ["control_flow.scan"]
        np.testing.assert_allclose(result, FORCED_X + 600)
        with tangrad.debug_nans(True):
            np.testing.assert_allclose(lax.fori_loop(0, 301, lambda i, c: c + 2, FORCED_X), FORCED_X + 602)
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
