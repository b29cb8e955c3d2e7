"""What is refused before any handler is called, and how targets are registered."""

import ctypes

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import ffi

TWO = onp.float32(2)
FLOATS = tangrad.ShapeDtypeStruct((3,), "float32")


@pytest.fixture(scope="module", autouse=True)
def targets():
    from tangrad._ffi.samples import samples

    samples()


def scaled(x, factor=TWO, **options):
    return ffi.ffi_call("tangrad.samples.scale", FLOATS, **options)(x, factor=factor)


def test_a_handler_without_compiler():
    x = np.arange(3, dtype="float32")
    onp.testing.assert_array_equal(scaled(x), 2 * onp.arange(3, dtype="float32"))


def test_attributes_are_equal_only_by_type_and_bits():
    traced = lambda factor: tangrad.make_jaxpr(lambda x: scaled(x, factor))(np.ones(3)).eqns[0].params["attributes"]
    assert traced(onp.float32(1)) == traced(onp.float32(1))
    different = [onp.float32(1), 1.0, 1, True, onp.float32(-0.0), onp.float32(0), [1], onp.float32([1]), "1", {"a": 1}]
    for number, one in enumerate(different):
        assert [traced(one) == traced(other) for other in different].count(True) == 1, number


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: ffi.ffi_call("tangrad.samples.scal", FLOATS)(x),
            RuntimeError,
            r"did you mean 'tangrad.samples.scale'",
        ),
        (
            lambda x: ffi.ffi_call("nowhere", FLOATS)(x),
            RuntimeError,
            r"register it first: tangrad.ffi.register_ffi_target",
        ),
        (lambda x: ffi.ffi_call(3, FLOATS), TypeError, r"the target's name is a text, got 3"),
        (lambda x: ffi.ffi_call("t", "float32"), TypeError, r"result_shape_dtypes must have a shape and a dtype"),
        (lambda x: ffi.ffi_call("t", [FLOATS, None]), TypeError, r"result_shape_dtypes\[1\] must have a shape"),
        (lambda x: ffi.ffi_call("t", tangrad.ShapeDtypeStruct((), "float64")), ValueError, r"64-bit types are off"),
        (lambda x: scaled(x, vmap_method="rows"), ValueError, r"vmap_method must be one of"),
        (
            lambda x: scaled("x"),
            TypeError,
            r"argument 0 of 'tangrad.samples.scale' is 'x' of type str, which is no array",
        ),
        (lambda x: scaled(tangrad.random.key(0)), TypeError, r"argument 0 .* has dtype key.*, unknown to C"),
        (lambda x: scaled(x, factor=None), TypeError, r"attribute factor must be a number.* got None of type NoneType"),
        (lambda x: scaled(x, factor={"a": 1j}), TypeError, r"attribute factor.a must be a number"),
        (
            lambda x: scaled(x, factor=x),
            TypeError,
            r"attribute factor must .*; pass arrays that are computed as arguments",
        ),
        (
            lambda x: scaled(x, factor=2**63),
            OverflowError,
            r"attribute factor is 9223372036854775808, which 64 bits do not",
        ),
        (lambda x: scaled(x, input_layouts=[]), ValueError, r"input_layouts has 0 entries for 1 arguments"),
        (
            lambda x: scaled(x, output_layouts=(1,)),
            ValueError,
            r"output_layouts\[0\] is \(1,\), which is no order of the 1",
        ),
        (lambda x: scaled(x, input_output_aliases={1: 0}), ValueError, r"name operand 1; there are 1"),
        (lambda x: scaled(x, input_output_aliases={0: 2}), ValueError, r"name result 2; there are 1"),
        (
            lambda x: scaled(np.ones(2), input_output_aliases={0: 0}),
            ValueError,
            r"result 0, of type f32\[3\], the memory",
        ),
        (lambda x: scaled(x, custom_call_api_version=5), ValueError, r"custom_call_api_version is 1, 2, 3 or 4, got 5"),
        (lambda x: scaled(x, legacy_backend_config="x"), ValueError, r"legacy_backend_config is for"),
        (
            lambda x: scaled(x, custom_call_api_version=2),
            ValueError,
            r"old custom calls take no attributes, got \['factor'\]",
        ),
        (
            lambda x: tangrad.vmap(scaled)(np.ones((2, 3))),
            NotImplementedError,
            r"'tangrad.samples.scale' is mapped by vmap",
        ),
        (lambda x: tangrad.grad(lambda x: scaled(x).sum())(x), ValueError, r"cannot be differentiated: .*custom_jvp"),
    ],
)
def test_bad_calls(call, error, message):
    x = np.ones(3)
    with pytest.raises(error, match=message):
        call(x)
    onp.testing.assert_array_equal(scaled(x), onp.full(3, 2, "float32"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("", 0), TypeError, r"the name of a target is a text that is not empty, got ''"),
        (("t", lambda frame: None), TypeError, r"stage 'execute' of target 't' must be a capsule"),
        (("t", {"instantiate": ctypes.CDLL(None).abs}), ValueError, r"'execute' must be there"),
        (("t", {"run": ctypes.CDLL(None).abs}), ValueError, r"the stages of target 't' are \['run'\]"),
        (("t", ctypes.CDLL(None).abs, "vulkan"), ValueError, r"is for the platform 'vulkan'; known are"),
        (("t", ctypes.CDLL(None).abs, "cpu", 7), ValueError, r"api_version is 1, or 0 for old custom calls, got 7"),
        (
            ("tangrad.samples.scale", ctypes.CDLL(None).abs),
            ValueError,
            r"another function is registered as 'tangrad.sam",
        ),
    ],
)
def test_bad_registrations(arguments, error, message):
    with pytest.raises(error, match=message):
        ffi.register_ffi_target(*arguments)


def test_a_target_of_another_platform_and_version():
    function = ctypes.CDLL(None).abs
    ffi.register_ffi_target("test_gpu_only", function, platform="gpu")
    with pytest.raises(RuntimeError, match="registered as 'test_gpu_only' for the platform 'cpu', only for cuda"):
        ffi.ffi_call("test_gpu_only", FLOATS)()
    ffi.register_ffi_target("test_old", function, api_version=0)
    with tangrad.default_device(tangrad.devices("numpy")[0]), pytest.raises(RuntimeError, match="XLA alone can call"):
        ffi.ffi_call("test_old", FLOATS)()
    ffi.register_ffi_target("test_old", function, api_version=0)  # the same once more is fine


def test_capsules_are_of_functions():
    with pytest.raises(TypeError, match="a function of a library that ctypes has loaded, got 3 of type int"):
        ffi.pycapsule(3)
    with pytest.raises(TypeError, match=r"must be a dictionary of the capsules 'type_id' and 'type_info', got \{\}"):
        ffi.register_ffi_type("t", {})
