"""Programs on torch against NumPy, tensors in and out, devices, and what must be refused."""

import gc

import ml_dtypes
import numpy as onp
import pytest
import torch
from tangrad_torch import from_torch, to_torch
from tangrad_torch.backend import TorchArray, TorchDevice, backend

import tangrad
import tangrad.lax as lax
import tangrad.nn as nn
import tangrad.numpy as np
from tangrad.conformance import primitives_of, sweep
from tangrad.errors import MissingRuleError
from tangrad.experimental.xla_metadata import set_xla_metadata


@pytest.fixture
def on_torch():
    with tangrad.use_backend("torch"):
        yield


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "float16", "bfloat16", "float32", "complex64", "uint16", "uint32"]


def both(function, *args):
    """The results of a function on torch and on NumPy, as trees of NumPy's arrays."""
    found = []
    for name in ("torch", "numpy"):
        with tangrad.use_backend(name):
            found.append(tangrad.tree.map(onp.asarray, function(*args)))
    return found


def agree(function, *args, tolerance=1e-5):
    found, expected = [tangrad.tree.leaves(result) for result in both(function, *args)]
    assert len(found) == len(expected) > 0
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        onp.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def draw(*shape, seed=0):
    return onp.random.default_rng(seed).normal(size=shape).astype("float32")


# --- programs ------------------------------------------------------------------------------------------------------


def attention(x, weights):
    scores = nn.softmax(np.einsum("id,de,je->ij", x, weights, x) / 3)
    return np.sum(scores @ nn.gelu(x), axis=0)


def iterated(x, n):
    last = lax.fori_loop(0, n, lambda i, y: np.sin(y) + x[i % 3], x)
    total, rows = lax.scan(lambda carry, row: (carry + row, carry * row), last[0], last)
    return lax.cond(total > 0, lambda: rows, lambda: -rows), lax.while_loop(lambda y: y < 9, lambda y: 2 * y + 1, 1)


