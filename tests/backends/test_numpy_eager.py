"""The NumPy backend, operation by operation: arrays, dispatch, devices, and what is done about bad input."""

import copy
import gc
import pickle
import warnings
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
import pytest

import tangrad
from tangrad import use_backend
from tangrad._backend_numpy import dispatch
from tangrad._backend_numpy.array import NumpyArray, PlacedArray
from tangrad._backend_numpy.backend import NumpyDevice
from tangrad._backend_numpy.kernels import kernel
from tangrad._backend_numpy.quiet import outside
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, eval_jaxpr, literal, register, trace_to_jaxpr
from tangrad.errors import MissingRuleError, UnexpectedTracerError
from tests.backends.numpy_support import F32, NUMPY, compiled, put, same

p = pytest.importorskip("tangrad._lax.elementwise.primitives")
s = pytest.importorskip("tangrad._lax.structure.primitives")


# --- arrays --------------------------------------------------------------------------------------------------------


def test_put_copies() -> None:
    source = np.arange(3, dtype=F32)
    x = put(source)
    source[0] = 9
    assert x.tolist() == [0, 1, 2]


def test_put_refuses_another_shape() -> None:
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(3,\)"):
        NUMPY.put(np.zeros(3, F32), ShapedArray((2,), F32))


def test_contents_cannot_be_written_to() -> None:
    for x in (put([1, 2, 3]), s.reshape_p.bind(put([1, 2, 3]), new_sizes=(3, 1), dimensions=None)):
        contents = np.asarray(x)
        with pytest.raises(ValueError, match="read-only"):
            contents[0] = 5
        with pytest.raises(ValueError, match="WRITEABLE"):
            contents.flags.writeable = True
        assert np.array(x).flags.writeable
    with pytest.raises(TypeError, match=r"\.at\["):
        put([1, 2])[0] = 3


def test_pickle_and_copy_by_value() -> None:
    x = p.mul_p.bind(put([1.5, 2]), put([2, 2]))
    weak = NUMPY.put(np.asarray(2.0, F32), ShapedArray((), F32, True))
    for array in (x, weak):
        for clone in (pickle.loads(pickle.dumps(array)), copy.deepcopy(array)):
            same(clone, array)
            assert clone.aval is array.aval
    assert copy.copy(x) is x


def test_deleted_arrays_say_so() -> None:
    x = put([1, 2])
    p.neg_p.bind(x)
    x.delete()
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match=r"float32\[2\]|f32\[2\]"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match="deleted"):
        p.neg_p.bind(x)
    with pytest.raises(RuntimeError, match="deleted"):
        x.block_until_ready()


def test_dlpack_both_ways() -> None:
    x = put([[1, 2], [3, 4]])
    same(np.from_dlpack(x), x)
    same(NUMPY.from_dlpack(np.arange(4)), np.arange(4))
    with pytest.raises(TypeError, match="__dlpack__"):
        NUMPY.from_dlpack([1, 2])


# --- dispatch ------------------------------------------------------------------------------------------------------


def test_results_without_dimensions_are_arrays() -> None:
    x, flag = put(0.25), put(True, bool)
    results = [
        p.sin_p.bind(x),
        p.logistic_p.bind(x),
        p.select_n_p.bind(flag, x, x),
        p.convert_element_type_p.bind(x, new_dtype=np.dtype("int32"), weak_type=False),
        p.integer_pow_p.bind(x, y=0),
        p.complex_p.bind(x, x),
        s.squeeze_p.bind(put([1]), dimensions=(0,)),
        s.slice_p.bind(put([1, 2]), start_indices=(0,), limit_indices=(1,), strides=None),
    ]
    for result in results:
        assert type(result) is NumpyArray
        assert type(result.ndarray) is np.ndarray
        assert result.ndarray.shape == result.shape
        assert result.ndarray.dtype == result.dtype


