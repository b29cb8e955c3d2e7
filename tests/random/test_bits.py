"""Keys and bits: those of JAX, bit for bit, on both backends and in both streams."""

import numpy as np
import pytest

import tangrad
from tangrad import lax, random
from tangrad.core.tools import check_jaxpr
from tangrad.extend.random import threefry2x32_p
from tests.random.support import BACKENDS, reference, same, using

STREAMS = pytest.mark.parametrize("partitionable", [True, False], ids=["by number", "of a range"])
ON_BOTH = pytest.mark.parametrize("backend", BACKENDS)
# 160 is where NumPy's lowering changes its method; an odd number where the older stream fills up its range.
SHAPES = [(), (1,), (2, 3), (160,), (161,), (0,), (3, 0, 2)]


@ON_BOTH
@STREAMS
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_bits(backend, partitionable, dtype):
    jax = reference()
    with using(backend, partitionable=partitionable):
        for seed, shape in zip((0, 7, -1, 2**31 - 1, 5, 6, 8), SHAPES):
            same(random.bits(random.key(seed), shape, dtype), jax.random.bits(jax.random.key(seed), shape, dtype))


@ON_BOTH
@STREAMS
def test_wide_bits(backend, partitionable):
    jax = reference()
    with using(backend, x64=True, partitionable=partitionable):
        for seed in (3, 2**40 + 5, -(2**50)):
            key, theirs = random.key(seed), jax.random.key(seed)
            same(key, theirs)
            same(random.bits(key, (3, 5), "uint64"), jax.random.bits(theirs, (3, 5), "uint64"))
            same(random.bits(key, (5,)), jax.random.bits(theirs, (5,)))


@ON_BOTH
@STREAMS
def test_many_bits(backend, partitionable):
    """More than one block of NumPy's lowering."""
    jax = reference()
    with using(backend, partitionable=partitionable):
        same(random.bits(random.key(3), (40_001,)), jax.random.bits(jax.random.key(3), (40_001,)))


@ON_BOTH
@STREAMS
def test_split_and_fold(backend, partitionable):
    jax = reference()
    with using(backend, partitionable=partitionable):
        ours, theirs = random.key(11), jax.random.key(11)
        for count in (2, 1, 0, 5, 200, (2, 3)):
            same(random.split(ours, count), jax.random.split(theirs, count))
        for number in (0, 1, 2**32 - 1):
            same(random.fold_in(ours, number), jax.random.fold_in(theirs, np.uint32(number)))
        same(random.fold_in(ours, np.int32(-3)), jax.random.fold_in(theirs, np.int32(-3)))


@ON_BOTH
def test_legacy_keys(backend):
    jax = reference()
    with using(backend):
        ours, theirs = random.PRNGKey(5), jax.random.PRNGKey(5)
        same(ours, theirs)
        same(random.split(ours, 3), jax.random.split(theirs, 3))
        same(random.fold_in(ours, 3), jax.random.fold_in(theirs, 3))
        same(random.bits(ours, (4,)), jax.random.bits(theirs, (4,)))
        same(random.key_data(ours), theirs)
        same(random.wrap_key_data(ours), jax.random.key(5))
        assert random.key_impl(ours) == "threefry2x32"


@ON_BOTH
def test_traced_seeds_and_numbers(backend):
    jax = reference()

    def program(api):
        def run(seed, number):
            key = api.random.key(seed)
            return api.random.key_data(api.random.fold_in(key, number)), api.random.bits(key, (3,))

        return run

    seeds, numbers = np.arange(-2, 3, dtype="int32"), np.arange(5, dtype="uint32")
    with using(backend):
        expected = jax.jit(jax.vmap(program(jax)))(seeds, numbers)
        for found in (tangrad.vmap(program(tangrad)), tangrad.jit(tangrad.vmap(program(tangrad)))):
            for one, other in zip(found(seeds, numbers), expected):
                same(one, other)


