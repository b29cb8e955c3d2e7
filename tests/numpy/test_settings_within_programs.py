"""Settings that are switched within a program hold for what is written there: traced, mapped, differentiated, eager."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield


UNDER = {
    "eager": lambda f: f,
    "jit": lambda f: tangrad.jit(f),
    "vmap": lambda f: lambda x: tangrad.vmap(lambda _: f(x))(np.zeros(2))[0],
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c, f(x)), 0, None, length=2)[1][0],
    "jvp": lambda f: lambda x: tangrad.jvp(lambda y: (f(x), y), (np.zeros(()),), (np.ones(()),))[0][0],
}
# Programs of a weak integer, 2, and a weak float, 0.5.
INTEGERS = {
    "sum": lambda i, f: i + 1,
    "reflected": lambda i, f: 1 - i,
    "large": lambda i, f: i + 2**40,
    "maximum": lambda i, f: np.maximum(i, 1),
    "clip": lambda i, f: np.clip(i, 0, 5),
    "carried": lambda i, f: lax.fori_loop(0, 2, lambda _, c: c + 2**40, 0),
    "inner program": lambda i, f: tangrad.jit(lambda j: j + 1)(i),
    "alone": lambda i, f: np.asarray(3),
    "counted": lambda i, f: np.arange(3).sum(),
}
FLOATS = {
    "product": (lambda i, f: f * 0.1, 0.5 * 0.1),
    "quotient": (lambda i, f: 0.1 / f, 0.1 / 0.5),
    "chosen": (lambda i, f: np.where(f > 0, 0.1, 0.2), 0.1),
    "function": (lambda i, f: np.add(f, 0.1), 0.5 + 0.1),
    "alone": (lambda i, f: np.asarray(0.1), 0.1),
    "array": (lambda i, f: np.full((), 0.1), 0.1),
    "converted": (lambda i, f: np.asarray(f).astype(float) * (1 / 3), 0.5 * (1 / 3)),
}


@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_met_where_64_bits_are_on(name, under):
    i, f = np.asarray(2), np.asarray(0.5)
    assert i.weak_type
    expected = INTEGERS[name](2, 0.5) if name not in ("carried", "counted") else {"carried": 2**41, "counted": 3}[name]

    def program(x):
        with tangrad.enable_x64(True):
            return INTEGERS[name](x, f)

    for _ in range(2):
        if name != "large" and name != "carried":
            INTEGERS[name](i, f)  # what was met before in 32 bits changes nothing
        found = UNDER[under](program)(i)
        assert (found.dtype, int(found)) == (numpy.int64, int(expected))


@pytest.mark.parametrize("under", ["eager", "jit"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_met_where_64_bits_are_on(name, under):
    i, f = np.asarray(2), np.asarray(0.5)
    written, expected = FLOATS[name]

    def program(x):
        with tangrad.enable_x64(True):
            return written(i, x)

    for _ in range(2):
        assert written(i, f).dtype == numpy.float32
        found = UNDER[under](program)(f)
        assert (found.dtype, float(found)) == (numpy.float64, expected)


@pytest.mark.parametrize("under", ["eager", "jit"])
@pytest.mark.parametrize("name", ["sum", "reflected", "maximum", "clip", "alone"])
def test_integers_met_where_64_bits_are_off(name, under):
    with tangrad.enable_x64(True):
        i, f = np.asarray(2), np.asarray(0.5)

        def program(x):
            with tangrad.enable_x64(False):
                return INTEGERS[name](x, f)

        for _ in range(2):
            assert INTEGERS[name](i, f).dtype == numpy.int64
            assert UNDER[under](program)(i).dtype == numpy.int32


def test_arrays_that_are_not_weak_keep_their_dtype():
    x = np.ones(2)

    @tangrad.jit
    def program(y):
        with tangrad.enable_x64(True):
            return y + 0.1, y * numpy.float64(2)

    first, second = program(x)
    assert (first.dtype, second.dtype) == (numpy.float32, numpy.float64)


# Other settings: what they decide where they are switched on shows in the program or in its result.
def precisions(program):
    return [eqn.params["precision"] for eqn in program.jaxpr.eqns if "precision" in eqn.params]


def test_precision_within_a_program():
    m = np.eye(2)

    def program(x):
        with tangrad.default_matmul_precision("highest"):
            inner = x @ x
        return inner @ x

    within, after = precisions(tangrad.make_jaxpr(program)(m))
    assert "HIGHEST" in str(within).upper() and "HIGHEST" not in str(after).upper()


def test_promotion_within_a_program():
    def program(x, i):
        y = x * i
        with tangrad.numpy_dtype_promotion("strict"):
            return y, x + i

    x, i = np.ones(2), np.arange(2)
    for call in (program, tangrad.jit(program), tangrad.vmap(program)):
        with pytest.raises(ValueError, match="strict"):
            call(x, i)

    def ranks(x, y):
        with tangrad.numpy_rank_promotion("raise"):
            return x + y

    for call in (ranks, tangrad.jit(ranks)):
        with pytest.raises(ValueError, match="raise"):
            call(x, np.ones((2, 2)))


def test_the_generator_within_a_program():
    def program(key, value):
        with tangrad.threefry_partitionable(value):
            return tangrad.random.bits(key, (3,))

    key = tangrad.random.key(0)
    for value in (True, False):
        with tangrad.threefry_partitionable(value):
            expected = tangrad.random.bits(key, (3,))
        for other in (True, False):
            with tangrad.threefry_partitionable(other):
                numpy.testing.assert_array_equal(tangrad.jit(program, static_argnums=1)(key, value), expected)
    assert not np.array_equal(program(key, True), program(key, False))
