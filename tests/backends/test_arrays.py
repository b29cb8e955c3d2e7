"""Arrays of both backends: text, integers of a few bits, too large ones; their memory, and who reads it."""

import base64
import ctypes
import gc
import hashlib
import io
import socket
import struct
import subprocess
import sys
import textwrap
import tracemalloc
import zlib

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
FULL_MEMORY = """
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
    program = f"import os; os.environ['TANGRAD_BACKEND'] = {backend!r}\n{FULL_MEMORY}"
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


ml_dtypes = pytest.importorskip("ml_dtypes")

# --- Python's buffer protocol ---

OWN = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32", "complex64"]
OTHERS = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
# Before Python 3.12 no exception of ours reaches the consumer, which raises its own.
REFUSED = (BufferError, ValueError, TypeError, RuntimeError) if sys.version_info >= (3, 12) else SystemError


def _received(x):
    left, right = socket.socketpair()
    with left, right:
        left.sendall(x)
        left.shutdown(socket.SHUT_WR)
        return right.makefile("rb").read()


def _written(x):
    file = io.BytesIO()
    file.write(x)
    return file.getvalue()


def _packed(x):
    return struct.pack(f"{x.nbytes}s", memoryview(x).tobytes())


READERS = {
    "write": _written,
    "send": _received,
    "hashlib": lambda x: hashlib.sha256(x).digest(),
    "zlib": zlib.crc32,
    "base64": base64.b64encode,
    "frombuffer": lambda x: numpy.frombuffer(x, numpy.uint8).tobytes(),
    "join": lambda x: b"".join([x, x]),
    "extend": lambda x: bytearray(b"-") + x,
    "unpack_from": lambda x: struct.unpack_from("2B", x),
}
WITH_FORMAT = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": lambda x: memoryview(x).tobytes(),
    "pack": _packed,
    "from_bytes": lambda x: int.from_bytes(x, "little").to_bytes(x.nbytes, "little"),
}


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    pytest.importorskip(f"tangrad._backend_{request.param}.backend")
    with tangrad.use_backend(request.param):
        yield request.param


def _arrays(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    yield from (x, x + x, x.T, x[:, ::2], x[::-1], np.broadcast_to(x[0], (3, 4)), np.ones((2, 1), dtype))


@pytest.mark.parametrize("dtype", OWN + OTHERS)
@pytest.mark.parametrize("reader", READERS)
def test_bytes_are_those_of_the_array_in_order(reader, dtype):
    for x in _arrays(dtype):
        read = READERS[reader]
        assert read(x) == read(x.tobytes()), x


@pytest.mark.parametrize("dtype", OWN)
@pytest.mark.parametrize("reader", WITH_FORMAT)
def test_readers_that_ask_for_a_format(reader, dtype):
    for x in _arrays(dtype):
        assert bytes(WITH_FORMAT[reader](x)) == x.tobytes()
        view = memoryview(x)
        assert (view.readonly, view.shape, view.itemsize) == (True, x.shape, x.itemsize)
        assert numpy.asarray(view).dtype == x.dtype and numpy.asarray(view).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", OTHERS)
def test_without_a_format_there_is_no_view(dtype):
    x = np.arange(3).astype(dtype)
    with pytest.raises(REFUSED):
        memoryview(x)
    found = numpy.asarray(x)
    assert found.dtype == x.dtype and found.tolist() == [0, 1, 2]


def test_memory_is_not_copied():
    x = np.arange(3.0) + 1
    for found in [numpy.asarray(memoryview(x)), numpy.frombuffer(x, numpy.float32), numpy.asarray(x)]:
        assert found.ctypes.data == x.unsafe_buffer_pointer()


def test_arrays_without_dimensions_or_elements():
    assert hashlib.sha256(np.float32(1.5)).digest() == hashlib.sha256(numpy.float32(1.5)).digest()
    assert memoryview(np.float32(1.5)).shape == ()
    for shape in [(0,), (3, 0)]:
        assert bytes(np.zeros(shape)) == b"" and numpy.asarray(np.zeros(shape)).shape == shape


@pytest.mark.parametrize("make", [lambda: np.arange(4), lambda: np.arange(4) * 2, lambda: np.asarray(numpy.arange(4))])
def test_they_are_read_only(make):
    x = make()
    before = x.tolist()
    with pytest.raises(TypeError):
        io.BytesIO(b"abcdefgh").readinto(x)
    with pytest.raises((TypeError, SystemError, BufferError)):
        struct.pack_into("i", x, 0, 7)
    for found in [numpy.asarray(x), numpy.asarray(memoryview(x)), numpy.frombuffer(x, numpy.int32)]:
        assert not found.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 7
        with pytest.raises(ValueError, match="WRITEABLE"):
            found.flags.writeable = True
    with pytest.raises(TypeError):
        memoryview(x)[0] = 7
    assert x.tolist() == before


def test_memory_outlives_the_array():
    x = np.arange(1000.0) * 3
    view = memoryview(x)
    del x
    gc.collect()
    others = [np.arange(1000.0) * k for k in range(8)]  # which would take the memory
    assert view[999] == 2997.0 and len(others) == 8


@pytest.mark.parametrize("give_up", [lambda x: x.delete(), lambda x: tangrad.jit(lambda x: x + 1, donate_argnums=0)(x)])
def test_memory_stays_as_it_is_when_the_array_is_given_up(give_up):
    x = np.arange(1000.0) * 3
    view = memoryview(x)
    give_up(x)
    assert view[999] == 2997.0


def test_a_deleted_array_has_no_memory():
    x = np.arange(3.0)
    x.delete()
    with pytest.raises(REFUSED):
        memoryview(x)
    with pytest.raises(RuntimeError, match="deleted"):
        numpy.asarray(x)


def test_results_are_waited_for():
    x = np.ones((300, 300))
    assert memoryview(tangrad.jit(lambda x: x @ x @ x @ x)(x))[7, 7] == 300.0**3


def test_what_has_no_memory_of_its_own_is_refused():
    keys = tangrad.random.split(tangrad.random.key(0), 3)
    with pytest.raises(REFUSED):
        memoryview(keys)
    with pytest.raises(TypeError, match="key"):
        numpy.asarray(keys)


@pytest.mark.parametrize("consume", [memoryview, bytes, hashlib.sha256, numpy.frombuffer, numpy.asarray])
@pytest.mark.parametrize("transformation", [tangrad.jit, tangrad.grad, tangrad.make_jaxpr])
def test_tracers_have_no_memory(transformation, consume):
    with pytest.raises(TypeError):
        transformation(lambda x: [x, consume(x)][0])(1.0)


def test_classes_of_other_backends_have_it_too():
    class Held(tangrad.core.Array):
        __slots__ = ("contents",)

        def to_numpy(self):
            return self.contents

    held = object.__new__(Held)
    held.aval = tangrad.core.ShapedArray((2,), numpy.dtype("int16"))
    held.contents = numpy.array([258, 3], "int16")
    assert bytes(held) == b"\2\1\3\0" and memoryview(held).readonly
    assert held.contents.flags.writeable


def test_mixed_arithmetic_is_left_to_the_array():
    x = np.arange(3)
    for mixed in [numpy.arange(3) + x, x + numpy.arange(3), numpy.float32(1) * x]:
        assert isinstance(mixed, tangrad.Array)
    assert bytearray(b"ab") + np.asarray([99, 100], "uint8") == b"abcd"


def test_many_views_leave_nothing_behind():
    x = np.arange(100.0)
    tracemalloc.start()
    try:
        held = []
        for look in (memoryview, bytes, numpy.asarray, hashlib.sha256) * 3:
            for _ in range(300):
                look(x)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert held[-1] - held[4] < 20_000  # of 2400 views


PROGRAM = """
    import sys, threading, tangrad, tangrad.numpy as np
    x = np.arange(8.0)
    assert bytes(x)[4:8] == b"\\0\\0\\x80?"
    threads = [threading.Thread(target=lambda: [memoryview(x)[3] for _ in range(500)]) for _ in range(4)]
    [thread.start() for thread in threads]; [thread.join() for thread in threads]
    class Late:  # at the end of the process, when modules are gone
        def __init__(self, x): self.x = x
        def __del__(self, bytes=bytes):
            try: bytes(self.x)
            except Exception: pass
    late = Late(x); loop = [late]; loop.append(loop); sys.late = loop
    print("done")
"""


def test_threads_and_the_end_of_the_process(backend):
    program = f"import tangrad; tangrad.config.update('backend', {backend!r})\n" + textwrap.dedent(PROGRAM)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


# --- `x.ctypes`, by which safetensors and C functions read arrays; objects that say where their memory is ---


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
    from tangrad._numpy import methods

    gc.collect()
    before = len(methods._in_order)
    x = np.arange(6.0).reshape(2, 3).T[::-1]
    assert x.ctypes.data == x.ctypes.data and len(methods._in_order) <= before + 1
    del x
    gc.collect()
    assert len(methods._in_order) == before


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
