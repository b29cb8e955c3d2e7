"""Arrays are printed by NumPy's print options."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_repr_follows_the_threshold_of_numpy(backend):
    with tangrad.default_device(tangrad.devices(backend)[0]):
        x = np.arange(100)
        with numpy.printoptions(threshold=5, edgeitems=2):
            assert repr(x) == "Array([ 0,  1, ..., 98, 99], dtype=int32)"
            assert str(x) == "[ 0  1 ... 98 99]"
        long = np.arange(1001)
        assert "..." in repr(long)
        with numpy.printoptions(threshold=2000):
            assert "..." not in repr(long)
