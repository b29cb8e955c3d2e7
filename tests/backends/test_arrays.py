"""Arrays of both backends: their text, integers of a few bits, and what does not fit into memory."""

import subprocess
import sys

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax

# --- Arrays are printed by NumPy's print options ---


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


# --- Integers of 2 and 4 bits: what wraps is what is left of the bits of a wider one ---


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


# --- What does not fit into memory, or into 63 bits, is an exception wherever it is looked at ---


# Each is tried in a process with little memory; `big` makes an array of 4 TB, which may be computed later.
PROGRAM = """
import pickle, resource
import numpy
import tangrad, tangrad.numpy as np
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
big = lambda: np.ones((10**6, 1)) @ np.ones((1, 10**6))
LOOKS = {
    "print": lambda: print(big()),
    "repr": lambda: repr(big()),
    "asarray": lambda: numpy.asarray(big()),
    "tolist": lambda: big().tolist(),
    "dlpack": lambda: numpy.from_dlpack(big()),
    "wait": lambda: big().block_until_ready(),
    "pickle": lambda: pickle.dumps(big()),
    "device_get": lambda: tangrad.device_get(big()),
    "one element": lambda: float(big()[0, 0]),
    "sum": lambda: float(big().sum()),
    "converted": lambda: str(big().astype("int32")),
    "program": lambda: str(tangrad.jit(lambda x: x @ x.T)(np.ones((10**6, 1)))),
}
for name, look in LOOKS.items():
    try:
        look()
    except (MemoryError, RuntimeError) as error:
        assert "memory" in str(error) or "allocate" in str(error), error
        print("refused", name)
assert np.ones(3).tolist() == [1, 1, 1]
print("went on")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is Linux's")
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_looking_at_what_does_not_fit(backend):
    program = f"import os; os.environ['TANGRAD_BACKEND'] = {backend!r}\n{PROGRAM}"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-2000:]
    said = found.stdout.splitlines()
    assert said[-1] == "went on" and len(said) == 13


WIDE = (2**31, 2**31)
BEYOND = {
    "zeros": lambda: np.zeros(WIDE) + 1,
    "ones": lambda: np.ones(WIDE),
    "full": lambda: np.full(WIDE, 2.5) * 2,
    "arange": lambda: np.arange(2**62),
    "linspace": lambda: np.linspace(0, 1, 2**62),
    "pad": lambda: np.pad(np.ones(3), (0, 2**62)),
    "random": lambda: tangrad.random.normal(tangrad.random.key(0), WIDE),
    "iota": lambda: tangrad.lax.iota("float32", 2**62),
    "one_hot": lambda: tangrad.nn.one_hot(np.arange(4), 2**62),
    "mapped": lambda: tangrad.vmap(lambda x: np.broadcast_to(x, (2**31, 2**30)) + 1)(np.ones(4)),
    "program": lambda: tangrad.jit(lambda: np.zeros(WIDE))(),
}


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("name", BEYOND)
def test_shapes_beyond_63_bits(name, backend):
    with tangrad.use_backend(backend), pytest.raises((ValueError, MemoryError)) as found:
        BEYOND[name]()
    if backend == "xla":
        assert "array of shape (" in str(found.value)


def test_types_of_any_size_are_types():
    assert tangrad.eval_shape(lambda: np.zeros(WIDE)).shape == WIDE


class Elsewhere:
    """An array whose memory is said to be a GPU's."""

    def __dlpack__(self, **_):
        return numpy.ones(3).__dlpack__()

    def __dlpack_device__(self):
        return 2, 0


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_memory_of_another_device_is_refused(backend):
    with tangrad.use_backend(backend), pytest.raises(BufferError, match="DLPack device type 2"):
        np.from_dlpack(Elsewhere())
