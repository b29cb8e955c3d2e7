"""Functions that JAX has since 0.11: `numpy.top_k` and `minmax`, `lax.polynomial` and `log2`; values are JAX 0.12's."""

import math
from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "xla"])
INF, NAN = onp.inf, onp.nan
F = onp.float32([[3, NAN, 1, -0.0, 0, INF, -INF, 1], [2, 2, 1, 1, 0, 5, -5, NAN]])
VALUES = {
    "floats": F,
    "integers": onp.int8([[3, 1, 2, 1, 3, -128, 127, 0]]),
    "unsigned": onp.uint8([3, 0, 255, 255, 1]),
    "booleans": onp.array([True, False, True, False]),
}
LARGEST = {
    "floats": ([[NAN, INF, 3], [NAN, 5, 2]], [[1, 5, 0], [7, 5, 0]]),
    "integers": ([[127, 3, 3]], [[6, 0, 4]]),
    "unsigned": ([255, 255, 3], [2, 3, 0]),
    "booleans": ([True, True, False], [0, 2, 1]),
}
SMALLEST = {
    "floats": ([[-INF, -0.0, 0], [-5, 0, 1]], [[6, 3, 4], [6, 4, 2]]),
    "integers": ([[-128, 0, 1]], [[5, 7, 1]]),
    "unsigned": ([0, 1, 3], [1, 4, 0]),
    "booleans": ([False, False, True], [1, 3, 0]),
}


@BACKENDS
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("mode", ["largest", "smallest"])
def test_top_k(mode: str, kind: str, backend: str) -> None:
    expected = (LARGEST if mode == "largest" else SMALLEST)[kind]
    function = tangrad.jit(lambda x: np.top_k(x, 3, mode=mode, sorted=False), backend=backend)
    values, positions = function(VALUES[kind])
    onp.testing.assert_array_equal(values, expected[0])
    onp.testing.assert_array_equal(positions, expected[1])
    assert values.dtype == VALUES[kind].dtype
    assert positions.dtype == onp.int32


def test_top_k_along_another_axis_and_of_none() -> None:
    values, positions = np.top_k(F, 1, axis=0)
    assert positions.tolist() == [[0, 0, 0, 1, 0, 0, 1, 1]]
    assert values.shape == (1, 8)
    assert np.top_k(F, 0, mode="smallest")[0].shape == (2, 0)


def test_top_k_under_transformations() -> None:
    x = onp.float32([1, 4, 2])
    least = tangrad.grad(lambda x: (np.top_k(x, 2, mode="smallest")[0] * np.array([3.0, 5.0])).sum())(x)
    assert least.tolist() == [3, 0, 5]
    mapped = tangrad.vmap(lambda x: np.top_k(x, 2, mode="smallest")[1])(onp.stack([x, -x]))
    assert mapped.tolist() == [[0, 2], [1, 2]]


@BACKENDS
def test_minmax(backend: str) -> None:
    x = VALUES["integers"]

    def both(**options: Any) -> Any:
        found = tangrad.jit(lambda x: np.minmax(x, **options), backend=backend)(x)
        return [one.tolist() for one in found]

    assert both() == [-128, 127]
    assert both(axis=1, keepdims=True) == [[[-128]], [[127]]]
    assert both(axis=0) == [x[0].tolist(), x[0].tolist()]
    assert both(axis=1, initial=(0, 100)) == [[-128], [127]]
    assert both(axis=1, initial=(-128, 127), where=x > 100) == [[-128], [127]]
    assert both(axis=1, initial=5, where=x > 100) == [[5], [127]]
    assert [math.isnan(one) for one in np.minmax(F)] == [True, True]


def test_minmax_is_differentiated_and_mapped() -> None:
    spread = lambda x: np.subtract(*np.minmax(x)[::-1])
    assert tangrad.grad(spread)(onp.float32([1, 4, 2])).tolist() == [-1, 1, 0]
    assert tangrad.vmap(spread)(onp.float32([[1, 4], [2, 8]])).tolist() == [3, 6]


COEFFICIENTS = [1.0, 5.0, 2.0, 3.0]