@ON_BOTH
@STREAMS
def test_mapped_over_keys(backend, partitionable):
    jax = reference()

    def program(api):
        def run(key):
            first, second = api.random.split(key)
            return api.random.bits(first, (3,)), api.random.bits(second, (5,), "uint8"), api.random.key_data(second)

        return run

    with using(backend, partitionable=partitionable):
        theirs = jax.random.split(jax.random.key(2), (2, 3))
        ours = random.wrap_key_data(np.asarray(jax.random.key_data(theirs)))
        expected = jax.vmap(jax.vmap(program(jax)), 1, 1)(theirs)
        for one, other in zip(tangrad.vmap(tangrad.vmap(program(tangrad)), 1, 1)(ours), expected):
            same(one, other)


def test_the_two_streams_differ():
    with using("numpy"):
        newer = np.asarray(random.bits(random.key(0), (4,)))
    with using("numpy", partitionable=False):
        assert (np.asarray(random.bits(random.key(0), (4,))) != newer).any()


def test_settings_of_the_stream_recompile():
    drawn = []
    program = tangrad.jit(lambda key: random.bits(key, (4,)))
    for partitionable in (True, False, True):
        with using("numpy", partitionable=partitionable):
            drawn.append(np.asarray(program(random.key(0))).tolist())
    assert drawn[0] == drawn[2] != drawn[1]


@ON_BOTH
def test_a_number_as_shape(backend):
    jax = reference()
    with using(backend):
        for program in (lambda r, k: r.bits(k, 3), lambda r, k: r.gamma(k, 1.0, 3), lambda r, k: r.randint(k, 3, 0, 9)):
            assert program(random, random.key(0)).shape == program(jax.random, jax.random.key(0)).shape == (3,)


@ON_BOTH
def test_numbers_of_other_kinds(backend):
    jax = reference()
    with using(backend):
        for seed in (True, np.uint64(2**64 - 1), np.uint64(1 << 63), np.int8(-3), np.uint32(2**32 - 1)):
            same(random.PRNGKey(seed), jax.random.PRNGKey(seed), f"a seed {seed!r}")
        for number in (True, 0, 2**32 - 1, np.int64(-5), np.uint8(200)):
            expected = jax.random.fold_in(jax.random.key(1), number)
            same(random.fold_in(random.key(1), number), expected, f"a number {number!r}")


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: random.key(0.5), TypeError, "integer seed"),
        (lambda: random.key(np.arange(2)), ValueError, "vmap"),
        (lambda: random.key(1 << 70), OverflowError, "64 bits"),
        (lambda: random.key(0, impl="mersenne"), ValueError, "mersenne"),
        (lambda: random.split(random.split(random.key(0))), ValueError, "one key"),
        (lambda: random.split(3), TypeError, "random keys"),
        (lambda: random.split(np.zeros(3, "uint32")), TypeError, "random keys"),
        (lambda: random.bits(random.key(0), (2,), "int32"), ValueError, "unsigned"),
        (lambda: random.bits(random.key(0), (2.5,)), TypeError, "integers"),
        (lambda: random.normal(random.key(0), 2.5), TypeError, "sequence of integers"),
        (lambda: random.fold_in(random.key(0), np.arange(2)), TypeError, "one number"),
        (lambda: random.fold_in(random.key(0), -1), OverflowError, "2\\*\\*32"),
        (lambda: random.fold_in(random.key(0), 1 << 32), OverflowError, "2\\*\\*32"),
        (lambda: random.wrap_key_data(np.zeros(3, "uint32")), TypeError, "key data"),
        (lambda: random.wrap_key_data(np.zeros(2, "int32")), TypeError, "uint32"),
        (lambda: random.normal(random.split(random.key(0))), ValueError, "one key"),
    ],
)
def test_bad_arguments(call, error, words):
    with using("numpy"), pytest.raises(error, match=words):
        call()


# --- XLA's generators of bits, and the keys that draw by them: JAX's numbers on both backends ---


IMPLEMENTATIONS = pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
# The counter is about to carry into its upper half, and beyond.
STATE = np.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)
# Algorithm -> shapes: where words are paired, with dimensions of even size first and last, and of odd sizes alone.
OF_ALGORITHM = {0: [(3, 5)], 1: [(), (3,), (2, 5), (3, 2), (3, 5), (5, 3)], 2: [(), (3, 2)]}


