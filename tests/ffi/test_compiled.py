"""Handlers of C++ on both backends. Needs a compiler and jaxlib's header files."""

import ctypes
import gc
import shutil
import subprocess
from pathlib import Path

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import ffi, lax

pytest.importorskip("jaxlib")
COMPILER = next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler of C++")
EPS = onp.float32(1e-5)


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    built = tmp_path_factory.mktemp("kernels") / "kernels.so"
    source = Path(__file__).with_name("kernels.cc")
    command = [COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", f"-I{ffi.include_dir()}", source, "-o", built]
    subprocess.run(command, check=True, timeout=300)
    library = ctypes.CDLL(str(built))
    for name in ("normalize", "decode", "increment"):
        ffi.register_ffi_target(f"test_{name}", ffi.pycapsule(getattr(library, name)))
    library.counter_type.restype = library.counter_type_info.restype = ctypes.c_void_p
    kind = {
        "type_id": ffi.pycapsule(ctypes.c_void_p(library.counter_type())),
        "type_info": ffi.pycapsule(ctypes.c_void_p(library.counter_type_info())),
    }
    ffi.register_ffi_type("test_counter_state", kind)
    ffi.register_ffi_target("test_counter", {"instantiate": library.begin, "execute": library.count})
    return library


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    with tangrad.default_device(tangrad.devices(request.param)[0]):
        yield request.param


def like(x):
    return tangrad.ShapeDtypeStruct(x.shape, x.dtype)


def normalize(x, eps=EPS, **options):
    return ffi.ffi_call("test_normalize", like(x), **options)(x, eps=eps)


def expected(x):
    x = onp.asarray(x)
    return x / onp.sqrt((x**2).mean(-1, keepdims=True) + EPS)


def draw(*shape):
    return np.asarray(onp.random.default_rng(0).normal(size=shape).astype("float32"))


def test_values_eager_jitted_and_in_loops():
    x = draw(3, 4)
    onp.testing.assert_allclose(normalize(x), expected(x), rtol=1e-5)
    onp.testing.assert_allclose(tangrad.jit(normalize)(x), expected(x), rtol=1e-5)
    looped = tangrad.jit(lambda x: lax.fori_loop(0, 2, lambda _, y: normalize(y) * 2, x))
    onp.testing.assert_allclose(looped(x), 2 * expected(2 * expected(x)), rtol=1e-5)


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]
)
def test_mapped(method):
    x = draw(3, 2, 4)
    mapped = tangrad.vmap(lambda x: normalize(x, vmap_method=method), in_axes=1, out_axes=1)
    onp.testing.assert_allclose(mapped(x), expected(x), rtol=1e-5)
    onp.testing.assert_allclose(tangrad.jit(tangrad.vmap(mapped))(x[None]), expected(x)[None], rtol=1e-5)


def test_mapped_over_no_rows():
    assert tangrad.vmap(lambda x: normalize(x, vmap_method="sequential"))(draw(0, 4)).shape == (0, 4)


def test_attributes_reach_the_handler_by_type():
    given = {"number": -3, "real": 2.5, "text": "né", "flag": True, "nested": {"other": 1.0, "inner": 7}}
    call = ffi.ffi_call("test_decode", tangrad.ShapeDtypeStruct((6,), "float32"))
    onp.testing.assert_array_equal(call(**given, list=onp.int32([4, 5])), [-3, 2.5, 3, 1, 25, 7])


def test_memory_of_an_operand_becomes_that_of_a_result():
    x = draw(3)
    kept = onp.array(x)
    increment = lambda x: ffi.ffi_call("test_increment", like(x), input_output_aliases={0: 0})(x)
    onp.testing.assert_allclose(increment(x), kept + 1, rtol=1e-6)
    onp.testing.assert_array_equal(x, kept)  # it is referenced elsewhere: it was copied
    onp.testing.assert_allclose(tangrad.jit(lambda x: increment(increment(x)) + x)(x), 2 * kept + 2, rtol=1e-6)


def test_layouts():
    x = draw(2, 3)
    raw = onp.ascontiguousarray(onp.asarray(x).T).reshape(2, 3)  # what the handler reads in memory
    got = normalize(x, eps=EPS, input_layouts=[(1, 0)], output_layouts=(0, 1))
    onp.testing.assert_allclose(got, expected(raw), rtol=1e-5)


def test_states_live_as_long_as_their_programs(library):
    count = lambda: ffi.ffi_call("test_counter", tangrad.ShapeDtypeStruct((), "int32"), has_side_effect=True)(start=5)
    before = library.number_of_counters()
    first, second = tangrad.jit(lambda: count()), tangrad.jit(lambda: count() + 100)
    assert [int(first()), int(first()), int(second()), int(first())] == [5, 6, 105, 7]
    assert library.number_of_counters() == before + 2
    del first, second
    tangrad.clear_caches()
    gc.collect()
    assert library.number_of_counters() == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: normalize(x, eps=1.0), "expected F32 but got F64"),
        (lambda x: normalize(x.astype("int32")), "expected F32 but got S32"),
        (lambda x: normalize(x[0, 0]), "x must have a dimension"),
        (lambda x: ffi.ffi_call("test_normalize", like(x))(x), "Wrong number of attributes"),
        (lambda x: ffi.ffi_call("test_normalize", like(x))(x, x, eps=EPS), "Wrong number of arguments"),
        (lambda x: ffi.ffi_call("test_normalize", [like(x)] * 2)(x, eps=EPS)[0], "Wrong number of results"),
    ],
)
def test_what_the_handler_refuses(call, message):
    x = draw(2, 3)
    for run in (call, tangrad.jit(call)):
        with pytest.raises(RuntimeError, match=message):
            run(x).block_until_ready()
    onp.testing.assert_allclose(normalize(x), expected(x), rtol=1e-5)  # and the next call works


def test_a_derivative_from_a_rule_around_it():
    @tangrad.custom_vjp
    def smooth(x):
        return normalize(x)

    def backward(x, cotangent):
        scale = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + EPS)
        inner = (cotangent * x).mean(-1, keepdims=True)
        return (cotangent * scale - x * scale**3 * inner,)

    smooth.defvjp(lambda x: (smooth(x), x), backward)
    x, weights = draw(2, 3), draw(2, 3) + 1
    got = tangrad.jit(tangrad.grad(lambda x: (smooth(x) * weights).sum()))(x)
    plain = lambda x: (x / np.sqrt((x**2).mean(-1, keepdims=True) + EPS) * weights).sum()
    onp.testing.assert_allclose(got, tangrad.grad(plain)(x), rtol=1e-4, atol=1e-5)