@BACKENDS
@pytest.mark.parametrize("unroll", [None, 0, 2])
def test_polynomials(unroll: Any, backend: str) -> None:
    at = tangrad.jit(lambda x: lax.polynomial(x, COEFFICIENTS, unroll=unroll), backend=backend)
    assert at(2.0) == 43.0
    assert tangrad.grad(at)(2.0) == 49.0
    assert tangrad.grad(tangrad.grad(at))(2.0) == 40.0
    assert tangrad.vmap(at)(onp.float32([0, 1, 2])).tolist() == [1, 11, 43]
    x = onp.float32([0.5, -1, 2])
    onp.testing.assert_allclose(at(x), onp.polynomial.polynomial.polyval(x, COEFFICIENTS), rtol=1e-6)
    by_factors = tangrad.grad(lambda c: lax.polynomial(2.0, c, unroll=unroll))([1.0, 5.0, 2.0])
    assert [float(one) for one in by_factors] == [1, 2, 4]


def test_polynomials_of_many_kinds() -> None:
    assert lax.polynomial(3, [1, 2, 3]).tolist() == 34
    assert lax.polynomial(onp.arange(3), [1.0, 2.5]).tolist() == [1, 3, 5]  # coefficients are in the dtype of x
    assert lax.polynomial(onp.ones(3, onp.float16), [onp.float32(2), 2.0]).dtype == onp.float16
    assert lax.polynomial(3.0, [1.0]).weak_type
    assert lax.polynomial(F, []).tolist() == onp.zeros_like(F).tolist()
    assert lax.polynomial(F[0], [2.0]).tolist() == [2] * 8
    ones = onp.ones
    found = lax.polynomial(ones(3, onp.float32), [ones(3, onp.float32), 2.0, onp.arange(3, dtype=onp.float32)])
    assert found.tolist() == [3, 4, 5]
    for unroll in (0, 8):
        found = lax.polynomial(ones((3, 2), onp.float32), [ones((1, 2), onp.float32), 2.0, 1.0], unroll=unroll)
        assert found.tolist() == [[4, 4]] * 3
        assert lax.polynomial(2.0, [ones((1, 2), onp.float32), 2.0], unroll=unroll).tolist() == [[5, 5]]
    assert lax.polynomial(onp.float32(2), onp.arange(20, dtype=onp.float32)) == 18874370.0


@BACKENDS
def test_logarithms_to_base_2(backend: str) -> None:
    log2 = tangrad.jit(lax.log2, backend=backend)
    assert log2(onp.float32([0.25, 1, 8, 2.0**100])).tolist() == [-2, 0, 3, 100]
    onp.testing.assert_allclose(log2(onp.complex64([8, 3j])), [3, 1.5849625 + 2.2661801j], rtol=1e-6)
    onp.testing.assert_allclose(tangrad.grad(lax.log2)(4.0), 1 / (4 * math.log(2)), rtol=1e-6)
    assert lax.log2(8.0, accuracy=lax.AccuracyMode.DEFAULT).weak_type


REFUSED = {
    "mode": (lambda: np.top_k(F, 1, mode="x"), ValueError, "mode must be 'largest' or 'smallest', got 'x'"),
    "complex": (lambda: np.top_k(F * 0j, 1), ValueError, "complex numbers are not"),
    "too many": (lambda: np.top_k(F, 9), ValueError, "k must be at most"),
    "a negative number": (lambda: np.top_k(F, -1), ValueError, "k must not be negative"),
    "no number": (lambda: np.top_k(F, 1.5), TypeError, "k must be an integer"),
    "no axis": (lambda: np.top_k(F, 1, axis=None), TypeError, "axis must be an integer"),
    "an axis out of bounds": (lambda: np.top_k(F, 1, axis=2), ValueError, "axis 2 is out of bounds"),
    "three initial values": (lambda: np.minmax(F, initial=(1, 2, 3)), ValueError, "initial must be a number or a pair"),
    "where alone": (lambda: np.minmax(F, where=F > 1), ValueError, "where needs initial"),
    "nothing": (lambda: np.minmax(F[:0]), ValueError, "pass initial"),
    "out": (lambda: np.minmax(F, out=3), NotImplementedError, "minmax: the argument out"),
    "shapes": (lambda: lax.polynomial(F[0], [onp.ones(2, onp.float32), 1.0]), ValueError, "must broadcast together"),
    "unroll": (lambda: lax.polynomial(1.0, [1.0], unroll="x"), TypeError, "unroll must be an integer"),
    "a negative unroll": (lambda: lax.polynomial(1.0, [1.0], unroll=-1), ValueError, "unroll must not be negative"),
    "no array": (lambda: lax.polynomial("x", [1.0]), TypeError, "polynomial"),
    "integers": (lambda: lax.log2(8), TypeError, "log2 does not accept dtype int32"),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()
