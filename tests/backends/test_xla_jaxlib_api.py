"""jaxlib without jax, and beside it: buffers of every width, DLPack, both import orders."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytest.importorskip("jaxlib")

import tangrad
from tangrad._backend_xla import gpus, jaxlib_api
from tangrad._backend_xla.jaxlib_coordination import Coordination
from tangrad.core import ShapedArray, get_backend

XLA = get_backend("xla")
DEVICE = XLA.devices()[0]


def aval_of(array: np.ndarray) -> ShapedArray:
    return ShapedArray(array.shape, array.dtype)


def run(program: str, **environment: str) -> str:
    """The standard output of a program in a fresh process, which must succeed and warn of nothing."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TANGRAD_", "JAX_", "XLA_"))}
    cache = {"TANGRAD_CACHE_DIR": os.environ["TANGRAD_CACHE_DIR"]}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        env={**clean, **cache, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128", "float32", "bool", "int8"])
def test_host_arrays_of_every_width_enter_whole(dtype: str) -> None:
    array = (np.arange(1000) * 2**40 + 1).astype(dtype)
    expected = array.copy()
    result = XLA.put(array, aval_of(array))
    array[:] = 0  # the caller's array is his own again
    assert result.to_numpy().dtype == dtype
    np.testing.assert_array_equal(result.to_numpy(), expected)


@pytest.mark.parametrize(
    "array", [np.arange(12.0).reshape(3, 4).T, np.arange(12.0)[::2], np.zeros((0, 3)), np.array(7.0)], ids=str
)
def test_any_memory_layout_enters(array: np.ndarray) -> None:
    np.testing.assert_array_equal(XLA.put(array, aval_of(array)).to_numpy(), array)


def test_contents_are_converted_to_the_dtype_of_the_aval() -> None:
    result = XLA.put(np.arange(3), ShapedArray((3,), "float32"))
    assert result.dtype == np.float32 and result.to_numpy().dtype == np.float32


def test_results_on_the_host_are_read_only() -> None:
    array = XLA.put(np.arange(3.0), ShapedArray((3,), "float32"))
    with pytest.raises(ValueError, match="read-only"):
        array.to_numpy()[0] = 1


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        XLA.put(np.arange(3.0), ShapedArray((2,), "float32"))


def test_dlpack_out_and_in() -> None:
    array = np.arange(6.0).reshape(2, 3)
    ours = XLA.put(array, aval_of(array))
    np.testing.assert_array_equal(np.from_dlpack(ours), array)
    assert ours.__dlpack_device__() == (1, 0)
    back = XLA.from_dlpack(array)
    assert back.aval is aval_of(array)
    np.testing.assert_array_equal(back.to_numpy(), array)
    np.testing.assert_array_equal(XLA.from_dlpack(ours, copy=True).to_numpy(), array)
    with pytest.raises(TypeError, match="__dlpack__"):
        XLA.from_dlpack([1, 2])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("end", ["delete", "donate"])
def test_contents_outlive_their_array(dtype: str, end: str) -> None:
    ones = np.ones(1000).astype(ShapedArray((), dtype).dtype)
    array = XLA.put(ones, aval_of(ones))
    contents, capsule = array.to_numpy(), array.__dlpack__()
    if end == "donate":
        tangrad.jit(lambda x: x + x, donate_argnums=0)(array)
    else:
        array.delete()
        assert array.is_deleted()
    others = [XLA.put(ones + ones, aval_of(ones)) for _ in range(20)]
    np.testing.assert_array_equal(contents, ones)
    del capsule, others


def test_compiled_programs_survive_serialisation() -> None:
    from tangrad._backend_xla.mlir import bytecode, ir, vocabulary

    text = """module @twice { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.add %x, %x : tensor<4xf32>
      return %y : tensor<4xf32> } }"""
    module = ir.Module.parse(text, vocabulary().context)
    options = jaxlib_api.make_compile_options([[DEVICE.raw]], 1, 1)
    first = jaxlib_api.compile_and_load(DEVICE.client, bytecode(module), [DEVICE.raw], options)
    data = jaxlib_api.serialize_executable(first)
    again = jaxlib_api.deserialize_executable(DEVICE.client, data, [DEVICE.raw], options)
    aval = ShapedArray((4,), "float32")
    x = XLA.put(np.arange(4, dtype=np.float32), aval)
    handler = jaxlib_api.result_handler(aval, DEVICE.uncommitted.sharding, False)
    for executable in (first, again):
        (y,) = executable.execute_sharded([x.value]).consume_with_handlers([handler])
        np.testing.assert_array_equal(jaxlib_api.to_numpy(y, aval.dtype), [0, 2, 4, 6])
        assert "add" in jaxlib_api.executable_text(executable) or "fusion" in jaxlib_api.executable_text(executable)


def test_compile_options_are_those_of_jax() -> None:
    compiler = pytest.importorskip("jax._src.compiler")
    theirs = compiler.get_compile_options(
        num_replicas=1, num_partitions=1, device_assignment=np.array([[0]]), detailed_logging=False
    )
    ours = jaxlib_api.make_compile_options([[DEVICE.raw]], 2, 3)
    theirs.executable_build_options.allow_spmd_sharding_propagation_to_parameters = [True] * 2
    theirs.executable_build_options.allow_spmd_sharding_propagation_to_output = [True] * 3
    assert ours.SerializeAsString() == theirs.SerializeAsString()


BESIDE_JAX = """
import {first}
import {second}
import sys
import numpy as np
import jax
import jax.numpy as jnp
from tangrad.core import ShapedArray, get_backend
from tangrad._lax.elementwise.primitives import add_p

wide = np.arange(4) * 2**40 + 1
xla = get_backend("xla")
ours = xla.put(wide, ShapedArray((4,), "int64"))
total = add_p.bind(ours, ours)
assert total.to_numpy().tolist() == (2 * wide).tolist() and total.to_numpy().dtype == np.int64
assert jnp.asarray(wide).dtype == jnp.int32, "jax's own setting holds for jax"
with jax.enable_x64(True):
    theirs = jnp.asarray(wide) + 1
    assert theirs.dtype == jnp.int64 and theirs.tolist() == (wide + 1).tolist()
    assert add_p.bind(ours, ours).to_numpy().tolist() == (2 * wide).tolist()
assert [d.id for d in jax.devices()] == [0] and [d.id for d in xla.devices()] == [0, 1, 2]
moved = xla.move(total, xla.devices()[2])
assert moved.device.id == 2 and moved.to_numpy().tolist() == (2 * wide).tolist()
assert jax.jit(lambda x: x * 2)(jnp.ones(3)).tolist() == [2, 2, 2]
with jax.enable_x64(True):
    assert jnp.from_dlpack(total).tolist() == (2 * wide).tolist()
    assert xla.from_dlpack(jnp.asarray(wide)).to_numpy().tolist() == wide.tolist()
print(jnp.asarray(np.asarray(total) // 2**40).tolist(), repr(jnp.ones(1)), repr(total.devices()))
"""


@pytest.mark.parametrize("order", [("jax", "tangrad"), ("tangrad", "jax")])
def test_beside_jax_in_either_order(order: tuple[str, str]) -> None:
    pytest.importorskip("jax")
    first, second = order
    # Ours have used jaxlib before jax is imported, or after.
    prologue = "from tangrad.core import get_backend; get_backend('xla').devices()" if first == "tangrad" else ""
    output = run(f"{prologue}\n{BESIDE_JAX.format(first=first, second=second)}", TANGRAD_NUM_CPU_DEVICES="3")
    assert output.split("]")[0] == "[0, 2, 4, 6"


def test_jax_is_never_imported() -> None:
    program = """
    import sys
    import numpy as np
    from tangrad.core import ShapedArray, get_backend, trace_to_closed_jaxpr
    from tangrad.core.backends import CompileOptions
    from tangrad._lax.elementwise.primitives import sin_p
    xla = get_backend("xla")
    x = xla.put(np.ones(3, np.float32), ShapedArray((3,), "float32"))
    closed = trace_to_closed_jaxpr(lambda x: (sin_p.bind(x),), [x.aval])
    program = xla.compile(closed, CompileOptions("f"))
    (y,) = program.execute([x])
    repr(y), repr(x.devices()), program.as_text(), np.from_dlpack(y), xla.from_dlpack(y)
    sin_p.bind(y).block_until_ready()
    bfloat16 = ShapedArray((3,), "bfloat16")
    xla.put(np.ones(3, bfloat16.dtype), bfloat16).to_numpy()
    print([name for name in sys.modules if name.split(".")[0] == "jax"])
    """
    assert run(program) == "[]\n"


def test_the_environment_is_as_before() -> None:
    program = """
    import os
    before = dict(os.environ)
    from tangrad.core import get_backend
    get_backend("xla").devices()
    print(dict(os.environ) == before)
    """
    assert run(program) == "True\n"


def test_lapack_may_be_registered_by_both() -> None:
    pytest.importorskip("jax")
    pytest.importorskip("scipy")
    program = """
    import jax, jax.numpy as jnp
    from tangrad._backend_xla import jaxlib_calls
    {first}
    {second}
    print("done")
    """
    ours, theirs = "jaxlib_calls.register_lapack()", "jax.block_until_ready(jnp.linalg.cholesky(jnp.eye(3)))"
    for first, second in ((ours, theirs), (theirs, ours)):
        assert run(program.format(first=first, second=second)) == "done\n"


# --- CUDA, as far as a machine without a GPU shows -------------------------------------------------------------------


def test_cuda_options_come_from_the_environment() -> None:
    options = gpus.client_options(
        {
            "XLA_PYTHON_CLIENT_ALLOCATOR": "platform",
            "XLA_CLIENT_MEM_FRACTION": ".5",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "TANGRAD_CUDA_VISIBLE_DEVICES": "0,2",
        }
    )
    assert options == {
        "allocator": "platform",
        "memory_fraction": 0.5,
        "preallocate": False,
        "visible_devices": [0, 2],
    }
    with pytest.raises(ValueError, match="'best'"):
        gpus.client_options({"XLA_PYTHON_CLIENT_ALLOCATOR": "best"})


def test_a_missing_cuda_plugin_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus.Vendor, "find_plugin", lambda self: None)
    with pytest.raises(RuntimeError, match=r"pip install 'tangrad\[cuda\]'"):
        gpus.CUDA.make_client(Coordination(lambda: False))


def test_a_platform_that_is_not_there_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"no platform 'gpu'.*it has cpu"):
        XLA.devices("gpu")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_of_a_process_with_threads_of_xla_warn():
    program = """
        import os, warnings
        import tangrad.numpy as np

        def warned():
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                child = os.fork()
                if not child:
                    os._exit(0)
                os.waitpid(child, 0)
            return any([w.category is RuntimeWarning and "XLA" in str(w.message) for w in found])

        before = warned()
        np.ones(3) + 1
        print(before, warned(), warned())
    """
    assert run(program, TANGRAD_BACKEND="xla").split() == ["False", "True", "True"]
    assert run(program, TANGRAD_BACKEND="numpy").split() == ["False"] * 3