def test_a_small_part_does_not_keep_the_whole_alive() -> None:
    x = put(np.ones((100, 100), F32))
    row = s.slice_p.bind(x, start_indices=(0, 0), limit_indices=(1, 100), strides=None)
    most = s.slice_p.bind(x, start_indices=(0, 0), limit_indices=(99, 100), strides=None)
    assert row.ndarray.base is None or row.ndarray.base.nbytes == row.nbytes
    assert most.ndarray.base is x.ndarray


def test_literals_mix_with_arrays() -> None:
    x, two = put([1, 2, 3]), literal(2.0, F32, True)
    for _ in range(2):
        assert p.mul_p.bind(x, two).tolist() == [2, 4, 6]
        assert p.sub_p.bind(two, x).tolist() == [1, 0, -1]
    assert not p.add_p.bind(two, x).weak_type


def test_cache_is_bounded_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "CACHE_LIMIT", 4)
    for size in range(1, 9):
        p.neg_p.bind(put(np.ones(size, F32)))
        assert len(dispatch._kernels) <= 4
    NUMPY.clear_caches()
    assert not dispatch._kernels


def test_parameters_are_distinguished_by_type() -> None:
    x = put([1.5, -2.5])
    for dtype, expected in (("int32", [1, -2]), ("bool", [True, True]), ("float64", [1.5, -2.5])):
        result = p.convert_element_type_p.bind(x, new_dtype=np.dtype(dtype), weak_type=False)
        assert result.tolist() == expected
        assert result.dtype == dtype


def test_bad_input_gets_the_primitive_s_error() -> None:
    with pytest.raises((TypeError, ValueError), match="add"):
        p.add_p.bind(put([1, 2]), put([1, 2, 3]))
    with pytest.raises(TypeError, match="float32 and int32"):
        p.add_p.bind(put([1, 2]), put([1, 2], "int32"))
    with pytest.raises(TypeError, match="'y'"):
        p.integer_pow_p.bind(put([1]), y=[])


def test_a_leaked_tracer_is_found() -> None:
    leaked = []

    def function(x: object) -> tuple[object]:
        leaked.append(x)
        return (x,)

    trace_to_jaxpr(function, [ShapedArray((2,), F32)])
    for args in ((leaked[0], put([1, 2])), (put([1, 2]), leaked[0])):
        with pytest.raises(UnexpectedTracerError):
            p.add_p.bind(*args)


def test_no_warnings_and_no_changed_state() -> None:
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p.log_p.bind(put([-1.0, 0.0]))
        p.div_p.bind(put([1, 0], "int32"), put([0, 0], "int32"))
        p.exp_p.bind(put([1e4]))
    assert np.geterr() == before
    with np.errstate(all="raise"):  # what the user asks of NumPy is not asked of kernels
        assert np.isnan(p.log_p.bind(put(-1.0)).item())


# --- rules of others -----------------------------------------------------------------------------------------------


def _family(name: str, rule: object, several: bool = False) -> tuple[object, object, object]:
    family = PrimitiveSet(name, api=1)

    def abstract(x: object) -> object:
        return (x, ShapedArray((), x.dtype)) if several else x

    primitive = family.primitive(abstract, name="test", multiple_results=several)
    lower = RuleSet("lower.numpy", api=1)
    lower.add(primitive, rule)
    return family, lower, primitive


def test_a_plain_rule() -> None:
    seen = []

    def rule(ctx: object, x: np.ndarray) -> tuple[np.ndarray, object]:
        seen.append((ctx.in_avals, ctx.out_avals))
        return x * 2, x.sum()

    family, lower, primitive = _family("numpy_plain", rule, several=True)
    with register(family), register(lower):
        for _ in range(2):
            doubled, total = primitive.bind(put([1, 2]))
        assert doubled.tolist() == [2, 4]
        assert total.item() == 3
    assert seen[0][0][0].shape == (2,)
    assert len(seen) == 2


