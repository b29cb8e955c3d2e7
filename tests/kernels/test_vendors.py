"""Libraries by others: oneMKL and oneDNN, where they are installed, give what the backends give."""

import ctypes
import itertools
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import numpy
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.core import ShapedArray, register
from tangrad.core.tools import check_jaxpr
from tangrad.extend.fft import fft_p
from tests.kernels.test_library import printed

INSTALL = "`make libraries` installs it"


@pytest.fixture
def libraries(rule_sets):
    """A context in which the libraries are lowerings, of both backends."""
    from tangrad._kernels import on_numpy, on_xla_cpu, vendor_jobs, vendors

    for name in ("mkl", "onednn"):
        if not vendors.is_here(name):
            pytest.skip(f"{name} is not installed: {INSTALL}")
    jobs = {**vendor_jobs.LINALG, **vendor_jobs.WINDOWS, fft_p: vendor_jobs.fft}
    spectra = {each: on_numpy.in_double(each, job) for each, job in vendor_jobs.SPECTRA.items()}
    products = {each: on_numpy.several_products(job) for each, job in vendor_jobs.CONTRACTIONS.items()}
    made = [
        on_numpy.rule_set(jobs, {**spectra, **products}),
        on_xla_cpu.rule_set({**jobs, **vendor_jobs.SPECTRA}),
        on_xla_cpu.product_rules(),
        on_xla_cpu.transpose_rules(),
        on_numpy.rule_set({**vendor_jobs.VECTORS["numpy"], **vendor_jobs.SPECIAL["numpy"]}),
        on_xla_cpu.rule_set({**vendor_jobs.VECTORS["xla"], **vendor_jobs.SPECIAL["xla"]}),
    ]

    @contextmanager
    def use():
        with ExitStack() as stack:
            for rules in made:
                stack.enter_context(register(rules))
            yield

    return use


def draw(*shape, dtype="float32", seed=0):
    return numpy.random.default_rng(seed).normal(size=shape).astype(dtype)


def both(libraries, function, *arguments, kernel=None):
    """What a function gives with the libraries and without; with them XLA's program calls the kernel."""
    arguments = tangrad.tree.map(np.asarray, arguments)
    with libraries():
        program = tangrad.jit(lambda *xs: function(*xs))
        ours = program(*arguments)
        if kernel is not None and tangrad.core.get_backend().name == "xla":
            assert f"tangrad_kernels.{kernel}" in program.lower(*arguments).as_text()
    before = tangrad.jit(lambda *xs: function(*xs))(*arguments)
    return [tangrad.tree.map(numpy.asarray, each) for each in (ours, before)]