PROGRAMS = {
    "attention": (attention, draw(4, 3), draw(3, 3, seed=1)),
    "gradient": (tangrad.grad(lambda x, w: attention(x, w).sum(), argnums=(0, 1)), draw(4, 3), draw(3, 3, seed=1)),
    "hessian": (tangrad.hessian(lambda x: np.sum(np.tanh(x) ** 3)), draw(3)),
    "mapped": (tangrad.vmap(tangrad.grad(lambda x: np.prod(np.log1p(x**2)))), draw(4, 3)),
    "loops": (lambda x: iterated(x, 4), draw(3)),
    "mapped loops": (tangrad.vmap(lambda x: iterated(x, 3)), draw(4, 3)),
    "indexing": (lambda x: (x[::-2, [1, 0, 1]], x.at[1:3, 0].add(7), x[np.argmax(x, 0)], np.sort(x, 0)), draw(5, 2)),
    "linear algebra": (lambda x: (np.linalg.inv(x), np.linalg.slogdet(x), np.linalg.svd(x)[1]), draw(2, 4, 4)),
    "fourier": (lambda x: (np.fft.rfft(x), np.fft.ifft2(x)), draw(3, 4)),
    "complex": (tangrad.grad(lambda x: np.sum(np.abs(np.exp(1j * x) @ np.ones((3, 2))) ** 2)), draw(3)),
    "integers": (lambda x: (x // 3, x % 3, x >> 2, x * x, x.astype("uint8") - 9), (100 * draw(9)).astype("int32")),
}


@pytest.mark.usefixtures("on_torch")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jitted"])
def test_programs(name, wrap):
    function, *args = PROGRAMS[name]
    found = wrap(function)(*map(np.asarray, args))
    assert all([isinstance(leaf, TorchArray) for leaf in tangrad.tree.leaves(found)])
    agree(lambda *args: wrap(function)(*map(np.asarray, args)), *args, tolerance=1e-4)


@pytest.mark.usefixtures("on_torch")
def test_random_numbers_are_the_same():
    keys = tangrad.random.split(tangrad.random.key(7), 3)
    assert isinstance(keys, TorchArray)

    def sample(seed):
        key = tangrad.random.key(seed)
        words = [tangrad.random.bits(key, (5,), f"uint{width}") for width in (8, 16, 32)]
        return words, tangrad.random.key_data(tangrad.random.split(key, 2)), tangrad.random.uniform(key, (7,))

    found, expected = both(tangrad.jit(sample), 3)
    tangrad.tree.map(onp.testing.assert_array_equal, found, expected)
    agree(lambda: tangrad.random.normal(tangrad.random.key(1), (50,)))


@pytest.mark.usefixtures("on_torch")
def test_unsigned_integers():
    """They are held as signed ones: order, division, shifts and conversions must not show it."""
    for width in (16, 32, 64):
        with tangrad.enable_x64(True):
            edges = [0, 1, 2, (1 << width - 1) - 1, 1 << width - 1, (1 << width) - 2, (1 << width) - 1]
            x, y = [grid.ravel() for grid in onp.meshgrid(*[onp.array(edges, f"uint{width}")] * 2)]
            for function in (
                lambda x, y: (x < y, x >= y, np.maximum(x, y), np.clip(x, 1, y), lax.div(x, y), lax.rem(x, y)),
                lambda x, y: (x.astype("float64"), (x.astype("float64") * 0.75).astype(x.dtype), x.astype("int16")),
                lambda x, y: (x >> (y % 16), x << (y % 16), np.sort(x), np.argmax(x), x.max(), lax.clz(x)),
                lambda x, y: (lax.population_count(x), np.cumsum(x), lax.top_k(x, 3), x.sum(), x == y),
            ):
                found, expected = both(function, x, y)
                tangrad.tree.map(onp.testing.assert_array_equal, found, expected)


@pytest.mark.usefixtures("on_torch")
def test_complex_exponential_minus_one():
    """Near 0 it keeps its digits, and infinities spread as in the exponential."""
    finite = onp.array([1e-6 + 1e-6j, 0.25 + 3j, -4 + 2j], "complex64")
    agree(np.expm1, finite, tolerance=1e-6)
    onp.testing.assert_allclose(np.expm1(finite[:1]), onp.expm1(finite[:1].astype("complex128")), rtol=1e-5)
    infinite = onp.array([complex(onp.inf, 0.5), complex(onp.inf, onp.inf), complex(-onp.inf, 0.5)], "complex64")
    found, expected = both(np.expm1, infinite)
    onp.testing.assert_array_equal(onp.real(found), onp.real(expected))
    onp.testing.assert_array_equal(onp.imag(found), onp.imag(expected))


@pytest.mark.usefixtures("on_torch")
def test_the_layers_of_the_demo():
    """Some steps of Adam on a small convolutional network: the losses are NumPy's."""
    images, labels = draw(24, 1, 8, 8), onp.arange(24) % 10

    def logits(params, x):
        x = lax.conv_general_dilated(x, params["conv"], (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = lax.reduce_window(nn.relu(x), -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return x.reshape(len(x), -1) @ params["out"]

    def loss(params):
        return -np.mean(np.sum(nn.log_softmax(logits(params, images)) * nn.one_hot(labels, 10), -1))

    @tangrad.jit
    def step(params, first, second):
        value, gradient = tangrad.value_and_grad(loss)(params)
        first = tangrad.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = tangrad.tree.map(lambda m, g: 0.99 * m + 0.01 * g * g, second, gradient)
        params = tangrad.tree.map(lambda p, m, v: p - 0.02 * m / (np.sqrt(v) + 1e-6), params, first, second)
        return params, first, second, value

    def train():
        keys = tangrad.random.split(tangrad.random.key(0))
        params = {"conv": tangrad.random.normal(keys[0], (4, 1, 3, 3)), "out": np.zeros((64, 10))}
        first = second = tangrad.tree.map(np.zeros_like, params)
        losses = []
        for _ in range(12):
            params, first, second, value = step(params, first, second)
            losses.append(value)
        return np.stack(losses)

    found, expected = both(train)
    onp.testing.assert_allclose(found, expected, rtol=1e-3)
    assert found[-1] < 0.2 * found[0]


@pytest.mark.usefixtures("on_torch")
def test_callbacks():
    seen = []

    @tangrad.jit
    def program(x):
        tangrad.debug.callback(lambda x: seen.append(float(x)), x[0])
        return tangrad.pure_callback(lambda x: onp.sinh(x), tangrad.ShapeDtypeStruct((3,), "float32"), x)

    x = draw(3)
    onp.testing.assert_allclose(program(x), onp.sinh(x), rtol=1e-6)
    assert seen == [float(x[0])]


@pytest.mark.usefixtures("on_torch")
def test_hints_and_questions_to_compilers():
    seen = []

    @tangrad.jit
    def program(x):
        tangrad.debug.inspect_array_sharding(x, callback=seen.append)
        return set_xla_metadata(np.sin(x), group="first") * 2

    x = draw(3)
    onp.testing.assert_allclose(program(x), 2 * onp.sin(x), rtol=1e-6)
    onp.testing.assert_allclose(tangrad.grad(lambda x: program(x).sum())(x), 2 * onp.cos(x), rtol=1e-6)
    assert {device for sharding in seen for device in sharding.device_set} == set(tangrad.devices("torch"))


@pytest.mark.usefixtures("on_torch")
def test_the_text_of_a_program():
    lowered = tangrad.jit(lambda x: np.sin(x) * 2).lower(draw(3))
    assert "sin_0(v0)" in lowered.as_text() and "return" in lowered.compile().as_text()


# --- tensors -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_torch")
def test_tensors_become_arrays_and_back_without_a_copy():
    tensor = torch.arange(6.0).reshape(2, 3)
    array = from_torch(tensor)
    assert to_torch(array).data_ptr() == tensor.data_ptr()
    assert torch.from_dlpack(array).data_ptr() == tensor.data_ptr()
    assert onp.from_dlpack(array).__array_interface__["data"][0] == tensor.data_ptr()
    assert to_torch(np.from_dlpack(tensor)).data_ptr() == tensor.data_ptr()
    assert to_torch(np.from_dlpack(tensor, copy=True)).data_ptr() != tensor.data_ptr()
    assert to_torch(from_torch(tensor, copy=True)).data_ptr() != tensor.data_ptr()
    onp.testing.assert_array_equal(array.T @ array, onp.asarray(tensor).T @ onp.asarray(tensor))
    with tangrad.use_backend("numpy"):
        other = np.arange(3.0)
    onp.testing.assert_array_equal(to_torch(other), other)


@pytest.mark.usefixtures("on_torch")
def test_64_bits_need_to_be_allowed():
    assert from_torch(torch.arange(3)).dtype == "int32" and from_torch(torch.ones(3).double()).dtype == "float32"
    with tangrad.enable_x64(True):
        assert from_torch(torch.arange(3)).dtype == "int64"
        assert to_torch(np.ones(3, "uint64")).dtype == torch.uint64


@pytest.mark.usefixtures("on_torch")
@pytest.mark.parametrize(
    "name",
    ["bool", "uint8", "int8", "int16", "int32", "float16", "bfloat16", "float32", "complex64", "uint16", "uint32"],
)
def test_dtypes_in_and_out(name):
    contents = onp.array([0, 1, 3]).astype(getattr(ml_dtypes, name, name))
    array = np.asarray(contents)
    assert array.dtype == contents.dtype and to_torch(array).dtype == getattr(torch, name)
    onp.testing.assert_array_equal(onp.asarray(array), contents)
    assert np.asarray(from_torch(to_torch(array))).dtype == contents.dtype
    contents[0] = 1
    assert not bool(array[0])
    with pytest.raises(ValueError, match="read-only"):
        array.to_numpy()[0] = 1


@pytest.mark.usefixtures("on_torch")
def test_memory_is_given_back():
    x = np.asarray(draw(3))
    held = tangrad.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and not held.is_deleted()
    with pytest.raises(RuntimeError, match="deleted, or donated"):
        x + 1
    onp.testing.assert_allclose(held, draw(3) + 1)


# --- devices -------------------------------------------------------------------------------------------------------


@pytest.fixture
def meta(monkeypatch):
    """A second device: torch's "meta", on which tensors have shapes and no elements."""
    device = TorchDevice(backend, len(backend.devices()), "meta")
    device.torch = torch.device("meta")
    monkeypatch.setattr(backend, "_devices", [*backend.devices(), device])
    monkeypatch.setattr(backend, "has_placements", True)
    yield device
    gc.collect()
    tangrad.clear_caches()


@pytest.mark.usefixtures("on_torch")
def test_devices():
    first, *others = tangrad.devices("torch")
    assert first.platform == "cpu" and repr(first) == "TorchDevice('cpu')"
    assert len(others) == (torch.accelerator.device_count() if torch.accelerator.is_available() else 0)
    assert np.ones(3).device is first and np.ones(3).devices() == {first}


@pytest.mark.usefixtures("on_torch")
def test_computation_goes_where_arrays_are(meta):
    there, here = tangrad.device_put(draw(3), meta), np.asarray(draw(3))
    assert there.device is meta and there.committed
    for function in (lambda x, y: x * y + 2, tangrad.jit(lambda x, y: np.sin(x) + y + np.arange(3))):
        assert function(there, here).device is meta  # that one is committed, this one moves
        assert function(here, here).device is not meta
    with tangrad.default_device(meta):
        assert np.ones(3).device is meta and not np.ones(3).committed
        assert tangrad.jit(lambda: np.arange(3))().device is meta
    assert tangrad.jit(lambda x: x + 1, device=meta)(draw(3)).device is meta


@pytest.mark.usefixtures("on_torch")
def test_tensors_on_different_devices(meta):
    there, here = [tangrad.device_put(draw(3), device) for device in (meta, tangrad.devices("torch")[0])]
    for function in (lambda x, y: x + y, tangrad.jit(lambda x, y: x + y)):
        with pytest.raises(ValueError, match=r"different devices, cpu and meta; tangrad\.device_put"):
            function(there, here)
        onp.testing.assert_allclose(function(here, here), 2 * draw(3))


@pytest.mark.usefixtures("on_torch")
def test_a_tensor_on_a_device_that_is_none_of_them():
    with pytest.raises(ValueError, match="'meta', which is no device of the backend 'torch'; it has cpu"):
        from_torch(torch.ones(3, device="meta"))
    with pytest.raises(ValueError, match="expected a device of the backend 'torch'"):
        np.ones(3).backend.put(draw(3), np.ones(3).aval, tangrad.devices("numpy")[0])
    assert float(from_torch(torch.ones(3)).sum()) == 3


@pytest.mark.usefixtures("on_torch")
def test_what_is_no_tensor_or_no_array():
    for value in (onp.ones(3), 1.0, torch.eye(3).to_sparse()):
        with pytest.raises(TypeError, match="from_torch takes dense tensors, got"):
            from_torch(value)
    with pytest.raises(TypeError, match=r"to_torch takes arrays of Tangrad, got .* of type ndarray"):
        to_torch(onp.ones(3))
    assert float(from_torch(torch.ones(3)).sum()) == 3


# --- what is not there ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_torch")
def test_dtypes_that_torch_lacks():
    for narrow in ("float8_e4m3fn", "int4"):

        def convert(x, dtype=narrow):
            return x.astype(dtype)

        contents = onp.ones(3, getattr(ml_dtypes, narrow))
        with pytest.raises(MissingRuleError, match=f"the backend 'torch' has no dtype {narrow}; it has bool, uint8"):
            np.asarray(contents)
        for function in (convert, tangrad.jit(convert)):
            with pytest.raises(MissingRuleError, match=f"convert_element_type' is not there .*'torch'.* {narrow}"):
                function(np.ones(3))
    with pytest.raises(MissingRuleError, match=r"takes no tensors of torch\.float8_e5m2"):
        from_torch(torch.ones(3).to(torch.float8_e5m2))
    assert float(np.ones(3).sum()) == 3


@pytest.mark.usefixtures("on_torch")
def test_primitives_that_torch_lacks():
    x = np.asarray(draw(3, 3))
    for function in (lambda x: lax.linalg.schur(x), tangrad.jit(lambda x: lax.linalg.schur(x * 2))):
        with pytest.raises(MissingRuleError, match="schur") as caught:
            function(x)
        assert "lower.torch" in str(caught.value)
    assert tangrad.jit(lambda x: x * 2)(x).shape == (3, 3)


@pytest.mark.usefixtures("on_torch")
def test_what_torch_has_not_implemented_names_the_primitive():
    x = np.ones(3, "complex64")
    for function in (lambda x: lax.atan2(x, x), tangrad.jit(lambda x: lax.atan2(x + 1, x))):
        with pytest.raises(MissingRuleError, match=r"'elementwise\.atan2' is not there on the backend 'torch'.* error"):
            function(x)
    assert float(lax.atan2(np.float32(0), np.float32(1))) == 0


@pytest.mark.usefixtures("on_torch")
def test_arrays_of_other_backends():
    with tangrad.use_backend("numpy"):
        other = np.ones(3)
    with pytest.raises(Exception, match="torch"):
        np.ones(3) + other
    assert float((np.ones(3) + 1).sum()) == 6


@pytest.mark.usefixtures("on_torch")
def test_gradients_of_torch_are_not_lost():
    with pytest.raises(ValueError, match="require no gradients"):
        from_torch(torch.ones(3, requires_grad=True))
    assert float(from_torch(torch.ones(3, requires_grad=True).detach()).sum()) == 3


# --- The conformance kit over every primitive: what is there is right, and what is not there is known ---


FAMILIES = sorted({primitive.family for primitive in primitives_of()})

# What torch, or this backend, has not: whole primitives, or those of their parameters and dtypes that are named.
NOT_THERE = {
    "decompositions.eig": "left eigenvectors",
    "decompositions.geqp3": "",
    "decompositions.hessenberg": "",
    "decompositions.qr": "with pivoting",
    "decompositions.schur": "",
    "decompositions.tridiagonal": "",
    "exporting.call_exported": "",
    "exporting.push_forward": "",
    "foreign.ffi_call": "",
    "special.igamma_grad_a": "",
    "special.random_gamma_grad": "",
    "special.regularized_incomplete_beta": "",
}

# Where torch's LAPACK is as right as NumPy's, and another, of matrices with NaN and infinities: checks by primitive.
PIVOTS = "OpenBLAS divides no column by a pivot that is NaN, and multiplies by the 0 that is 1 / infinity to 0"
REFLECTIONS = "the norm of a column with NaN or infinities is NaN, or the largest element, as a library scales it"
ITERATION = "OpenBLAS finds some eigenvalues of matrices with infinities; torch refuses these, so all are NaN"
SERIES = "torch's own function: at its poles, and of subnormal numbers and zeros, it decides as it does"
OTHERWISE = {
    ("contractions.dot_general", "edges"): "of complex infinities torch multiplies the parts in another order",
    ("elementwise.neg", "edges"): "torch's negation of complex numbers loses the sign of zero",
    ("elementwise.rem", "edges"): "torch's fmod is NaN where the quotient overflows",
    ("special.bessel_i1e", "edges"): SERIES,
    ("special.digamma", "edges"): SERIES,
    ("special.erf", "edges"): SERIES,
    ("decompositions.eigh", "special"): ITERATION,
    ("decompositions.geqrf", "special"): REFLECTIONS,
    ("decompositions.lu", "special"): PIVOTS,
    ("systems.tridiagonal_solve", "special"): "LAPACK exchanges rows of NaN in its own way",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_cells(family):
    report = sweep([primitive for primitive in primitives_of() if primitive.family == family], backends=["torch"])
    failures = [cell for cell in report.failures if (cell.primitive, cell.check) not in OTHERWISE]
    assert report.cells
    assert not failures, report.text()
    assert {cell.primitive for cell in report.absent} == {name for name in NOT_THERE if name.startswith(f"{family}.")}


@pytest.mark.parametrize("family", FAMILIES)
def test_against_numpy(family):
    primitives = [primitive for primitive in primitives_of() if primitive.family == family]
    report = sweep(primitives, ["backends"], backends=["numpy", "torch"])
    assert not report.failures, report.text()