@pytest.mark.parametrize("wrong", [lambda x: x[:1], lambda x: x.astype("float64"), lambda x: None, lambda x: list(x)])
def test_a_plain_rule_that_is_wrong(wrong: object) -> None:
    family, lower, primitive = _family("numpy_wrong", lambda ctx, x: wrong(x))
    with register(family), register(lower), pytest.raises(TypeError, match=r"numpy_wrong\.test.*expected"):
        primitive.bind(put([1, 2]))


def test_a_plain_rule_may_compute_with_arrays_and_call_users() -> None:
    def rule(ctx: object, x: np.ndarray) -> np.ndarray:
        inside = p.log_p.bind(put(-x))  # inside the quiet context already
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outside(np.log, np.float32(-1.0))  # a user's function: NumPy warns as ever
            result = outside(lambda: p.add_p.bind(inside, put(x)))
        assert [str(w.message) for w in caught] == ["invalid value encountered in log"]
        return result.ndarray

    family, lower, primitive = _family("numpy_nested", rule)
    with register(family), register(lower):
        assert np.isnan(np.asarray(primitive.bind(put([1, 2])))).all()
        p.add_p.bind(put([1]), put([2]))


@pytest.mark.parametrize(
    "function",
    [np.sum, methodcaller("sum"), methodcaller("sum", axis=0), itemgetter(1), itemgetter((1, ...)), lambda x: x[1]],
)
def test_kernels_may_be_any_callable(function: Any) -> None:
    family = PrimitiveSet("numpy_callables", api=1)
    primitive = family.primitive(lambda x: ShapedArray((), x.dtype), name="test")
    lower = RuleSet("lower.numpy", api=1)
    kernel(lower, primitive)(lambda ctx: function)
    x = put([1, 2])
    with register(family), register(lower):
        for result in (primitive.bind(x), compiled(lambda x: (primitive.bind(x),), x).execute([x])[0]):
            same(result, np.asarray(function(np.asarray(x))))


def test_errors_of_kernels_arrive_whole() -> None:
    def rule(ctx: object, x: np.ndarray) -> np.ndarray:
        raise RuntimeError("of the rule")

    family, lower, primitive = _family("numpy_raises", rule)
    with register(family), register(lower):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="of the rule"):
                primitive.bind(put([1]))


def test_a_missing_rule_is_named() -> None:
    family = PrimitiveSet("numpy_missing", api=1)
    primitive = family.primitive(lambda x: x, name="test")
    with register(family), pytest.raises(MissingRuleError, match=r"lower\.numpy"):
        primitive.bind(put([1]))


def test_a_decomposition_stands_in_for_a_rule() -> None:
    family = PrimitiveSet("numpy_decomposed", api=1)
    primitive = family.primitive(
        lambda x, *, factor: x, name="test", decompose=lambda x, *, factor: p.mul_p(p.sin_p.bind(x), factor)
    )
    with register(family):
        same(primitive.bind(put([1, 2]), factor=2.0), np.sin(np.array([1, 2], F32)) * np.float32(2))
        jaxpr, consts = trace_to_jaxpr(lambda x: (primitive.bind(x, factor=3.0),), [ShapedArray((), F32)])
        assert eval_jaxpr(jaxpr, consts, put(0.0))[0].item() == 0


# --- devices -------------------------------------------------------------------------------------------------------


@pytest.fixture
def four_devices(monkeypatch: pytest.MonkeyPatch) -> tuple[NumpyDevice, ...]:
    devices = tuple([NumpyDevice(NUMPY, number, "cpu") for number in range(4)])
    monkeypatch.setattr(NUMPY, "_devices", devices)
    return devices


def test_arrays_remember_their_device(four_devices: tuple[NumpyDevice, ...]) -> None:
    x, y = put([1, 2], device=four_devices[2]), put([3, 4])
    assert (x.device, x.committed, y.device, y.committed) == (four_devices[2], True, four_devices[0], False)
    for result in (p.add_p.bind(x, y), p.add_p.bind(y, x), p.add_p.bind(x, literal(1.0, F32))):
        assert isinstance(result, PlacedArray)
        assert result.device is four_devices[2]
        assert result.devices() == {four_devices[2]}
    assert p.add_p.bind(y, y).device is four_devices[0]
    moved = NUMPY.move(x, four_devices[1])
    assert moved.device is four_devices[1]
    same(moved, x)
    x.delete()
    assert x.is_deleted() and not moved.is_deleted()


