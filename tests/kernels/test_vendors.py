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
from tangrad.extend.fft import fft_p

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


@pytest.mark.parametrize(("dtype", "scales"), [("float32", (1e-30, 1e30)), ("float64", (1e-290, 1e290))])
def test_eigenvectors_of_one_matrix(backend, libraries, dtype, scales):
    """Of several parts, the last of them small; of numbers whose squares are none; of one triangle."""
    for size, scale, lower in itertools.product((128, 150, 300), (1, *scales), ("L", "U")):
        x = draw(size, size, dtype=dtype)
        x = (x + x.T) * numpy.asarray(scale, dtype)
        solve = lambda x, lower=lower: np.linalg.eigh(x, UPLO=lower, symmetrize_input=False)
        half = numpy.tril(x) if lower == "L" else numpy.triu(x)
        values, vectors = both(libraries, solve, half, kernel="eigh")[0]
        tolerance = 3e-5 if dtype == "float32" else 1e-12
        unscaled, wide = x.astype("longdouble") / scale, vectors.astype("longdouble")
        largest = numpy.linalg.norm(unscaled.astype("float64"), 2)
        assert abs(unscaled @ wide - wide * (values / numpy.longdouble(scale))).max() < tolerance * largest
        assert abs(wide.T @ wide - numpy.eye(size)).max() < tolerance


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(150, 150), (3, 120, 70), (3, 70, 120)])
def test_singular_values(backend, libraries, shape, dtype):
    tolerance = 3e-5 if dtype == "float32" else 1e-12
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
    with libraries(), tangrad.use_backend("numpy"):
        jitted = tangrad.jit(convolved)
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