@ON_BOTH
@pytest.mark.parametrize("algorithm", OF_ALGORITHM, ids=["default", "threefry", "philox"])
def test_bits_and_states(backend, algorithm):
    jax = reference()
    with using(backend):
        drawn = [(shape, "uint32") for shape in OF_ALGORITHM[algorithm]] + [((4,), "uint8"), ((5,), "uint16")][
            algorithm:
        ]
        for shape, dtype in drawn:
            theirs = jax.lax.rng_bit_generator(STATE, shape, dtype, jax.lax.RandomAlgorithm(algorithm))
            for one, other in zip(lax.rng_bit_generator(STATE, shape, dtype, algorithm), theirs):
                same(one, other)
        _, none = lax.rng_bit_generator(STATE, (0, 3), algorithm=algorithm)
        assert none.shape == (0, 3)


@ON_BOTH
@pytest.mark.parametrize("algorithm", [0, 1], ids=["default", "threefry"])
def test_generator_wide_bits(backend, algorithm):
    jax = reference()
    with using(backend, x64=True):
        wide = STATE.view(np.uint64)
        for state in (STATE, wide):
            theirs = jax.lax.rng_bit_generator(state, (3, 5), "uint64", jax.lax.RandomAlgorithm(algorithm))
            for one, other in zip(lax.rng_bit_generator(state, (3, 5), "uint64", algorithm), theirs):
                same(one, other)


@ON_BOTH
def test_mapped_states_draw_each_for_itself(backend):
    states = np.stack([STATE, STATE + np.uint32(5)])
    with using(backend):
        found = tangrad.jit(tangrad.vmap(lambda state: lax.rng_bit_generator(state, (3, 5))))(states)
        for row, state in enumerate(states):
            for one, other in zip(lax.rng_bit_generator(state, (3, 5)), found):
                same(one, other[row])


@pytest.mark.parametrize(
    "state, dtype, error",
    [
        (STATE[:3], "uint32", TypeError),
        (STATE.astype(np.int32), "uint32", TypeError),
        (STATE, "int32", TypeError),
        (STATE, "float32", TypeError),
    ],
)
def test_bad_input(state, dtype, error):
    with pytest.raises(error, match="rng_bit_generator"):
        lax.rng_bit_generator(state, (3,), dtype)
    with pytest.raises(ValueError, match="7"):
        lax.rng_bit_generator(STATE, (3,), algorithm=7)


# --- keys ----------------------------------------------------------------------------------------------------------


@ON_BOTH
@IMPLEMENTATIONS
def test_keys(backend, impl):
    jax = reference()
    with using(backend):
        for seed in (0, 7, -1):
            key, theirs = random.key(seed, impl=impl), jax.random.key(seed, impl=impl)
            assert str(key.dtype) == str(theirs.dtype) and random.key_impl(key) == impl
            same(random.key_data(key), jax.random.key_data(theirs))
            same(random.key_data(random.split(key, (2, 3))), jax.random.key_data(jax.random.split(theirs, (2, 3))))
            same(random.key_data(random.fold_in(key, 5)), jax.random.key_data(jax.random.fold_in(theirs, 5)))
        same(random.PRNGKey(3, impl=impl), jax.random.PRNGKey(3, impl=impl))
        same(random.key_data(random.wrap_key_data(STATE, impl=impl)), STATE)


@ON_BOTH
@IMPLEMENTATIONS
def test_draws(backend, impl):
    """Both draw alike; what is made of bits is the same program for every generator."""
    jax = reference()
    with using(backend):
        key, theirs = random.key(7, impl=impl), jax.random.key(7, impl=impl)
        for dtype in ("uint8", "uint32")[impl == "rbg" :]:
            same(random.bits(key, (3, 5), dtype), jax.random.bits(theirs, (3, 5), dtype))
        np.testing.assert_allclose(random.normal(key, (4,)), jax.random.normal(theirs, (4,)), rtol=1e-6)


