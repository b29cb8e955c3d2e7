"""jaxtyping's annotations of arrays, which check shapes and dtypes, where the package is installed."""

import pytest

import tangrad
import tangrad.numpy as np

jaxtyping = pytest.importorskip("jaxtyping")


@pytest.mark.parametrize(
    ("array", "kind", "shape", "fits"),
    [
        (np.ones((2, 3)), "Float", "2 b", True),
        (np.ones(3), "Float", "a b", False),
        (np.arange(3), "Int", "a", True),
        (np.arange(3), "Float", "a", False),
        (np.zeros(2, "bool"), "Bool", "...", True),
    ],
)
def test_an_array_is_of_an_annotation_of_its_shape_and_dtype(array, kind, shape, fits):
    annotation = getattr(jaxtyping, kind)[tangrad.Array, shape]
    assert isinstance(array, annotation) is fits


def test_so_are_tracers():
    kinds = []

    @tangrad.jit
    def function(x):
        kinds.append(isinstance(x, jaxtyping.Float[tangrad.Array, "2 b"]))
        return x

    function(np.ones((2, 3)))
    function(np.ones(2))
    assert kinds == [True, False]
