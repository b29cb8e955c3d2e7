"""Arguments that came with JAX's signatures: each does what it says, as there."""

import importlib
import warnings

import numpy
import pytest

import tangrad
import tangrad.numpy as np

jax = pytest.importorskip("jax", reason="the reference is not installed")
LIBRARIES = [pytest.param(jax, id="jax"), pytest.param(tangrad, id="tangrad")]
X = numpy.arange(6.0, dtype="float32").reshape(2, 3)


@pytest.fixture(params=LIBRARIES)
def library(request):
    for name in ("numpy", "random", "lax", "custom_derivatives"):
        importlib.import_module(f"{request.param.__name__}.{name}")
    return request.param


def test_methods_of_arrays(library):
    x = library.numpy.asarray(X)
    assert x.astype(dtype="int32").dtype == x.astype("int32", False).dtype == "int32"
    assert x.astype("float32", copy=True, device=library.devices()[0]).dtype == "float32"
    assert x.to_device(device=library.devices()[0]).shape == (2, 3)
    for dtype in ("int32", "uint8", "int16", "float32", "complex64"):
        values = X.astype(dtype)
        swapped = library.numpy.asarray(values).byteswap()
        assert swapped.dtype == dtype
        assert numpy.asarray(swapped).tobytes() == values.byteswap().tobytes()


def test_names_of_operands(library):
    n = library.numpy
    assert n.fmax(x1=1, x2=2) == 2 and n.fmin(x1=1, x2=2) == 1
    assert n.gcd(x1=12, x2=18) == 6 and n.lcm(x1=4, x2=6) == 12
    assert n.trunc(x=1.5) == 1 and n.i0(x=0.0) > 0.99 and n.isreal(x=1.0) and not n.iscomplex(x=1.0)
    assert library.lax.nextafter(x1=numpy.float32(1), x2=numpy.float32(2)) > 1
    assert n.linalg.cross(X, X[::-1], axis=-1).shape == (2, 3)
    assert library.typeof(x=numpy.float32(1)).shape == ()


def test_products_in_another_dtype(library):
    x = numpy.array([100, -100], "int8")
    found = library.lax.mul(x, x, out_dtype="int32")
    assert found.dtype == "int32" and found.tolist() == [10000, 10000]


def test_results_that_are_summed_over_what_is_mapped(library):
    summed = library.vmap(lambda row: (row * 2, row.sum(), 1.0), out_axes=(None, 0, None), sum_match=True)
    total, sums, constant = summed(X)
    numpy.testing.assert_allclose(total, 2 * X.sum(0))
    numpy.testing.assert_allclose(sums, X.sum(1))
    assert constant == 1
    with pytest.raises(ValueError, match="out_axes"):
        library.vmap(lambda row: row, out_axes=None)(X)


def test_static_arguments_of_checkpoint_by_name():  # which JAX 0.10.2 takes, and leaves as they are
    def powers(x, *, how="sin", times=1):
        for _ in range(times):
            x = getattr(np, how)(x)
        return x

    kept = tangrad.checkpoint(powers, static_argnames=("how", "times"))
    value, slope = tangrad.value_and_grad(lambda x: kept(x, how="cos", times=2))(1.0)
    numpy.testing.assert_allclose(value, numpy.cos(numpy.cos(1.0)), rtol=1e-6)
    numpy.testing.assert_allclose(slope, numpy.sin(numpy.cos(1.0)) * numpy.sin(1.0), rtol=1e-5)
    numpy.testing.assert_allclose(kept(1.0), numpy.sin(1.0), rtol=1e-6)
    assert float(tangrad.checkpoint(lambda x, *, times: x * times)(2.0, times=3)) == 6


def test_arguments_that_are_static_by_name_may_be_given_by_position():
    kept = tangrad.checkpoint(lambda x, how: getattr(np, how)(x), static_argnames="how")
    numpy.testing.assert_allclose(tangrad.grad(lambda x: kept(x, "sin"))(1.0), numpy.cos(1.0), rtol=1e-6)
    numpy.testing.assert_allclose(tangrad.grad(lambda x: kept(x, how="sin"))(1.0), numpy.cos(1.0), rtol=1e-6)
    with pytest.raises(TypeError, match="static_argnames must be strings"):
        tangrad.checkpoint(np.sin, static_argnames=(1,))


def test_keys_by_their_dtype(library):
    random = library.random
    kind = random.key_dtype(impl_spec="threefry2x32")
    key = random.key(3, dtype=kind)
    assert random.key_data(key).tolist() == [0, 3]
    assert random.wrap_key_data(random.key_data(key), dtype=kind).dtype == key.dtype
    with pytest.raises((TypeError, ValueError)):
        random.key(3, impl="threefry2x32", dtype=kind)
    with pytest.raises((TypeError, ValueError)):
        random.key(3, dtype="float32")