@ON_BOTH
@IMPLEMENTATIONS
def test_arrays_of_keys_draw_each_for_itself(backend, impl):
    """In JAX all of a mapped array of such keys draw from the first one."""
    with using(backend):
        keys = random.split(random.key(7, impl=impl), 3)
        drawn = tangrad.vmap(lambda key: random.bits(key, (2, 3)))(keys)
        folded = tangrad.vmap(random.fold_in, (0, 0))(keys, np.arange(3))
        for row in range(3):
            same(drawn[row], random.bits(keys[row], (2, 3)))
            same(random.key_data(folded[row]), random.key_data(random.fold_in(keys[row], row)))


def test_the_generator_of_keys_is_a_setting():
    with tangrad.default_prng_impl("rbg"):
        assert random.key(0).dtype == random.key_dtype("rbg")
        assert random.split(random.PRNGKey(0)).shape == (2, 4)
    assert random.key(0).dtype == random.key_dtype("threefry2x32")
    with pytest.raises(ValueError, match="there are: 'threefry2x32', 'rbg', 'unsafe_rbg'"):
        random.key(0, impl="lcg")


# --- vectors -------------------------------------------------------------------------------------------------------


@ON_BOTH
@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_normal_vectors_by_each_method(backend, method):
    jax = reference()
    mean = np.array([1.0, 2.0, 3.0], np.float32)
    root = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 0.3, 3.0]], np.float32)
    cov = root @ root.T
    with using(backend):
        found = random.multivariate_normal(random.key(0), mean, cov, (2,), method=method)
        theirs = jax.random.multivariate_normal(jax.random.key(0), mean, cov, (2,), method=method)
        np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-5)
        if backend == "xla":
            return
        draw = lambda r, c: r.multivariate_normal(r.key(0), mean, c, (2,), method=method).sum()
        gradient = tangrad.grad(lambda c: draw(random, c))(cov)
        np.testing.assert_allclose(gradient, jax.grad(lambda c: draw(jax.random, c))(cov), rtol=1e-3, atol=1e-4)


def test_semidefinite_covariances_have_two_methods():
    flat = np.ones((2, 2), np.float32)
    for method in ("svd", "eigh"):
        drawn = random.multivariate_normal(random.key(0), np.zeros(2, np.float32), flat, (5,), method=method)
        np.testing.assert_allclose(drawn[:, 0], drawn[:, 1], rtol=1e-2, atol=1e-3)
    with pytest.raises(ValueError, match="'cholesky', 'svd' or 'eigh'"):
        random.multivariate_normal(random.key(0), np.zeros(2), flat, method="lu")


def within_a_derivatives_function(key, shape):
    function = tangrad.custom_jvp(lambda key, x: random.normal(key, shape) * x)
    function.defjvp(lambda primals, tangents: (function(*primals), function(*primals)))
    return function(key, np.float32(2.0))


DRAWS = {
    "bits": lambda key, shape: random.bits(key, shape),
    "normal": lambda key, shape: random.normal(key, shape),
    "bernoulli in a loop": lambda key, shape: lax.fori_loop(
        0, 2, lambda i, kept: kept ^ random.bernoulli(random.fold_in(key, i), 0.3, shape), np.zeros(shape, bool)
    ),
    "a mask within jit": lambda key, shape: tangrad.jit(
        lambda key, x: lax.select(random.bernoulli(key, 0.5, shape), x * 2, -x)
    )(key, lax.iota("float32", shape[0]).reshape(shape) if len(shape) == 1 else np.ones(shape, "float32")),
    "two that are read": lambda key, shape: (random.uniform(key, shape), random.uniform(key, shape).sum()),
    "integers": lambda key, shape: random.randint(key, shape, 0, 1000),
    "within a function with a derivative": within_a_derivatives_function,
    "keys": lambda key, shape: random.key_data(random.split(key, shape)),
}


UNEVEN = [(4099,), (12001,)]


