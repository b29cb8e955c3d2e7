"""DLPack capsules of every making: what they say is read or refused, and never ends the process."""

import ctypes
import gc
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import tangrad
from tangrad._core.kernel import dlpack

BACKENDS = ("numpy", "xla")
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e3m4", "float8_e8m0fnu")
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Producer:
    """An array of [0, 1, 2, 3] whose capsule is made by hand; `changes` are made to its tensor."""

    def __init__(self, *, versioned=False, deleter=True, name=None, major=1, **changes):
        self.memory = np.arange(8, dtype="float32")
        self.shape, self.strides = (ctypes.c_int64 * 1)(4), (ctypes.c_int64 * 1)(1)
        self.deleted = []
        # A deleter is kept for as long as the process: it may be called when all else is gone.
        self.deleter = dlpack._Deleter(self.deleted.append)
        _KEPT.append(self)
        tensor = {
            "data": self.memory.ctypes.data,
            "device_type": 1,
            "ndim": 1,
            "code": 2,
            "bits": 32,
            "lanes": 1,
            "shape": ctypes.addressof(self.shape),
            "strides": ctypes.addressof(self.strides),
        }
        made = dlpack._Tensor(**(tensor | changes))
        call = ctypes.cast(self.deleter, ctypes.c_void_p).value if deleter else None
        kind = dlpack._VersionedManaged if versioned else dlpack._Managed
        self.managed = kind(tensor=made, deleter=call, **({"major": major} if versioned else {}))
        self.name = name or (b"dltensor_versioned" if versioned else b"dltensor")
        self.capsule = None

    def __dlpack__(self, **_):
        if self.capsule is None:
            self.capsule = _new_capsule(ctypes.addressof(self.managed), self.name, None)
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


_KEPT = []
ADDRESSES = ctypes.c_int64 * 4
_HUGE, _NEGATIVE = ADDRESSES(2**62, 2**62, 4, 4), ADDRESSES(-1, 4, 4, 4)

