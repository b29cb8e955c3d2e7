"""Input at the edge of what makes sense has NumPy's results on both backends: beyond an array, negative tolerances."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.lax.linalg import lu_pivots_to_permutation as permutation

V = numpy.array([1.0, 2.0, 3.0], "float32")
HALF = numpy.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]], "float16")

# What the call is, and what comes of it: dtype and elements.
RESULTS = [
    # What is equal is close, whatever the tolerances.
    (lambda: np.isclose(V, V, rtol=-1.0), "bool", [True] * 3),
    (lambda: np.isclose(V, V + 1, rtol=-1.0), "bool", [False] * 3),
    (lambda: np.isclose(np.array([numpy.inf, numpy.nan]), np.array([numpy.inf, numpy.nan])), "bool", [True, False]),
    # Nothing is written beyond an array.
    (lambda: np.add.at(V, np.array([5, 0, 0]), 1.0, inplace=False), "float32", [3.0, 2.0, 3.0]),
    (lambda: np.add.at(V, np.array([-1, -4]), 1.0, inplace=False), "float32", [1.0, 2.0, 4.0]),
    (lambda: np.add.at(V, numpy.array([True, False, True]), 1.0, inplace=False), "float32", [2.0, 2.0, 4.0]),
    (lambda: np.add.reduceat(V, np.array([0, 5])), "float32", [6.0, numpy.nan]),
    (lambda: np.add.reduceat(V, np.array([0, 2])), "float32", [3.0, 3.0]),
    # The array API: of integers narrower than the default one, in the default one. JAX has it for sums alone.
    (lambda: np.cumulative_prod(np.array([1, 2, 3], "int8")), "int32", [1, 2, 6]),
    (lambda: np.cumulative_prod(np.array([1, 2, 3], "uint8")), "uint32", [1, 2, 6]),
    (lambda: np.cumulative_sum(np.array([1, 2, 3], "int8")), "int32", [1, 3, 6]),
    # JAX: a single real number is taken for a Python number.
    (lambda: np.angle(np.array(-1.0, "float16")), "float32", numpy.pi),
    (lambda: np.angle(np.array(1.0, "bfloat16")), "float32", 0.0),
    (lambda: np.angle(np.array([1.0], "float16")), "float16", [0.0]),
    (lambda: np.linalg.det(HALF), "float16", 18.0),
    (lambda: np.linalg.det(HALF.astype("float32").astype(np.bfloat16)), "bfloat16", 18.0),
    (lambda: np.nanargmax(np.zeros((0, 3)), axis=1), "int32", []),
    (lambda: permutation(np.array([0, 1, 5]), 3), "int32", [0, 1, 2]),
    (lambda: permutation(np.array([5, -1, 0]), 3), "int32", [2, 1, 0]),
]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_results(backend):
    with tangrad.use_backend(backend):
        for number, (call, dtype, elements) in enumerate(RESULTS):
            found = call()
            assert found.dtype == dtype, number
            numpy.testing.assert_allclose(numpy.asarray(found, "float64"), elements, rtol=1e-3, err_msg=str(number))