@pytest.mark.parametrize("shape", [*UNEVEN, (1, 5001), (2051, 3), (3, 1501), (4096,)], ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_that_threads_share_unevenly_are_the_same_numbers(name, shape, monkeypatch):
    """Programs for one thread are as they were written; those for two draw an even part and the rest."""
    executable = pytest.importorskip("tangrad._backend_xla.executable")
    found, texts = [], []
    for count in (1, 2, 7):
        monkeypatch.setattr(executable, "processors", lambda count=count: count)
        tangrad.clear_caches()
        with using("xla"):
            lowered = tangrad.jit(lambda key: DRAWS[name](key, shape)).lower(random.key(7))
            found.append([np.asarray(leaf) for leaf in tangrad.tree.leaves(lowered.compile()(random.key(7)))])
        texts.append(lowered.as_text())
    for leaves in found[1:]:
        for leaf, as_written in zip(leaves, found[0], strict=True):
            assert leaf.dtype == as_written.dtype
            # Sums of floating-point numbers depend on the loop that they are in.
            np.testing.assert_allclose(leaf, as_written, rtol=1e-5 if "read" in name else 0)
    if name in ("bits", "normal", "within a function with a derivative"):
        assert ("stablehlo.concatenate" in texts[1]) == (shape in UNEVEN)
        assert "stablehlo.concatenate" not in texts[0]


def rows(drawn):
    return [row.sum() * i for i, row in enumerate(drawn)]


def scaled_and_cut(key, x):
    noise = (random.normal(key, (64, 32)) * x).reshape(32, 64).T
    return [noise[4 * i : 4 * i + 8].sum(axis=1) for i in range(12)], noise.max()


def two_of_one_draw(key, x):
    first, second = threefry2x32_p.bind(*[random.bits(k, (2048,)) for k in random.split(key, 4)])
    joined = (first + random.bits(key, (2048,))) ^ second
    return [rows(each.reshape(9, -1)) for each in (first[:2043], joined[:2043])]


SLICED = {
    "two of one draw": two_of_one_draw,
    "rows": lambda key, x: rows(random.uniform(key, (40, 64))),
    "by splits of slices": lambda key, x: [part[0].T + 1 for part in random.bernoulli(key, 0.4, (100, 6, 7))],
    "of a constant key": lambda key, x: rows(random.laplace(random.key(3), (16, 80)) + x),
    "scaled and cut": scaled_and_cut,
    "within jit": lambda key, x: tangrad.jit(lambda k: rows(random.gumbel(k, (9, 128))))(key),
    "within a loop": lambda key, x: lax.scan(
        lambda kept, k: (kept + sum(rows(random.normal(k, (10, 128)))), x), x, random.split(key, 3)
    )[0],
    "mapped": lambda key, x: tangrad.vmap(lambda k: rows(random.randint(k, (8, 130), 0, 9)))(random.split(key, 2)),
    "differentiated": lambda key, x: tangrad.grad(lambda x: sum(rows(random.exponential(key, (8, 128)) * x)))(x),
    "an extended key alone": lambda key, x: rows(random.key_data(random.split(key, (8, 128))).astype("float32")),
}


@pytest.mark.parametrize("name", SLICED)
def test_draws_that_many_equations_read_are_computed_once_and_are_the_same_numbers(name, monkeypatch):
    executable = pytest.importorskip("tangrad._backend_xla.executable")
    with_kept_draws = executable.with_kept_draws
    key, x = random.key(7), np.float32(0.5)
    with using("xla"):
        program = with_kept_draws(tangrad.make_jaxpr(SLICED[name])(key, x))
        check_jaxpr(program.jaxpr)
        assert "= cond[" in str(program)
        kept = tangrad.jit(SLICED[name]).lower(key, x).compile()
        monkeypatch.setattr(executable, "with_kept_draws", lambda closed: closed)
        tangrad.clear_caches()
        as_written = tangrad.jit(SLICED[name]).lower(key, x).compile()
        found, expected = [tangrad.tree.leaves(each(key, x)) for each in (kept, as_written)]
    for leaf, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(leaf, other, rtol=1e-5)  # sums depend on the loop that they are in
    if name in ("rows", "scaled and cut"):
        assert [each.as_text().count("constant(466688986)") > 8 for each in (kept, as_written)] == [False, True]


def test_draws_that_few_equations_read_are_part_of_their_loops():
    with_kept_draws = pytest.importorskip("tangrad._backend_xla.kept_draws").with_kept_draws
    for shape in ((7, 256), (40, 2)):
        drawn = tangrad.make_jaxpr(lambda key, shape=shape: rows(random.normal(key, shape)))(random.key(0))
        assert with_kept_draws(drawn) is drawn