BAD = {
    "another name": {"name": b"tensor"},
    "taken": {"name": b"used_dltensor"},
    "taken, versioned": {"name": b"used_dltensor_versioned", "versioned": True},
    "version 2": {"versioned": True, "major": 2},
    "no shape": {"shape": None},
    "negative ndim": {"ndim": -1},
    "many dimensions": {"ndim": 2**31 - 1},
    "negative size": {"shape": ctypes.addressof(_NEGATIVE)},
    "huge shape": {"shape": ctypes.addressof(_HUGE), "strides": None},
    "huge shape of two": {"shape": ctypes.addressof(_HUGE), "strides": None, "ndim": 2},
    "huge strides": {"strides": ctypes.addressof(_HUGE)},
    "huge offset": {"byte_offset": 2**64 - 8},
    "no data": {"data": None},
    "unknown code": {"code": 99},
    "opaque": {"code": 3},
    "half a byte": {"code": 17, "bits": 4},
    "no bits": {"bits": 0},
    "odd bits": {"bits": 24},
    "lanes": {"lanes": 4},
    "no lanes": {"lanes": 0},
    "of a GPU": {"device_type": 2},
    "of no device": {"device_type": -7},
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("what", BAD)
def test_what_describes_no_array_is_refused(backend, what):
    with tangrad.use_backend(backend), pytest.raises(BufferError, match=r"DLPack|capsule"):
        tangrad.dlpack.from_dlpack(Producer(**BAD[what]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [None, 3, "dltensor", object()])
def test_what_is_no_capsule_is_refused(backend, value):
    producer = Producer()
    producer.capsule = value if value is not None else ()
    with tangrad.use_backend(backend), pytest.raises(BufferError, match="no DLPack capsule"):
        tangrad.dlpack.from_dlpack(producer)


GOOD = {
    "usual": ({}, [0, 1, 2, 3]),
    "no strides": ({"strides": None}, [0, 1, 2, 3]),
    "0-d": ({"ndim": 0, "shape": None, "strides": None}, 0),
    "offset": ({"byte_offset": 8}, [2, 3, 4, 5]),
    "of CUDA's host memory": ({"device_type": 3}, [0, 1, 2, 3]),
    "empty": ({"shape": ctypes.addressof(ADDRESSES(0, 0, 0, 0)), "data": None}, []),
}
_KEPT.append(_EMPTY := ADDRESSES(0, 0, 0, 0))
GOOD["empty"][0]["shape"] = ctypes.addressof(_EMPTY)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("what", "versioned", "deleter"), [*itertools.product(GOOD, (False, True), (False, True))])
def test_what_describes_an_array_is_read_and_given_back_once(backend, what, versioned, deleter):
    changes, expected = GOOD[what]
    producer = Producer(versioned=versioned, deleter=deleter, **changes)
    with tangrad.use_backend(backend):
        x = tangrad.dlpack.from_dlpack(producer)
        assert x.tolist() == expected
        assert (x + 1).tolist() == (np.asarray(expected) + 1).tolist()
        with pytest.raises(BufferError, match="taken before"):
            tangrad.dlpack.from_dlpack(producer)
        assert x.tolist() == expected
        x.block_until_ready()
        del x
    gc.collect()
    assert len(producer.deleted) <= 1
    if backend == "numpy":
        assert len(producer.deleted) == int(deleter)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_refused_capsule_stays_its_producers(backend):
    producer = Producer(code=99)
    with tangrad.use_backend(backend), pytest.raises(BufferError, match="code 99"):
        tangrad.dlpack.from_dlpack(producer)
    assert dlpack._capsule_name(producer.capsule) == b"dltensor" and producer.deleted == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_that_is_not_aligned(backend):
    producer = Producer()
    producer.managed.tensor.byte_offset = 2
    expected = np.frombuffer(producer.memory.tobytes()[2:18], "float32")
    with tangrad.use_backend(backend):
        np.testing.assert_array_equal(tangrad.dlpack.from_dlpack(producer), expected)


@pytest.mark.parametrize(("source", "target"), [*itertools.product(BACKENDS, BACKENDS)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float32", "complex64", *NARROW])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_every_dtype_goes_from_backend_to_backend(source, target, dtype, shape):
    with tangrad.use_backend(source):
        x = tangrad.numpy.ones(shape, dtype)
    with tangrad.use_backend(target):
        y = tangrad.dlpack.from_dlpack(x)
        assert (y.dtype, y.shape) == (x.dtype, x.shape)
        assert (y.astype("complex64") == 1).all()


@pytest.mark.parametrize("dtype", NARROW)
def test_the_numpy_backend_names_the_narrow_dtypes_in_its_capsules(dtype):
    with tangrad.use_backend("numpy"):
        x = tangrad.numpy.ones(3, dtype)
        for options in ({}, {"max_version": (1, 0)}, {"copy": True}):
            capsule = x.__dlpack__(**options)
            name = dlpack._capsule_name(capsule)
            tensor = dlpack._KINDS[name][0].from_address(dlpack._capsule_pointer(capsule, name)).tensor
            assert dlpack.DTYPES[tensor.code, tensor.bits] == dtype
        assert x.dtype == dtype and x.astype("float32").tolist() == [1, 1, 1]


def test_dtypes_without_a_word_in_dlpack_are_refused():
    with tangrad.use_backend("numpy"), pytest.raises(BufferError, match="int4 cannot be exported"):
        tangrad.numpy.ones(3, "int4").__dlpack__()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_cannot_become_a_numpy_array_comes_by_dlpack(backend):
    class Tensor(Producer):  # as PyTorch's of bfloat16
        def __array__(self, dtype=None, copy=None):
            raise TypeError("Got unsupported ScalarType")

    with tangrad.use_backend(backend):
        assert tangrad.numpy.asarray(Tensor()).tolist() == [0, 1, 2, 3]
        assert tangrad.numpy.array(Tensor(), "int32").dtype == "int32"


@pytest.mark.parametrize("backend", BACKENDS)
def test_strided_reversed_and_read_only_memory_of_numpy(backend):
    base = np.arange(12, dtype="float32").reshape(3, 4)
    fixed = base.copy()
    fixed.flags.writeable = False
    with tangrad.use_backend(backend):
        for x in (base.T, base[:, ::2], base[::-1], base[1:1], fixed, np.broadcast_to(base[0], (3, 4))):
            np.testing.assert_array_equal(tangrad.dlpack.from_dlpack(x), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_memory_outlives_its_producer_and_the_process_ends_well(backend):
    program = (
        "import numpy, tangrad, gc\n"
        "from tangrad.dlpack import from_dlpack\n"
        "x = from_dlpack(numpy.arange(1000., dtype='float32'))\n"
        "y = from_dlpack(from_dlpack(tangrad.numpy.ones(3, 'bfloat16')))\n"
        "gc.collect()\n"
        "assert x.tolist() == list(range(1000)) and y.sum() == 3\n"
    )
    environment = os.environ | {"TANGRAD_BACKEND": backend}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


class Elsewhere(Producer):
    """Says of its device whatever it is given."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "device", [(2, 0), (99, 0), None, (), (1,), (1, 0, 0), "cpu", ("1", 0), (1.0, 0), 1, [None, 0]]
)
def test_memory_that_is_not_on_the_host_is_refused(backend, device):
    with tangrad.use_backend(backend), pytest.raises(BufferError, match="device"):
        tangrad.numpy.from_dlpack(Elsewhere(device))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_cannot_be_shared_is_refused_where_no_copy_is_wanted(backend):
    with tangrad.use_backend(backend):
        shared = tangrad.numpy.from_dlpack(np.arange(16, dtype="float32"), copy=False)
        assert shared.tolist() == list(range(16))
        for dtype in ("float64", "int64", "uint64", "complex128"):
            with pytest.raises(BufferError, match="enable_x64"):
                tangrad.numpy.from_dlpack(np.arange(16, dtype=dtype), copy=False)
            assert tangrad.numpy.from_dlpack(np.arange(16, dtype=dtype)).tolist() == list(range(16))
        table = np.arange(16, dtype="float32").reshape(4, 4)
        if backend == "xla":
            for strided in (table.T, table[:, ::2], table[::-1]):
                with pytest.raises(BufferError, match="copy"):
                    tangrad.numpy.from_dlpack(strided, copy=False)
                assert tangrad.numpy.from_dlpack(strided).tolist() == strided.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_typed_keys_are_not_handed_out(backend):
    with tangrad.use_backend(backend), pytest.raises(TypeError, match="key"):
        tangrad.random.key(0).__dlpack__()
