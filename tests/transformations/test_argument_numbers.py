"""Positions of arguments (`argnums`, `static_argnums`, `donate_argnums`) as integers of NumPy, or in arrays."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import tree

X = np.arange(3.0)
ONE = [1, numpy.int64(1), numpy.uint8(1), numpy.array(1), -1, numpy.array(-1)]
SEVERAL = [(0, 1), [0, 1], (numpy.int32(0), numpy.int64(1)), numpy.array([0, 1]), numpy.uint8([0, 1])]
NONE = [1.0, numpy.float32(1), numpy.array([1.0]), "1", numpy.array([[1]])]


def product(a, b):
    return (a**2 * b).sum()


DERIVATIVES = {
    "grad": lambda numbers: tangrad.grad(product, numbers)(X, X),
    "value_and_grad": lambda numbers: tangrad.value_and_grad(product, numbers)(X, X)[1],
    "jacfwd": lambda numbers: tangrad.jacfwd(product, numbers)(X, X),
    "jacrev": lambda numbers: tangrad.jacrev(product, numbers)(X, X),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("numbers", ONE, ids=repr)
def test_one_is_one_derivative(name, numbers):
    assert DERIVATIVES[name](numbers).tolist() == [0, 1, 4]


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("numbers", SEVERAL, ids=repr)
def test_several_are_a_tuple(name, numbers):
    assert tree.map(np.ndarray.tolist, DERIVATIVES[name](numbers)) == ([0, 2, 8], [0, 1, 4])


@pytest.mark.parametrize("numbers", [numpy.array(1), numpy.array([1])], ids=repr)
def test_hessian(numbers):
    assert np.asarray(tree.leaves(tangrad.hessian(product, numbers)(X, X))[0]).tolist() == [[0] * 3] * 3


@pytest.mark.parametrize("numbers", [*ONE, numpy.array([1])], ids=repr)
def test_static_and_donated(numbers):
    assert tangrad.jit(lambda a, n: a * 2 if n == 3 else a, static_argnums=numbers)(X, 3).tolist() == [0, 2, 4]
    given = np.arange(3.0)
    assert tangrad.jit(lambda a, b: a + b, donate_argnums=numbers)(X, given).tolist() == [0, 2, 4]
    assert given.is_deleted() and not X.is_deleted()


@pytest.mark.parametrize("numbers", NONE, ids=repr)
def test_what_is_no_position(numbers):
    for make in DERIVATIVES.values():
        with pytest.raises(TypeError, match="argnums must be an integer or a sequence of integers"):
            make(numbers)
    with pytest.raises(TypeError, match="static_argnums"):
        tangrad.jit(product, static_argnums=numbers)
