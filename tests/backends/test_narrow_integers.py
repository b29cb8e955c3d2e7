"""Integers of 2 and 4 bits: what wraps is what is left of the bits of a wider one."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax

FUNCTIONS = {
    "neg": lambda x: -x,
    "not": lambda x: ~x,
    "abs": np.abs,
    "sign": np.sign,
    "max": lambda x: np.maximum(x, x[::-1]),
    "min": lambda x: np.minimum(x, x[::-1]),
    "clip": lambda x: np.clip(x, 0, 1),
    "add": lambda x: x + x,
    "sub": lambda x: x - x[::-1],
    "mul": lambda x: x * x,
    "and": lambda x: x & x[::-1],
    "or": lambda x: x | x[::-1],
    "xor": lambda x: x ^ x[::-1],
    "shift_left": lambda x: lax.shift_left(x, np.ones_like(x)),
    "update": lambda x: x.at[0].max(1),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4"])
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_arithmetic_of_narrow_integers(backend, dtype, name):
    bits, signed = int(dtype[-1]), dtype[0] == "i"
    low = -(1 << bits - 1) if signed else 0
    values = numpy.arange(low, low + (1 << bits), dtype="int32")
    wide = numpy.asarray(FUNCTIONS[name](np.asarray(values))).astype("int32") % (1 << bits)
    expected = wide - ((wide >= 1 << bits - 1) << bits) if signed else wide
    with tangrad.default_device(tangrad.devices(backend)[0]):
        x = np.asarray(values).astype(dtype)
        for f in (FUNCTIONS[name], tangrad.jit(FUNCTIONS[name])):
            found = f(x)
            assert found.dtype == np.dtype(dtype)
            assert numpy.asarray(found).astype("int32").tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_bits_of_narrow_integers_are_counted(backend, dtype):
    with tangrad.default_device(tangrad.devices(backend)[0]):
        x = np.array([1, 3, 7, 0]).astype(dtype)
        assert numpy.asarray(lax.population_count(x)).astype("int32").tolist() == [1, 2, 3, 0]