def test_settings_as_context_managers(library):
    f = library.jit(lambda x: x + 1)
    with library.disable_jit(disable=False), library.enable_checks(new_val=True), library.log_compiles(False):
        assert f(1.0) == 2
    with library.no_tracing(), pytest.raises(RuntimeError, match="no_tracing"):
        library.jit(lambda x: x - 1)(1.0)
    with library.enable_custom_prng(True):
        assert library.numpy.shape(library.random.PRNGKey(0)) == ()
    words = library.random.PRNGKey(0)
    with library.legacy_prng_key("error"), pytest.raises(ValueError, match=r"uint32|words"):
        library.random.split(words)
    with library.legacy_prng_key("warn"), pytest.warns(UserWarning, match=r"uint32|words"):
        library.random.bits(words)


@pytest.mark.parametrize("seed", [5, numpy.int32(5), "array"])
def test_an_offset_of_seeds(library, seed):
    seed = library.numpy.int32(5) if seed == "array" else seed
    library.config.update("jax_random_seed_offset", 7)
    try:
        found = library.random.key_data(library.random.key(seed)).tolist()
    finally:
        library.config.update("jax_random_seed_offset", 0)
    assert found == [0, 12]


def test_why_a_program_is_made(caplog):
    f = tangrad.jit(lambda x: x * 3)
    with tangrad.explain_cache_misses(True):
        f(np.ones(3))
        f(np.ones(3))
        f(np.ones(4))
    said = [record.getMessage() for record in caplog.records if "no program" in record.getMessage()]
    assert len(said) == 2 and "new function" in said[0] and "types of the arguments" in said[1]


def test_arrays_of_parts_with_a_dtype(library):
    mesh = library.make_mesh((1,), ("x",), (library.sharding.AxisType.Auto,))
    sharding = library.NamedSharding(mesh, library.P("x"))
    made = library.make_array_from_callback((2,), sharding, lambda index: numpy.ones(2, "float32")[index], "float32")
    assert made.dtype == "float32"
    again = library.make_array_from_single_device_arrays((2,), sharding, [made], dtype="float32")
    assert again.tolist() == [1, 1]
    with warnings.catch_warnings():  # in JAX the name is about to go
        warnings.simplefilter("ignore")
        assert library.local_devices(host_id=0)


def test_dtypes_that_parts_do_not_have():
    sharding = tangrad.NamedSharding(tangrad.make_mesh((1,), ("x",)), tangrad.P("x"))
    with pytest.raises(ValueError, match="dtype is int32"):
        tangrad.make_array_from_single_device_arrays((2,), sharding, [np.ones(2)], dtype="int32")
    with pytest.raises(ValueError, match="host_id"):
        tangrad.local_devices(0, host_id=0)


def test_what_is_known_of_arguments(library):
    lowered = library.jit(lambda x, y: x + y, donate_argnums=0).lower(X, y=X[0])
    (first,), others = lowered.args_info
    assert (first.shape, first.dtype, first.donated) == ((2, 3), "float32", True)
    assert others["y"].donated is False
    stages = importlib.import_module(f"{library.__name__}.stages")
    assert isinstance(lowered, stages.Lowered) and isinstance(lowered.compile(), stages.Compiled)
    assert isinstance(library.jit(abs), stages.Wrapped) and isinstance(first, stages.ArgInfo)
    assert isinstance(library.jit(abs).trace(1.0), stages.Traced)


def test_arrays_of_others(library):
    dlpack = importlib.import_module(f"{library.__name__}.dlpack")
    assert dlpack.from_dlpack(X, None, True).tolist() == X.tolist()
    supported = {
        name: dlpack.is_supported_dtype(name) for name in ("float32", "bool", "bfloat16", "complex64", "uint8")
    }
    assert all(supported.values())
    assert not dlpack.is_supported_dtype("int4")


def test_errors_by_their_names(library):
    errors = importlib.import_module(f"{library.__name__}.errors")
    prefix = "Tracer" if library is tangrad else "JAX"
    type_error, index_error = getattr(errors, f"{prefix}TypeError"), getattr(errors, f"{prefix}IndexError")
    with pytest.raises(type_error):
        library.jit(lambda x: float(x))(1.0)
    with pytest.raises(index_error):
        library.jit(lambda x: x[x > 0])(X)
    assert issubclass(errors.TracerArrayConversionError, type_error)
    assert issubclass(errors.JaxRuntimeError, RuntimeError) and issubclass(
        errors.InconclusiveDimensionOperation, Exception
    )


def test_zero_tangents_of_values(library):
    zero = library.custom_derivatives.SymbolicZero.from_primal_value(numpy.ones((2, 3), "float32"))
    assert zero.shape == (2, 3) and zero.dtype == "float32"
