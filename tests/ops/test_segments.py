"""Reductions by segments, against the reference, and bad input."""

import numpy as np
import pytest

import tangrad
from tangrad import ops
from tests.primitives.support import BACKENDS, agree_everywhere, check_batching, check_derivative, draw

jax = pytest.importorskip("jax")

NAMES = ("segment_sum", "segment_prod", "segment_max", "segment_min")
IDS = np.int32([0, 3, -1, 3, 9, 0, 1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize(
    "options", [{}, {"bucket_size": 3}, {"mode": "clip"}, {"bucket_size": 10, "mode": "drop"}], ids=str
)
def test_values(name, dtype, options):
    data = draw(dtype, 7, 2)
    expected = getattr(jax.ops, name)(data, IDS, 5, **options)
    agree_everywhere(lambda data, ids: getattr(ops, name)(data, ids, 5, **options), expected, data, IDS)


@pytest.mark.parametrize("name", NAMES)
def test_one_number_for_all(name):
    expected = getattr(jax.ops, name)(np.float32(2), IDS, 5)
    agree_everywhere(lambda data, ids: getattr(ops, name)(data, ids, 5), expected, np.float32(2), IDS)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_segments_is_counted(name):
    data, ids = draw("float32", 4), np.int32([2, 0, 0, -1])
    expected = getattr(jax.ops, name)(data, ids)
    assert expected.shape == (3,)
    np.testing.assert_allclose(getattr(ops, name)(data, ids), expected, rtol=1e-6)
    in_order = getattr(ops, name)(data, np.sort(ids), 3, True)
    np.testing.assert_allclose(in_order, getattr(jax.ops, name)(data, np.sort(ids), 3), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES[2:])
def test_extrema_of_truth_values(name):
    data = np.array([True, False, False, True])
    expected = getattr(jax.ops, name)(data, IDS[:4], 4)
    agree_everywhere(lambda data: getattr(ops, name)(data, IDS[:4], 4), expected, data)


@pytest.mark.parametrize("bucket_size", [None, 2])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name, bucket_size):
    def function(data):
        ids = IDS % 4
        return getattr(ops, name)(tangrad.numpy.sin(data), ids, 4, bucket_size=bucket_size)[np.array([0, 1, 3])]

    check_derivative(function, draw("float64", 7))


@pytest.mark.parametrize("name", NAMES)
def test_mapped_axes(name):
    check_batching(lambda data, ids: getattr(ops, name)(data, ids, 4), draw("float32", 7), IDS)


def test_empty_arrays():
    nothing = np.zeros((0, 2), np.float32)
    np.testing.assert_array_equal(ops.segment_sum(nothing, np.zeros(0, np.int32), 2), np.zeros((2, 2)))
    np.testing.assert_array_equal(ops.segment_max(nothing, np.zeros(0, np.int32), 1, bucket_size=4), [[-np.inf] * 2])


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([1.0], IDS[:1]), {}, TypeError, "segment_sum requires arrays or numbers, got [1.0]"),
        ((np.ones(7), IDS.astype(float)), {}, TypeError, "segment_ids must be integers"),
        ((np.ones(6), IDS), {}, ValueError, "got shapes (7,) and (6,)"),
        ((np.ones((2, 2)), np.zeros((2, 2), int)), {}, ValueError, "segment_ids must have one dimension"),
        ((np.ones(7), IDS[0]), {}, ValueError, "segment_ids must have one dimension"),
        ((np.ones(7), IDS, -1), {}, ValueError, "num_segments must not be negative, got -1"),
        ((np.ones(7), IDS, 2.5), {}, TypeError, "num_segments must be an integer, got 2.5"),
        ((np.ones(0), IDS[:0]), {}, ValueError, "num_segments must be given"),
        ((np.ones(7), IDS), {"bucket_size": 0}, ValueError, "bucket_size must be positive, got 0"),
        ((np.ones(7), IDS, 4), {"mode": "x"}, ValueError, "'x'"),
        ((np.ones(7), IDS, 4), {"out_sharding": 1}, TypeError, "takes shardings and partition specs"),
    ],
    ids=str,
)
def test_bad_input(arguments, options, error, message):
    with pytest.raises(error) as caught:
        ops.segment_sum(*arguments, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_number_that_is_not_known(backend):
    with tangrad.use_backend(backend), pytest.raises(tangrad.errors.TracerIntegerConversionError):
        tangrad.jit(ops.segment_sum)(np.ones(7, np.float32), IDS)
