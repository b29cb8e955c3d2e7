"""`ravel_pytree` beside JAX's, on each backend."""

import numpy as np
import pytest

import tangrad
from tangrad.flatten_util import Unravel, ravel_pytree
from tangrad.tree_util import tree_leaves, tree_structure

TREES = {
    "one dtype": {"a": np.ones((2, 2), np.float32), "b": np.arange(3, dtype=np.float32)},
    "integers and floats": {"a": np.ones((2, 2), np.float32), "b": (np.arange(3, dtype=np.int32), None)},
    "half and integers": [np.ones(2, np.float16), np.ones(1, np.int32)],
    "numbers": [1, 2.0, True],
    "weak": [1.0, 2.0],
    "one number": 1.5,
    "booleans": [True, np.array([2], np.int8)],
    "complex": [1j, 2.5],
    "no elements": [np.ones((0, 2), np.float32), np.ones(2, np.float32)],
    "no leaves": {"a": None},
}


def described(tree):
    arrays = tree_leaves(tree)
    return [(np.asarray(array).tolist(), str(array.dtype), array.shape, bool(array.weak_type)) for array in arrays]


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_values(tree):
    theirs = pytest.importorskip("jax.flatten_util")
    (vector, unravel), (reference, reference_unravel) = ravel_pytree(tree), theirs.ravel_pytree(tree)
    assert described(vector) == described(reference)
    rebuilt, expected = unravel(vector), reference_unravel(reference)
    assert tree_structure(rebuilt) == tree_structure(tree) and described(rebuilt) == described(expected)


def test_unravel_compares_by_what_it_does():
    first, second = (ravel_pytree({"a": np.ones((2, 2)), "b": value})[1] for value in (1.0, 2.0))
    assert first == second and hash(first) == hash(second)
    others = [{"a": np.ones(4), "b": 1.0}, {"a": np.ones((2, 2)), "b": 1}]
    assert all(first != ravel_pytree(other)[1] for other in others)
    assert isinstance(first, Unravel) and "shapes=((2, 2), ())" in repr(first)


def test_wrong_vectors():
    same, mixed = (ravel_pytree(TREES[name])[1] for name in ("one dtype", "half and integers"))
    for vector in (np.ones(6, np.float32), np.ones(8, np.float32), np.float32(1), np.ones((7, 2), np.float32)):
        with pytest.raises(ValueError, match="unravel expects a vector of 7 elements, got an array of shape"):
            same(vector)
    with pytest.raises(TypeError, match="unravel expects a vector of dtype float16, got float32"):
        mixed(np.ones(3, np.float32))
    assert same(np.ones(7, np.float16))["a"].dtype == np.float16
    assert same(np.ones((7, 1), np.float32))["a"].shape == (2, 2)
    with pytest.raises(TypeError):
        ravel_pytree(["text"])


def test_transformed():
    vector, unravel = ravel_pytree({"a": np.ones((2, 2), np.float32), "b": np.zeros(3, np.float32)})
    _, pull_back = tangrad.vjp(lambda v: tangrad.lax.square(unravel(v)["a"]), vector)
    (cotangent,) = pull_back(np.ones((2, 2), np.float32))
    assert np.asarray(cotangent).tolist() == [2, 2, 2, 2, 0, 0, 0]
    assert np.asarray(tangrad.jit(unravel)(vector)["b"]).tolist() == [0, 0, 0]
    assert np.asarray(tangrad.jit(lambda tree: ravel_pytree(tree)[0])({"a": 1.0, "b": vector})).shape == (8,)
    assert tangrad.vmap(unravel)(np.ones((2, 7), np.float32))["a"].shape == (2, 2, 2)