def assert_close(ours, before, tolerance):
    for found, expected in zip(tangrad.tree.leaves(ours), tangrad.tree.leaves(before), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        scale = numpy.abs(expected).max(initial=0, where=numpy.isfinite(expected))
        numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


# --- products ---------------------------------------------------------------------------------------------------------

PRODUCTS = [
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ki", "bij,bjk->bik", "bij,bkj->bki", "bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk",
    "ijk,jkl->il", "bti,io->bto", "bti,bto->io", "abij,abjk->abki", "ijk,lk->ijl", "kij,kl->ijl", "ik,jkl->jil",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("equation", PRODUCTS)
def test_products_and_their_gradients(backend, libraries, equation, dtype):
    sizes = {letter: 2 + place % 2 if letter in "abh" else 100 + place for place, letter in enumerate("abhijkloqdt")}
    first, second = [
        draw(*[sizes[letter] for letter in letters], dtype=dtype, seed=seed)
        for seed, letters in enumerate(equation.split("->")[0].split(","))
    ]
    contract = lambda x, y: np.einsum(equation, x, y)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    assert_close(*both(libraries, contract, first, second, kernel="product"), tolerance)
    loss = lambda x, y: np.sum(np.sin(contract(x, y) / 30))
    assert_close(*both(libraries, tangrad.grad(loss, (0, 1)), first, second, kernel="product"), 3 * tolerance)
    mapped = tangrad.vmap(contract, (0, None))
    assert_close(*both(libraries, mapped, numpy.stack([first, -first]), second, kernel="product"), tolerance)


def test_transposes_are_part_of_products(libraries):
    pytest.importorskip("jaxlib", reason="products are replaced on XLA")
    weights, x = [draw(256, 256, seed=seed) / 16 for seed in range(3)], draw(128, 256)

    def loss(weights, x):
        for weight in weights:
            x = np.tanh(x @ weight)
        return (x**2).sum()

    with tangrad.use_backend("xla"), libraries():
        text = tangrad.jit(tangrad.grad(loss)).lower(weights, x).compile().as_text()
    assert text.count('custom_call_target="tangrad_kernels.product"') == 8
    assert " transpose(" not in text and " dot(" not in text


def test_several_products_on_numpy(libraries):
    """What is transposed before is read where it is; one product, small ones and those of integers are NumPy's."""
    x, y = draw(8, 128, 8, 32), draw(8, 32, 8, 70, seed=1)
    turn = lambda x: x.transpose(0, 2, 1, 3)
    function = lambda x, y: turn(x) @ turn(y)
    (ours, before), text = both(libraries, function, x, y), lambda f, *xs: tangrad.jit(f).lower(*xs).compile().as_text()
    assert_close(ours, before, 1e-6)
    with tangrad.use_backend("numpy"), libraries():
        assert_close(tangrad.jit(function)(x, y), before, 1e-6)
        assert "products(a0, a1)" in text(function, x, y) and "transpose" not in text(function, x, y)
        assert "products(" in text(lambda x: tangrad.vmap(lambda w: w @ w.T)(x), draw(60, 60, 60))
        for one in (lambda x, y: x[:, :, 0] @ y[0, :, 0], lambda x, y: turn(x)[:, :, :5] @ turn(y)[..., :5]):
            assert "products(" not in text(one, x, y)
        assert "products(" not in text(function, x.astype(int), y.astype(int))
        assert "products(" not in text(lambda x: x[:, None] @ np.broadcast_to(x[0], (6, 140, 140)), draw(6, 140, 140))
        assert "products(" not in text(lambda x: x @ x, draw(10, 60, 60)), "few multiplications"
        assert "products(" not in text(lambda x: x @ x, draw(400, 30, 30)), "few of each"
        assert "products(" not in text(lambda x: x @ x, draw(2, 200, 200)), "few matrices"


def test_products_read_and_write_matrices_where_they_are(libraries):
    pytest.importorskip("jaxlib", reason="products are replaced on XLA")
    heads = [draw(4, 64, 8, 32, seed=seed) for seed in range(3)]

    def attend(query, key, value):
        weights = tangrad.nn.softmax(np.einsum("bqhd,bkhd->bhqk", query, key))
        return np.einsum("bhqk,bkhd->bqhd", weights, value)

    with tangrad.use_backend("xla"), libraries():
        text = tangrad.jit(attend).lower(*heads).compile().as_text()
        assert text.count('custom_call_target="tangrad_kernels.product"') == 2
        assert " transpose(" not in text and " copy(" not in text
    with tangrad.use_backend("xla"):
        assert_close(*both(libraries, attend, *heads), 1e-5)


def test_products_that_are_left_to_xla(libraries):
    pytest.importorskip("jaxlib", reason="products are replaced on XLA")
    x = np.ones((256, 256), "float32")
    programs = {
        "small": (lambda x: x[:8] @ x, x),
        "an algorithm": (lambda x: lax.dot(x, x, precision="F32_F32_F32"), x),
        "another dtype": (lambda x: x @ x, x.astype("bfloat16")),
        "a wider result": (lambda x: lax.dot(x, x, preferred_element_type="float32"), x.astype("bfloat16")),
        "sums over what is apart": (lambda x: np.einsum("ibk,ijb->kj", x, x), np.ones((64, 64, 64), "float32")),
    }
    with tangrad.use_backend("xla"), libraries():
        for name, (program, x) in programs.items():
            assert "tangrad_kernels" not in tangrad.jit(program).lower(x).as_text(), name


# --- products and what is computed of them ----------------------------------------------------------------------------


@pytest.fixture
def everything(libraries, kernels):
    """A context in which the libraries are lowerings, and the pass that makes one call of many equations is there."""

    @contextmanager
    def use():
        with kernels(), libraries():
            yield

    return use


def attention(scores, values, scale=None):
    def attend(query, key, value):
        logits = np.einsum(scores, query, key)
        logits = logits / 5.5 if scale is None else logits * scale(query)
        exp = np.exp(logits - logits.max(-1, keepdims=True)) if query.dtype == "float32" else np.abs(logits)
        weights = exp / exp.sum(-1, keepdims=True) if scale is not None else tangrad.nn.softmax(logits)
        return np.einsum(values, weights, value)

    return attend


def attention_of(given, **options):
    return tangrad.nn.dot_product_attention(*given, **options)


ATTENTIONS = {
    "the function's": (lambda *given: attention_of(given), (3, 65, 4, 37), (3, 70, 4, 37)),
    "heads first": (attention("bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd"), (3, 4, 65, 37), (3, 4, 70, 37)),
    "heads last": (attention("bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd"), (3, 65, 4, 37), (3, 70, 4, 37)),
    "one dimension": (attention("bqd,bkd->bqk", "bqk,bkd->bqd", lambda x: 0.3), (9, 64, 32), (9, 64, 32)),
    "scaled by a number": (attention("bqd,bkd->bqk", "bqk,bkd->bqd", lambda x: x[0, 0, 0]), (9, 64, 32), (9, 80, 32)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_is_one_call(backend, everything, name, dtype):
    attend, query, key = ATTENTIONS[name]
    given = [draw(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate((query, key, key))]
    outside = draw(*query, dtype=dtype, seed=3)
    loss = lambda *given: np.sum(attend(*given) * outside)
    gradient = tangrad.grad(loss, (0, 1, 2))
    twice = tangrad.grad(lambda *given: np.sum(gradient(*given)[1] ** 2), 0)
    in_single = dtype == "float32" or name == "the function's"  # whose softmax is
    tolerance = 2e-5 if in_single else 1e-10
    for function in (attend, gradient, tangrad.vmap(attend), twice):
        arguments = [x[None] for x in given] if function not in (attend, gradient, twice) else given
        assert_close(*both(everything, function, *arguments), tolerance)
    if dtype == "float32":
        assert_calls(backend, everything, attend, given, 1)
        assert_calls(backend, everything, gradient, given, 1)


def assert_calls(backend, use, function, given, count):
    """How often a program calls the kernel for matrices."""
    with use():
        lowered = tangrad.jit(lambda *xs: function(*xs)).lower(*given)
        text = lowered.as_text() if backend == "xla" else lowered.compile().as_text()
    assert text.count("@tangrad_kernels.matrices(" if backend == "xla" else "matrices(") == count


def test_attention_writes_its_result_transposed(everything):
    pytest.importorskip("jaxlib", reason="XLA's programs are looked into")
    attend = ATTENTIONS["heads last"][0]
    split = lambda x: x.reshape(3, 64, 4, 32).transpose(0, 2, 1, 3)
    before = lambda *given: attention("bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd")(*map(split, given)).transpose(0, 2, 1, 3)
    with tangrad.use_backend("xla"):
        for function, shape in ((attend, (3, 64, 4, 32)), (before, (3, 64, 128))):
            given = [draw(*shape, seed=seed) for seed in range(3)]
            assert_close(*both(everything, function, *given), 1e-5)
            with everything():
                text = tangrad.jit(lambda *xs, run=function: run(*xs)).lower(*given).compile().as_text()
            assert "tangrad_kernels.matrices" in text and " transpose(" not in text and " copy(" not in text


def test_matrices_that_are_left_as_they_are(backend, everything):
    """Few matrices, large ones, products that have nothing to do with each other, sizes and dtypes of others."""
    attend = ATTENTIONS["one dimension"][0]
    same = lambda *shape, dtype="float32": [draw(*shape, dtype=dtype)] * 3
    for operands in (same(4, 64, 32), same(9, 8, 8), same(8, 2050, 16)):
        assert_calls(backend, everything, attend, operands, 0)
    apart = lambda x, y, z: (np.einsum("bqd,bkd->bqk", x, y), np.einsum("bqd,bke->bqke", z, x[:, :3]).sum())
    assert_calls(backend, everything, apart, same(9, 64, 32), 0)
    assert_calls(backend, everything, lambda *x: np.sort(attend(*x)), [x.astype("int32") for x in same(9, 64, 32)], 0)


MASKS = {
    "causal": (65, 70),
    "of keys": (4, 1, 1, 70),
    "of a head": (4, 65, 70),
    "of a batch": (4, 1, 65, 70),
    "of all": (4, 4, 65, 70),
    "of queries": (4, 1, 65, 1),
    "of matrices": (4, 4, 1, 1),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_are_read_where_they_are(backend, everything, name):
    """Of bytes, which select, and numbers that are added: each matrix reads its own, or what it has in common."""
    given = [draw(*shape, seed=seed) for seed, shape in enumerate([(4, 4, 65, 32), (4, 4, 70, 32), (4, 4, 70, 32)])]
    added, outside = draw(*MASKS[name], seed=3), draw(4, 4, 65, 32, seed=4)
    mask = numpy.tri(65, 70, dtype=bool) if name == "causal" else added > -1

    def attend(query, key, value, mask):
        logits = np.einsum("bhqd,bhkd->bhqk", query, key) / 5.5
        logits = logits + mask if mask.dtype == "float32" else np.where(mask, logits, -1e9)
        return np.einsum("bhqk,bhkd->bhqd", tangrad.nn.softmax(logits), value)

    loss = lambda *given: np.sum(attend(*given) * outside)
    gradient = tangrad.grad(loss, (0, 1, 2))
    twice = tangrad.grad(lambda *given: np.sum(gradient(*given)[1] ** 2), 0)
    along = lambda *given: tangrad.jvp(lambda *xs: attend(*xs, given[3]), given[:3], given[:3])
    mapped = lambda *given: tangrad.vmap(attend, (0, 0, 0, None))(*[np.stack([x, x * 2]) for x in given[:3]], given[3])
    for each in (mask, added):
        for function in (attend, gradient, twice, along, mapped):
            assert_close(*both(everything, function, *given, each), 5e-5)
        if each is added or name not in ("of queries", "of matrices"):  # bytes of rows, or of matrices, are spread
            assert_calls(backend, everything, attend, [*given, each], 1)
            assert_calls(backend, everything, gradient, [*given, each], 1)
    hidden = lambda *given: np.sum(attention_of(given, is_causal=True))
    assert_calls(backend, everything, tangrad.grad(hidden, (0, 1, 2)), [draw(3, 64, 4, 32)] * 3, 1)


def test_what_is_spread_in_two_ways_over_matrices(backend, everything):
    """One array, by the first dimension of matrices and by the second: both are of columns."""
    x, y, shift = draw(4, 4, 64, 64), draw(4, 4, 64, 64, seed=1), draw(4, 64, seed=2)

    def function(x, y, shift):
        scores = np.einsum("bhij,bhkj->bhik", x, y) + shift[:, None, None] + shift[None, :, None]
        return np.einsum("bhik,bhkj->bhij", tangrad.nn.softmax(scores), y)

    assert_close(*both(everything, function, x, y, shift), 2e-5)


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_attention_of_what_is_not_finite(backend, everything, value):
    """It stays in the rows and matrices that it is in."""
    attend, query, key = ATTENTIONS["heads first"]
    given = [draw(*shape, seed=seed) for seed, shape in enumerate((query, key, key))]
    given[0][1, 2, 3, 4] = value
    ours, before = both(everything, attend, *given)
    assert numpy.array_equal(numpy.isnan(ours), numpy.isnan(before))
    assert numpy.isnan(ours).any(-1).sum() == 1
    good = ~numpy.isnan(before)
    numpy.testing.assert_allclose(ours[good], before[good], rtol=1e-4, atol=1e-5)


def masked(query, key, value, mask):
    return np.einsum("bqk,bkd->bqd", tangrad.nn.softmax(np.einsum("bqd,bkd->bqk", query, key) * 0.2 + mask), value)


def in_layers(query, key, value, mask):
    """Three layers, each a step of a loop that is computed again for the gradient."""
    layer = tangrad.checkpoint(lambda x, _: (masked(x, key, value, mask), None))
    return lax.scan(layer, query, None, 3)[0]


def on_shards(query, key, value, mask):
    mesh = tangrad.sharding.Mesh(tangrad.devices()[:1], ("x",))
    spec = tangrad.sharding.PartitionSpec("x")
    return tangrad.shard_map(masked, mesh=mesh, in_specs=(spec,) * 4, out_specs=spec)(query, key, value, mask)


@pytest.mark.parametrize("function", [masked, in_layers, on_shards])
def test_attention_under_transformations(backend, everything, function):
    """With a mask that is added, also one that leaves nothing of a row, as a whole, in a loop, on shards of a mesh."""
    rows, columns = 65, 70 if function is masked else 65
    given = [draw(8, rows, 32), draw(8, columns, 32, seed=1), draw(8, columns, 32, seed=2)]
    mask = numpy.where(numpy.tri(rows, columns, 3), 0, -numpy.inf).astype("float32")
    mask = numpy.repeat(mask[None], 8, 0)
    loss = lambda *given: np.sum(function(*given) ** 2)
    gradient = tangrad.grad(loss, (0, 1, 2))
    along = lambda *given: tangrad.jvp(lambda *xs: function(*xs, given[3]), given[:3], given[:3])
    twice = lambda *given: [np.stack([x, x * 2]) for x in given]
    mapped = lambda *given: tangrad.vmap(function, (0, 0, 0, None))(*twice(*given[:3]), given[3])
    for each in (function, gradient, along, mapped):
        assert_close(*both(everything, each, *given, mask), 2e-5)
    if function is masked:
        mask[1, 2] = -numpy.inf
        ours, before = both(everything, masked, *given, mask)
        numpy.testing.assert_array_equal(numpy.isnan(ours), numpy.isnan(before))
        assert numpy.isnan(ours).any(-1).sum() == 1
    if function is not on_shards:  # their programs are not looked into
        assert_has_calls(everything, function, *given, mask)


def assert_has_calls(use, function, *given):
    from tangrad._kernels.matrix_programs import MATRICES, with_calls

    with use():
        assert MATRICES in str(with_calls(tangrad.make_jaxpr(function)(*given), "numpy"))


def product_program(seed):
    """A program of products of matrices, what is computed of them, and steps of other kinds between."""
    draws = numpy.random.default_rng(seed)
    kinds = draws.integers(0, 11, 14)
    mask = draws.random((64, 64)) > 0.3
    places = draws.integers(0, 1 << 30, (14, 2))

    def program(x, y):
        wide, rows = [x, y], [x.sum(-1)]
        pick = lambda values, place: values[place % len(values)]
        for kind, (first, second) in zip(kinds, places, strict=True):
            a, b = pick(wide, first), pick(wide, second)
            if kind < 3:
                wide.append(np.einsum(("bij,bjk->bik", "bij,bkj->bik", "bji,bjk->bik")[kind], a, b) / 64)
            elif kind == 3:
                wide.append(tangrad.nn.softmax(a + pick(rows, second)[..., None]))
            elif kind == 4:
                rows.append((a * b).sum(-1) / 64)
            elif kind == 5:
                wide.append(np.tanh(a - b * 0.5))
            elif kind == 6:
                wide.append(a.swapaxes(1, 2) + pick(rows, second)[:, None])
            elif kind == 7:
                wide.append(np.cumsum(a, 1) / 64)
            elif kind == 8:
                wide.append(np.where((mask, mask[0], mask[:, :1], mask[None].repeat(8, 0))[first % 4], a, b))
            elif kind == 9:
                wide.append(np.where(mask, a + y[0], -1.0) * x[:, 0, 0][:, None, None])
            else:
                wide.append(a * a.max(-1, keepdims=True) + b[0])
        return wide[-1], wide[-2], rows[-1], pick(wide, places[0][0])

    loss = lambda x, y: np.sum(program(x, y)[0] ** 2) + np.sum(program(x, y)[2])
    return [program, tangrad.grad(loss, (0, 1))][seed % 2]


@pytest.mark.parametrize("seed", range(16))
def test_mixed_programs_of_matrices(everything, seed):
    """Whatever is between products, equations keep what they read before them."""
    from tangrad._kernels.matrix_programs import MATRICES, with_calls

    program, given = product_program(seed), [draw(8, 64, 64, seed=1) / 4, draw(8, 64, 64, seed=2) / 4]
    with tangrad.use_backend("numpy"), tangrad.enable_x64(True):
        closed = tangrad.make_jaxpr(lambda *given: program(*given))(*given)
        wide = [x.astype("float64") for x in given]
        exact = tangrad.make_jaxpr(lambda *given: program(*given))(*wide)
        expected = tangrad.core.eval_jaxpr(exact.jaxpr, exact.consts, *wide)
        with everything():
            found = with_calls(closed, "xla") or closed
            check_jaxpr(found.jaxpr)
            calls = [eqn.params["attributes"] for eqn in found.eqns if eqn.params.get("name") == MATRICES]
            again = tangrad.make_jaxpr(lambda *given: program(*given))(*given)
            again = with_calls(again, "xla") or again
            assert calls == [eqn.params["attributes"] for eqn in again.eqns if eqn.params.get("name") == MATRICES]
            results = tangrad.core.eval_jaxpr(found.jaxpr, found.consts, *given)
    assert_close(results, [numpy.asarray(x, "float32") for x in expected], 1e-4)


# --- factors, transforms ----------------------------------------------------------------------------------------------


def positive(*shape, dtype):
    x = draw(*shape, dtype=dtype)
    return x @ x.swapaxes(-1, -2) + shape[-1] * numpy.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(200, 200), (5, 64, 64), (2, 3, 53, 53)])
def test_factors_of_symmetric_matrices(backend, libraries, shape, dtype):
    tolerance = 3e-5 if dtype == "float32" else 1e-11
    x = positive(*shape, dtype=dtype)
    assert_close(*both(libraries, np.linalg.cholesky, x, kernel="cholesky"), tolerance)
    for lower in ("L", "U"):
        solve = lambda x, lower=lower: np.linalg.eigh(x, UPLO=lower, symmetrize_input=False)
        (values, vectors), (expected, _) = both(libraries, solve, x, kernel="eigh")
        assert_close(values, expected, tolerance)
        assert_close(x @ vectors, vectors * values[..., None, :], tolerance)
        assert_close(
            vectors.swapaxes(-1, -2) @ vectors, numpy.broadcast_to(numpy.eye(shape[-1], dtype=dtype), shape), tolerance
        )
    gradient = tangrad.grad(lambda x: np.sum(np.log(np.linalg.eigvalsh(x))))
    assert_close(*both(libraries, gradient, x), 30 * tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(512, 512), (2, 650, 650), (8, 520, 520), (1030, 1030)])
def test_factors_of_large_matrices(backend, libraries, shape, dtype):
    """Tile by tile, the last ones smaller; of the mean with the transpose, and of what is there."""
    x, more = positive(*shape, dtype=dtype), numpy.triu(draw(*shape[-2:], dtype=dtype), 1)
    tolerance = 3e-5 if dtype == "float32" else 1e-11
    assert_close(*both(libraries, np.linalg.cholesky, x + more - more.T, kernel="cholesky"), tolerance)
    as_it_is = lambda x: lax.linalg.cholesky(x, symmetrize_input=False)
    ours, before = both(libraries, as_it_is, x + more, kernel="cholesky")
    assert_close(ours, before, tolerance)
    assert not numpy.triu(ours, 1).any()


def test_only_means_with_the_transpose_are_found_by_the_kernel(libraries):
    pytest.importorskip("jaxlib", reason="only XLA's programs are texts")
    turned, x = lambda x: x.swapaxes(-1, -2), positive(64, 64, 64, dtype="float32")
    means = {
        "the mean": lambda x: (x + turned(x)) / 2,
        "thirds": lambda x: (x + turned(x)) / 3,
        "of another": lambda x: (x + turned(x + 1)) / 2,
        "of itself": lambda x: (x + x) / 2,
        "divided by a matrix": lambda x: (x + turned(x)) / (x * x + 1),
        "of other axes": lambda x: (x + x.transpose(1, 0, 2)) / 2,
    }
    for name, mean in means.items():
        program = tangrad.jit(lambda x, mean=mean: lax.linalg.cholesky(mean(x), symmetrize_input=False))
        with tangrad.use_backend("xla"), libraries():
            assert ("64, 64, 1]>" in program.lower(x).as_text()) == (name == "the mean"), name
            found = numpy.asarray(program(x))
        with tangrad.use_backend("xla"):
            expected = numpy.asarray(tangrad.jit(lambda x, mean=mean: np.tril(lax.linalg.cholesky(mean(x))))(x))
        if name in ("the mean", "thirds", "of itself"):
            assert_close(found, expected, 3e-5)


SYSTEMS = [
    ((200, 200), 1), ((64, 64), 3), ((5, 33, 33), 40), ((2, 3, 16, 16), 7), ((130, 130), 200), ((40, 40), 700),
    ((3, 60, 60), 0), ((70, 20, 20), 4),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "sides"), SYSTEMS)
def test_triangular_systems(backend, libraries, shape, sides, dtype):
    """The other triangle, and a diagonal that is taken for 1, hold what would show."""
    a = draw(*shape, dtype=dtype) / 3 + 4 * numpy.sqrt(shape[-1]).astype(dtype) * numpy.eye(shape[-1], dtype=dtype)
    for left, lower, turned, unit in itertools.product((True, False), repeat=4):
        if unit:
            a = a / shape[-1]
        b = draw(*shape[:-2], *((shape[-1], sides) if left else (sides, shape[-1])), dtype=dtype, seed=1)
        solve = lambda a, b, left=left, lower=lower, turned=turned, unit=unit: lax.linalg.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=turned, unit_diagonal=unit
        )
        ours, before = both(libraries, solve, a, b, kernel="triangular_solve" if sides else None)
        assert_close(ours, before, 2e-5 if dtype == "float32" else 1e-12)


def test_triangular_systems_without_one_solution(backend, libraries):
    a, b = numpy.tril(draw(2, 40, 40)) + 9 * numpy.eye(40, dtype="float32"), draw(2, 40, 5, seed=1)
    a[1, 17, 17] = 0
    solve = lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    ours, before = both(libraries, solve, a, b, kernel="triangular_solve")
    assert_close(ours[0], before[0], 1e-5)
    assert numpy.isfinite(ours[1, :17]).all() and not numpy.isfinite(ours[1, 17:]).any()


def test_results_do_not_depend_on_the_number_of_threads(libraries, library_path):
    pytest.importorskip("jaxlib", reason="most is called by XLA's programs")
    program = (
        "import hashlib, numpy, tangrad, tangrad.numpy as np\n"
        "draw = lambda *shape: numpy.random.default_rng(0).normal(size=shape).astype('float32')\n"
        "def results(x, y):\n"
        "    square = x @ x.T\n"
        "    factor = np.linalg.cholesky(square / 600 + np.eye(600))\n"
        "    solve = lambda b: tangrad.lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)\n"
        "    several = np.linalg.cholesky(np.stack([square + 600 * np.eye(600)] * 3))\n"
        "    return factor, solve(y[:, :300]), solve(y[:, :3]), x @ y, np.linalg.eigh(square[:300, :300]), several\n"
        "program, given = tangrad.jit(results), (draw(600, 600), draw(600, 520))\n"
        "assert program.lower(*given).as_text().count('@tangrad_kernels.') == 7\n"
        "leaves = tangrad.tree.leaves(program(*given))\n"
        "print(hashlib.sha256(b''.join([numpy.asarray(leaf).tobytes() for leaf in leaves])).hexdigest())"
    )
    environment = {"TANGRAD_BACKEND": "xla", "TANGRAD_KERNELS_LIBRARY": library_path}
    assert len({printed("-c", program, TANGRAD_KERNELS_THREADS=count, **environment) for count in "125"}) == 1


@pytest.mark.parametrize(("dtype", "scales"), [("float32", (1e-30, 1e30)), ("float64", (1e-290, 1e290))])
def test_eigenvectors_of_one_matrix(backend, libraries, dtype, scales):
    """Of several parts, the last of them small; of numbers whose squares are none; of one triangle."""
    for size, scale, lower in itertools.product((128, 150, 300), (1, *scales), ("L", "U")):
        x = draw(size, size, dtype=dtype)
        x = (x + x.T) * numpy.asarray(scale, dtype)
        solve = lambda x, lower=lower: np.linalg.eigh(x, UPLO=lower, symmetrize_input=False)
        half = numpy.tril(x) if lower == "L" else numpy.triu(x)
        values, vectors = both(libraries, solve, half, kernel="eigh")[0]
        tolerance = 3e-5 if dtype == "float32" else 1e-10
        unscaled, wide = x.astype("longdouble") / scale, vectors.astype("longdouble")
        largest = numpy.linalg.norm(unscaled.astype("float64"), 2)
        assert abs(unscaled @ wide - wide * (values / numpy.longdouble(scale))).max() < tolerance * largest
        assert abs(wide.T @ wide - numpy.eye(size)).max() < tolerance


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(150, 150), (3, 120, 70), (3, 70, 120)])
def test_singular_values(backend, libraries, shape, dtype):
    tolerance = 3e-5 if dtype == "float32" else 1e-10
    x = draw(*shape, dtype=dtype)
    for full in (False, True):
        (u, s, vh), (_, expected, _) = both(libraries, lambda x, full=full: np.linalg.svd(x, full), x, kernel="svd")
        assert_close(s, expected, tolerance)
        least = min(shape[-2:])
        assert_close((u[..., :least] * s[..., None, :]) @ vh[..., :least, :], x, tolerance)
        for each, other in ((u, u.swapaxes(-1, -2)), (vh.swapaxes(-1, -2), vh)):
            identity = numpy.eye(each.shape[-1], dtype=dtype)
            assert_close(other @ each, numpy.broadcast_to(identity, (*shape[:-2], *identity.shape)), tolerance)
    assert_close(*both(libraries, lambda x: np.linalg.svd(x, compute_uv=False), x, kernel="svd"), tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_the_same_wherever_arrays_are(libraries, dtype):
    """From call to call NumPy's arrays begin at other places, and so do the library's."""
    square = draw(200, 200, dtype=dtype)
    program = tangrad.jit(lambda x: (np.linalg.eigh(x @ x.T), np.linalg.svd(x), np.fft.fft(x.reshape(-1))))
    with libraries(), tangrad.use_backend("numpy"), tangrad.enable_x64(True):
        found = []
        for offset in (0, 16, 32, 48, 0):
            room = numpy.empty(square.nbytes + 128, "uint8")
            start = -room.ctypes.data % 64 + offset
            given = room[start : start + square.nbytes].view(dtype).reshape(square.shape)
            given[...] = square
            found.append([numpy.array(leaf) for leaf in tangrad.tree.leaves(program(given))])
    for results in found[1:]:
        for ours, first in zip(results, found[0], strict=True):
            assert numpy.array_equal(ours, first)


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_matrices_that_have_no_factors_become_nan(backend, libraries, value):
    x = positive(2, 100, 100, dtype="float32")
    x[1, 3, 2] = x[1, 2, 3] = value
    with libraries():
        found = [tangrad.jit(np.linalg.eigh)(x), tangrad.jit(np.linalg.svd)(x), tangrad.jit(np.linalg.cholesky)(-x)]
    for array in tangrad.tree.leaves(found[:2]):
        assert numpy.isfinite(array[0]).all() and numpy.isnan(array[1]).all()
    assert numpy.isnan(found[2]).all()


@pytest.mark.parametrize("place", [0, 200, 599])
def test_large_matrices_that_have_no_factors_become_nan(backend, libraries, place):
    x = positive(2, 600, 600, dtype="float32")
    x[1, place, place] = -1
    found, _ = both(libraries, np.linalg.cholesky, x, kernel="cholesky")
    assert numpy.isfinite(found[0]).all() and numpy.isnan(found[1]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lengths", [(5000,), (4096,), (60, 81), (64, 64), (16, 17, 18)])
def test_transforms(backend, libraries, lengths, dtype):
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    axes = tuple(range(-len(lengths), 0))
    x = draw(3, *lengths, dtype=dtype)
    z = x + 1j * draw(3, *lengths, dtype=dtype, seed=1)
    for function, argument in ((np.fft.fftn, z), (np.fft.ifftn, z), (np.fft.rfftn, x)):
        assert_close(
            *both(libraries, lambda x, function=function: function(x, axes=axes), argument, kernel="fft"), tolerance
        )
    half = numpy.asarray(z[..., : lengths[-1] // 2 + 1])
    back = lambda z: np.fft.irfftn(z, lengths, axes)
    assert_close(*both(libraries, back, half, kernel="fft" if len(lengths) == 1 else None), tolerance)
    gradient = tangrad.grad(lambda x: np.sum(np.abs(np.fft.rfftn(x, axes=axes)) ** 2))
    assert_close(*both(libraries, gradient, x, kernel="fft"), 10 * tolerance)


# --- convolutions -----------------------------------------------------------------------------------------------------

LETTERS = "DHW"


@st.composite
def convolutions(draw):
    """Arrays, and how they are convolved."""
    count = draw(st.integers(1, 3))
    letters = LETTERS[-count:]
    several = lambda least, most: [draw(st.integers(least, most)) for _ in letters]
    groups = draw(st.sampled_from([1, 1, 2, 4]))
    features, results = groups * draw(st.sampled_from([5, 8, 16])), groups * draw(st.sampled_from([3, 8, 16]))
    sizes = dict(zip(letters, several(5, {1: 400, 2: 30, 3: 12}[count])), N=draw(st.integers(1, 6)), C=features)
    taps = dict(zip(letters, several(1, 4)), O=results, I=features // groups)
    spec = draw(
        st.sampled_from(
            [
                ("N" + letters + "C", letters + "IO", "N" + letters + "C"),
                ("NC" + letters, "OI" + letters, "NC" + letters),
                ("C" + letters + "N", letters + "OI", "N" + letters + "C"),
            ]
        )
    )
    padding = draw(st.sampled_from(["SAME", "VALID", [(1, 2)] * count]))
    shapes = [sizes[letter] for letter in spec[0]], [taps[letter] for letter in spec[1]]
    params = {"window_strides": several(1, 3), "padding": padding, "rhs_dilation": several(1, 2)}
    return shapes, {**params, "dimension_numbers": spec, "feature_group_count": groups}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(case=convolutions())
def _convolution(use, case):
    (x_shape, y_shape), params = case
    x, y = draw(*x_shape), draw(*y_shape, seed=1)
    convolve = lambda x, y: lax.conv_general_dilated(x, y, **params)
    try:
        out = tangrad.eval_shape(convolve, x, y)
    except ValueError:
        reject()  # the window is longer than the array
    assume(0 not in out.shape)
    weights = draw(*out.shape, seed=2)
    gradient = tangrad.value_and_grad(lambda x, y: np.sum(convolve(x, y) * weights), (0, 1))
    assert_close(*both(use, lambda x, y: (convolve(x, y), gradient(x, y)[1]), x, y), 1e-5)


def test_convolutions_and_their_gradients(backend, libraries):
    _convolution(libraries)


@pytest.mark.parametrize("groups", [1, 64])
def test_convolutions_call_the_library(libraries, groups):
    pytest.importorskip("jaxlib", reason="only XLA's programs are texts")
    numbers = ("NHWC", "HWIO", "NHWC")
    convolve = lambda x, y: lax.conv_general_dilated(
        x, y, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=groups
    )
    x, y = draw(2, 28, 28, 64), draw(3, 3, 64 // groups, 64)
    with tangrad.use_backend("xla"), libraries():
        gradient = tangrad.jit(tangrad.grad(lambda x, y: np.sum(convolve(x, y) ** 2), (0, 1)))
        assert gradient.lower(x, y).as_text().count("@tangrad_kernels.convolution(") == 3


# --- how they are found -----------------------------------------------------------------------------------------------

MATRIX = ShapedArray((256, 256), numpy.dtype("float32"))


def convolved(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@pytest.mark.parametrize("size", [8, 64])
def test_convolutions_leave_the_number_of_threads_as_it_is(libraries, size):
    """Small ones take one thread, large ones all, one at a time."""
    try:
        threads = ctypes.CDLL("libgomp.so.1")
    except OSError:
        pytest.skip("there are no threads of GNU's OpenMP")
    before = threads.omp_get_max_threads()
    x, kernel = draw(2, size, size, 16), draw(3, 3, 16, 16)
    try:
        threads.omp_set_num_threads(3)
        with libraries(), tangrad.use_backend("numpy"):
            results = [tangrad.jit(convolved)(x, kernel) for _ in range(4)]
            assert threads.omp_get_max_threads() == 3
    finally:
        threads.omp_set_num_threads(before)
    for result in results:
        assert numpy.array_equal(results[0], result)


def test_convolutions_at_once_compute_what_they_compute_alone(libraries):
    """Of several threads, small ones and large ones."""
    given = [(draw(2, size, size, 16, seed=size), draw(3, 3, 16, 16, seed=size + 1)) for size in (4, 8, 32, 64)] * 4
    with libraries():
        jitted = tangrad.jit(convolved, backend="numpy")  # the backend in use is each thread's own
        alone = [numpy.asarray(jitted(*each)) for each in given]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda each: numpy.asarray(jitted(*each)), given * 3))
    for ours, expected in zip(found, alone * 3, strict=True):
        assert numpy.array_equal(ours, expected)


@pytest.fixture
def found_anew(rule_sets):
    """The module that finds libraries, which forgets before and afterwards what it has found."""
    from tangrad._kernels import vendors

    vendors.is_here.cache_clear()
    yield vendors
    vendors.is_here.cache_clear()


def test_libraries_that_are_not_installed_or_not_allowed(found_anew, monkeypatch):
    from tangrad._kernels import vendor_jobs

    with monkeypatch.context() as patch:
        nothing = {name: (("no-such-distribution",), file) for name, (_, file) in found_anew.FILES.items()}
        patch.setattr(found_anew, "FILES", nothing)
        assert not found_anew.is_here("mkl") and not found_anew.is_here("onednn")
        assert vendor_jobs.cholesky(MATRIX) is None
    found_anew.is_here.cache_clear()
    monkeypatch.setenv(found_anew.VARIABLE, "onednn")
    assert not found_anew.is_here("mkl")


def test_a_file_that_is_no_library_is_not_used(found_anew, monkeypatch, tmp_path, caplog):
    path = tmp_path / "libdnnl.so.3"
    path.write_text("no library")
    monkeypatch.setattr(found_anew, "_paths", lambda name: iter([path]))
    with caplog.at_level("INFO", "tangrad.kernels"):
        assert not found_anew.is_here("onednn")
    assert str(path) in caplog.text


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("mkl", "libmkl_rt.so.3"),
        ("mkl", "libmkl_rt.so"),
        ("mkl", "mkl_rt.3.dll"),
        ("mkl", "libmkl_rt.2.dylib"),
        ("onednn", "libdnnl.so.3"),
        ("onednn", "dnnl.dll"),
        ("onednn", "libdnnl.3.dylib"),
    ],
)
def test_names_of_files(found_anew, name, file):
    assert found_anew.FILES[name][1].fullmatch(file)
    assert not found_anew.FILES[name][1].fullmatch(file + ".txt")


# --- functions of elements --------------------------------------------------------------------------------------------

# Names, and where arguments are drawn.
OF_ONE = {
    "log": (0, 9), "log1p": (-1, 9), "tan": (-9, 9), "asin": (-1, 1), "acos": (-1, 1), "sinh": (-9, 9), "cosh": (-9, 9),
    "asinh": (-9, 9), "acosh": (1, 9), "atanh": (-1, 1), "cbrt": (-9, 9), "erf": (-4, 4), "erfc": (-4, 9),
    "erf_inv": (-1, 1), "lgamma": (2.5, 30),
}  # fmt: skip
OF_TWO = ("pow", "atan2", "rem")
IN_DOUBLE = ("log", "log1p", "erf", "erf_inv")  # alone on XLA, which has vectors of them in single precision
OF_NUMPY = ("erf", "erfc", "lgamma")
CASES = [("xla", name, "float64") for name in OF_ONE if name != "lgamma"]
CASES += [("xla", name, "float32") for name in OF_ONE if name not in (*IN_DOUBLE, "lgamma")]
CASES += [("numpy", name, "float64") for name in ("cbrt", "erf_inv")]
CASES += [("numpy", name, dtype) for name in OF_NUMPY for dtype in ("float32", "float64")]
# Subnormal numbers are 0 to XLA's own programs.
CORNERS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 7.5, 1e-3, -1e-3, 1e6, 1e30, -1e30]
CORNERS += [numpy.inf, -numpy.inf, numpy.nan]


@pytest.mark.parametrize("backend, name, dtype", CASES)
def test_functions_of_one_number(libraries, backend, name, dtype):
    """To two units in the last place of what is computed in double precision without, and in corners as there."""
    if backend == "xla":
        pytest.importorskip("jaxlib")
    with tangrad.use_backend(backend), tangrad.enable_x64(True):
        check_function_of_one_number(libraries, getattr(lax, name), name, dtype)


def check_function_of_one_number(libraries, function, name, dtype):
    x = numpy.random.default_rng(0).uniform(*OF_ONE[name], 8191).astype(dtype)
    ours, _ = both(libraries, function, x)
    exact = numpy.asarray(function(x.astype("float64")))
    assert ours.dtype == dtype
    # XLA's erf_inv loses three digits next to 1, its log1p one or two below -0.4; both lose some of lgamma next to its
    # zeros.
    lost = {"lgamma": 4e-14, "log1p": 4e-14, "erf_inv": 1e-12}
    tolerance = 2.0**-22 if dtype == "float32" else lost.get(name, 4e-15)
    numpy.testing.assert_allclose(ours, exact, rtol=tolerance, atol=tolerance if name.startswith("log") else 1e-37)
    # Of great angles, and of zeros of Γ's logarithm and poles, digits differ.
    corners = numpy.array([each for each in CORNERS if name not in ("tan", "lgamma") or not abs(each) > 8], dtype)
    x = numpy.tile(corners, 4096 // len(corners) + 1)
    ours, before = [each[: len(corners)] for each in both(libraries, function, x)]
    numpy.testing.assert_allclose(ours, before, rtol=3e-6 if dtype == "float32" else 1e-12, atol=1e-13)
    zeros = (ours == 0) & (before == 0)
    numpy.testing.assert_array_equal(numpy.signbit(ours[zeros]), numpy.signbit(before[zeros]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_numbers(backend, libraries, name, dtype):
    function = getattr(lax, name)
    pairs = numpy.array(list(itertools.product(CORNERS, CORNERS)), dtype)
    if name == "rem":  # great quotients: the remainders of XLA's are of the rounded one
        pairs = pairs[~(abs(pairs[:, 0]) > 1e7 * abs(pairs[:, 1])) | (pairs[:, 1] == 0)]
    x, y = numpy.concatenate([pairs, numpy.random.default_rng(1).uniform(0.5, 9, (5001, 2)).astype(dtype)]).T
    ours, before = both(libraries, function, x, y)
    tolerance = 2e-6 if dtype == "float32" else 1e-14
    numpy.testing.assert_allclose(ours, before, rtol=tolerance, atol=tolerance)
    zeros = (ours == 0) & (before == 0)
    numpy.testing.assert_array_equal(numpy.signbit(ours[zeros]), numpy.signbit(before[zeros]))
    for number in (numpy.asarray(each, dtype) for each in (2.5, -3.0)):
        left = lambda x, z=number: function(np.broadcast_to(z, x.shape), x)
        right = lambda x, z=number: function(x, np.broadcast_to(z, x.shape))
        assert_close(*both(libraries, lambda x, f=left, g=right: (f(x), g(x)), x), tolerance)


def test_which_functions_are_calls(libraries):
    """Those that XLA has vectors of are not, nor are few numbers, nor other dtypes."""
    pytest.importorskip("jaxlib")
    with tangrad.use_backend("xla"), tangrad.enable_x64(True), libraries():
        for name, dtype, size, is_call in (
            ("tan", "float32", 5000, True),
            ("log", "float64", 5000, True),
            ("log", "float32", 5000, False),
            ("tan", "float32", 100, False),
            ("tan", "bfloat16", 5000, False),
            ("log", "complex128", 5000, False),
        ):
            text = tangrad.jit(getattr(lax, name)).lower(np.ones(size, dtype)).as_text()
            assert ("tangrad_kernels.vectors" in text) == is_call, (name, dtype, size)