def test_committed_to_different_devices(four_devices: tuple[NumpyDevice, ...]) -> None:
    x, y = put([1, 2], device=four_devices[2]), put([1, 2], device=four_devices[0])
    with pytest.raises(ValueError, match=r"add.*different devices.*argument 0.*numpy:cpu:2.*argument 1.*numpy:cpu:0"):
        p.add_p.bind(x, y)


def test_other_platforms_are_refused() -> None:
    with pytest.raises(RuntimeError, match="'gpu'"):
        NUMPY.devices("gpu")
    with pytest.raises(ValueError, match="device of the NumPy backend"):
        put([1], device="cpu:0")


# --- Parts of arrays that the NumPy backend takes without an operation, and arrays as NumPy sees them ---


tnp = pytest.importorskip("tangrad.numpy")

INDICES = [
    *(0, -1, slice(1, 3), slice(None, None, -1), slice(5, 0, -2), (0, slice(None)), (slice(None), 1), (1, 2), (-1, -1)),
    *((None, 0), (Ellipsis, 2), Ellipsis, None, (), (slice(0, 0), 1), np.array([0, -2]), np.array([[0], [2]])),
    *((slice(None), np.array([2, 0])), (np.array([0, 1]), None, np.array([1, 1])), np.array([True, False, True])),
    *((np.array([0, 1]), slice(1, 3)), np.array(1), np.zeros(0, np.int32), (np.array([0, 1]), np.uint8(2))),
]


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_parts_are_those_of_programs(dtype, weak):
    """In contents, dtype and weak type."""
    with use_backend("numpy"):
        x = tnp.asarray(np.arange(12).reshape(3, 4) % 5).astype(dtype)
        if weak:
            if dtype in ("bool", "bfloat16"):
                pytest.skip("no numbers of Python are such")
            x = tnp.full((3, 4), {"float32": 2.0, "complex64": 2j}[dtype]) * 1
        for index in INDICES:
            found, expected = x[index], tangrad.jit(lambda a, index=index: a[index])(x)
            assert found.aval is expected.aval, index
            np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), err_msg=str(index))


def test_what_is_beyond_the_array_is_left_to_operations() -> None:
    with use_backend("numpy"):
        x = put(np.arange(5, dtype=F32))
        assert [float(x[7]), float(x[-9])] == [4, 0]
        assert x[np.array([1, 9, -8])].tolist() == [1, 4, 0]
        assert x[tnp.asarray([9])].tolist() == [4]
        for index, error in (([0, 1], TypeError), (1.0, TypeError), ("a", TypeError), ((0, 0), IndexError)):
            with pytest.raises(error):
                x[index]
        with pytest.raises(IndexError, match="boolean index"):
            x[np.array([True, False])]
        assert x[True].shape == (1, 5)
        assert x[np.array(False)].shape == (0, 5)


def test_all_of_an_array_is_the_array() -> None:
    x = put(np.arange(5, dtype=F32))
    assert x[:] is x
    assert x[0:9] is x
    assert x[::-1] is not x


def test_parts_outlive_what_they_are_parts_of() -> None:
    x = put(np.arange(5, dtype=F32))
    with use_backend("numpy"):  # where values have been checked, positions are made into arrays first
        slice_, number, chosen = x[1:3], x[2], x[np.array([0, 4])]
    tangrad.jit(lambda a: a * 0, donate_argnums=0)(x)
    del x
    gc.collect()
    assert (slice_.tolist(), number.tolist(), chosen.tolist()) == ([1, 2], 2, [0, 4])


