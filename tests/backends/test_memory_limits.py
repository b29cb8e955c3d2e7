"""What does not fit into memory, or into 63 bits, is an exception wherever it is looked at; the process goes on."""

import subprocess
import sys

import numpy
import pytest

import tangrad
import tangrad.numpy as np

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
