"""Functions of many operations are one outside of transformations, and the same function under them."""

from functools import partial

import numpy
import pytest

import tangrad
import tangrad.image
import tangrad.numpy as np
from tangrad._numpy import nan_reductions
from tangrad._scipy import resampling

HOLES = numpy.array([[1.0, numpy.nan, 3.0], [numpy.nan, 5.0, 2.0]], numpy.float32)

NAN_FUNCTIONS = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanargmax", "nanargmin"]


@pytest.mark.parametrize("name", NAN_FUNCTIONS)
def test_nan_reductions_are_one_operation(name):
    function, reference = getattr(np, name), getattr(numpy, name)
    assert getattr(nan_reductions, name).fused.name == name
    for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": -1}):
        expected = numpy.asarray(reference(HOLES, **options))
        for found in (function(HOLES, **options), tangrad.jit(partial(function, **options))(HOLES)):
            assert found.shape == expected.shape
            assert numpy.allclose(numpy.asarray(found), expected, atol=1e-6)
    mapped = tangrad.vmap(function)(np.asarray(HOLES))
    assert numpy.allclose(numpy.asarray(mapped), reference(HOLES, axis=1), atol=1e-6)


def test_nan_reductions_take_masks_and_refuse_what_is_no_array():
    where = numpy.array([[True, True, False], [True, True, True]])
    assert np.nansum(HOLES, where=where) == numpy.nansum(HOLES, where=where)
    assert np.nanvar(HOLES, ddof=1, axis=1).tolist() == pytest.approx(numpy.nanvar(HOLES, ddof=1, axis=1).tolist())
    with pytest.raises(TypeError, match="nanmean"):
        np.nanmean([1.0, 2.0])
    with pytest.raises(ValueError, match="axis"):
        np.nanmax(HOLES, axis=5)


@pytest.mark.parametrize("shape", [(4, 4), [4, 4], (2, 6)])
@pytest.mark.parametrize("method", ["nearest", "linear", "cubic", "lanczos3"])
def test_resizing_is_one_operation(method, shape):
    image = np.asarray(numpy.arange(9.0, dtype="float32").reshape(3, 3))
    assert resampling.resize.fused.name == "resize_image"
    found = tangrad.image.resize(image, shape, method)
    traced = tangrad.jit(lambda x: tangrad.image.resize(x, tuple(shape), method))(image)
    assert found.shape == tuple(shape) and numpy.allclose(numpy.asarray(found), numpy.asarray(traced), atol=1e-5)
    slope = tangrad.grad(lambda x: tangrad.image.resize(x, shape, method).sum())(image)
    assert slope.shape == (3, 3)
    with pytest.raises(ValueError, match="resize"):
        tangrad.image.resize(image, (2, 2), "unknown")
