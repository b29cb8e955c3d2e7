"""`x.ctypes`, by which safetensors and C functions read arrays; objects that say where their memory is."""

import ctypes
import gc

import numpy
import pytest

import tangrad
import tangrad.numpy as np

pytest.importorskip("ml_dtypes")
DTYPES = ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float8_e4m3fn", "float32", "complex64"]
LAYOUTS = {
    "itself": lambda x: x,
    "computed": lambda x: x + x,
    "transposed": lambda x: x.T,
    "strided": lambda x: x[:, ::2],
    "reversed": lambda x: x[::-1],
    "broadcast": lambda x: np.broadcast_to(x[0], (3, 4)),
    "scalar": lambda x: x[1, 2],
    "empty": lambda x: x[:0],
}


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    pytest.importorskip(f"tangrad._backend_{request.param}.backend")
    with tangrad.use_backend(request.param):
        yield request.param


def _as_safetensors_reads(x):
    """By its dtype's name and byte order, shape, address and size."""
    assert x.dtype.byteorder in "=|<"
    return x.dtype.name, x.shape, ctypes.string_at(x.ctypes.data, x.nbytes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_contents_are_at_the_address(layout, dtype):
    x = LAYOUTS[layout](np.arange(12).reshape(3, 4).astype(dtype))
    assert _as_safetensors_reads(x) == (dtype, x.shape, x.tobytes())


def test_the_address_holds_as_long_as_the_array():
    held = [LAYOUTS["transposed"](np.full((50, 60), k)) + 0 * np.arange(50.0) for k in range(20)]
    held += [x.T for x in held]
    addresses = [x.ctypes.data for x in held]
    gc.collect()
    others = [np.full((50, 60), 7.0).T.ctypes.data for _ in range(20)]  # where freed memory would be
    found = [ctypes.string_at(address, x.nbytes) for address, x in zip(addresses, held, strict=True)]
    assert found == [x.tobytes() for x in held] and len(others) == 20
    assert addresses == [x.ctypes.data for x in held]


def test_copies_go_with_their_arrays():
    from tangrad._numpy import addresses

    gc.collect()
    before = len(addresses._in_order)
    x = np.arange(6.0).reshape(2, 3).T[::-1]
    assert x.ctypes.data == x.ctypes.data and len(addresses._in_order) <= before + 1
    del x
    gc.collect()
    assert len(addresses._in_order) == before


def test_c_functions_take_it():
    x = np.asarray([1.5, 2.5])
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    assert (pointer[0], pointer[1]) == (1.5, 2.5)
    target = numpy.zeros(2, "float32")
    ctypes.memmove(target.ctypes.data, x.ctypes.data, x.nbytes)
    assert target.tolist() == [1.5, 2.5]


def test_what_has_no_address():
    with pytest.raises(TypeError, match="key"):
        _ = tangrad.random.key(0).ctypes
    with pytest.raises(tangrad.errors.TracerArrayConversionError):
        tangrad.jit(lambda x: x.ctypes)(1.0)
    x = np.arange(3.0) + 1
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        _ = x.ctypes


def test_arrays_on_all_devices():
    devices = tangrad.devices()
    mesh = tangrad.sharding.Mesh(numpy.array(devices), ("d",))
    x = tangrad.device_put(np.arange(16.0), tangrad.sharding.NamedSharding(mesh, tangrad.sharding.PartitionSpec("d")))
    assert ctypes.string_at(x.ctypes.data, x.nbytes) == numpy.arange(16.0, dtype="float32").tobytes()


class Picture:
    """As those of PIL: it has neither `__array__` nor DLPack."""

    def __init__(self, contents):
        self.contents = contents
        self.__array_interface__ = contents.__array_interface__


@pytest.mark.parametrize("make", [np.asarray, np.array, lambda x: np.asarray(x, "float32")])
def test_objects_with_an_array_interface(make):
    contents = numpy.arange(24, dtype="uint8").reshape(2, 4, 3)
    x = make(Picture(contents))
    assert x.tolist() == contents.tolist() and x.dtype in ("uint8", "float32")