def test_parts_of_a_deleted_array() -> None:
    x = put(np.arange(5, dtype=F32))
    x.delete()
    with use_backend("numpy"):
        for index in (0, slice(1, 2), np.array([0])):
            with pytest.raises(RuntimeError, match="deleted"):
                x[index]


def test_parts_are_looked_at_where_values_are_checked() -> None:
    x = put(np.array([1, np.nan], F32))
    with tangrad.debug_nans(True):
        assert float(x[0]) == 1
        with pytest.raises(FloatingPointError, match="nan"):
            x[1]
    assert np.isnan(float(x[1]))


def test_parts_of_random_keys() -> None:
    random = pytest.importorskip("tangrad.random")
    with use_backend("numpy"):
        keys = random.split(random.key(0), 3)
        assert keys[1].shape == ()
        assert keys[::-1].shape == (3,)
        np.testing.assert_array_equal(random.key_data(keys[1]), random.key_data(keys)[1])


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_arrays_as_numpy_sees_them(backend) -> None:
    """Read-only, without a copy on the host, alive after the array is gone; dtypes that NumPy lacks keep theirs."""
    if backend == "xla":
        pytest.importorskip("jaxlib")
    with use_backend(backend):
        for dtype in ("float32", "bool", "complex64", "float16", "int8", "bfloat16"):
            for shape in ((), (3,), (0, 2), (2, 3)):
                x = tnp.ones(shape, dtype)
                seen = np.asarray(x)
                assert (seen.dtype, seen.shape) == (x.dtype, shape)
                with pytest.raises(ValueError, match="WRITEABLE"):
                    seen.flags.writeable = True
                assert np.array(x).flags.writeable
                assert np.asarray(x, "float64" if dtype != "complex64" else "complex128").sum() == x.size
                del x
                gc.collect()
                assert (np.asarray(seen, "complex64") == 1).all()
        assert np.array([tnp.ones(()), tnp.zeros(())]).tolist() == [1, 0]
        random = pytest.importorskip("tangrad.random")
        with pytest.raises(TypeError, match="do not become NumPy arrays"):
            np.asarray(random.key(0))


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_clipping_between_numbers_is_what_programs_do(backend) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    bounds = [np.nan, -np.inf, np.inf, -0.0, 0.0, 1, 5.0, -3]
    with use_backend(backend):
        arrays = [
            tnp.asarray(np.array(bounds, F32)),
            tnp.arange(5),
            tnp.arange(5, dtype="bfloat16"),
            tnp.ones((2, 2)) > 0,
        ]
        for x in arrays:
            for low in bounds:
                for high in bounds if x is arrays[0] else [2, 2.5]:
                    found, expected = tnp.clip(x, low, high), tangrad.jit(tnp.clip)(x, low, high)
                    assert found.aval is expected.aval
                    np.testing.assert_array_equal(np.asarray(found, F32), np.asarray(expected, F32))


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_splitting_at_positions(backend) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    host = np.arange(24, dtype=F32).reshape(4, 6)
    with use_backend(backend):
        x = tnp.asarray(host)
        for given, axis in (
            ([1, 3], 0),
            ([3, 3, 2, 12, -1], 1),
            ([0], -1),
            ((), 0),
            (np.array([2]), 1),
            (3, 1),
            (2, 0),
        ):
            found = tnp.split(x, given, axis)
            expected = np.split(host, given, axis)
            assert [part.tolist() for part in found] == [part.tolist() for part in expected]
        assert [part.shape for part in tnp.array_split(x, 4, 1)] == [(4, 2), (4, 2), (4, 1), (4, 1)]


def test_numbers_of_large_arrays_do_not_keep_them():
    with use_backend("numpy"):
        large = tnp.ones(1 << 16) + 1
        numbers = [large[5], large.reshape(256, 256)[3, 4], next(iter(large))]
        assert all([np.asarray(number.ndarray).base is None or number.ndarray.base.size <= 64 for number in numbers])
        assert [float(number) for number in numbers] == [2.0] * 3
        assert [float(number) for number in tnp.arange(3000.0)] == list(range(3000))
