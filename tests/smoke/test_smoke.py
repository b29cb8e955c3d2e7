"""A little of everything, for environments in which not everything can be run: see `tools/matrix.py`.

Every module of every installed distribution is imported, a program of every family of primitives runs on every
installed backend (eagerly, jitted, differentiated, mapped), and so does what touches the libraries underneath most:
callbacks, donation, DLPack, the persistent cache, several devices.
"""

import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from ctypes import c_float
from pathlib import Path

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, export, lax, nn, random, use_backend
from tangrad._ffi.frames import buffer, handler
from tangrad.core import backend_names, composition, get_backend
from tangrad.experimental import checkify, custom_dce, pallas
from tangrad.sharding import NamedSharding
from tangrad.sharding import PartitionSpec as P
from tools.workspace import ROOT, Distribution, distributions, umbrella

X = np.linspace(0.1, 0.9, 6, dtype=np.float32)
SQUARE = X[:4].reshape(2, 2) + 2 * np.eye(2, dtype=np.float32)
needs_xla = pytest.mark.skipif("xla" not in backend_names(), reason="tangrad-backend-xla is not installed here")


def is_installed(part: Distribution) -> bool:
    try:
        return importlib.metadata.version(part.name) == part.project["version"]
    except importlib.metadata.PackageNotFoundError:
        return False


INSTALLED = [part for part in distributions().values() if is_installed(part)]


@pytest.fixture(params=backend_names())
def on(request):
    """Each installed backend in turn, as the default; arrays of the others do not come in."""
    with use_backend(request.param):
        yield request.param


# --- what is installed ----------------------------------------------------------------------------------------------


def test_the_standard_set_is_installed():
    names = {part.name for part in INSTALLED}
    assert names >= set(umbrella().first_party_requirements)
    assert {f"tangrad-backend-{name}" for name in backend_names()} <= names


@pytest.mark.parametrize("part", INSTALLED, ids=lambda part: part.name)
def test_every_module_is_imported(part):
    has_kit = any(other.name == "tangrad-conformance" for other in INSTALLED)
    for name in part.modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:  # samples are read by the conformance kit alone
            if has_kit or "pip install tangrad-conformance" not in str(error):
                raise


def test_the_doctor_finds_no_problem():
    program = "import sys; from tangrad._console.cli import main; sys.exit(main(['doctor', '--json']))"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TANGRAD_BACKEND")}
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=clean)
    data = json.loads(done.stdout)
    assert data["problems"] == [] and done.returncode == 0, done.stderr
    assert {one["name"]: one["usable"] for one in data["backends"]} == dict.fromkeys(backend_names(), True)


def test_the_first_program_of_the_readme(on):
    (program,) = re.findall(r"## A first program\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names: dict = {}
    exec(program, names)
    assert type(names["value"]).__module__.startswith(f"tangrad._backend_{on}")
    expected = np.tanh(3.0)
    np.testing.assert_allclose(names["value"], expected**2, rtol=1e-5)
    np.testing.assert_allclose(names["gradient"], np.full(3, 2 * expected * (1 - expected**2)), rtol=1e-4)


# --- a program of each family ---------------------------------------------------------------------------------------


def looped(x):
    _, totals = lax.scan(lambda carry, y: (carry * y + 1, carry), 1.0, x)
    powers = lax.fori_loop(0, 3, lambda _, y: y * y, x)
    return totals + lax.cond(tnp.sum(x) > 0, tnp.sin, tnp.cos, powers)


@handler
def _double(frame):
    buffer(frame.rets, 0, c_float)[...] = 2 * buffer(frame.args, 0, c_float)


def doubled_abroad(x):
    tangrad.ffi.register_ffi_target("smoke_double", _double)
    declared = tangrad.ShapeDtypeStruct(x.shape, x.dtype)
    return tangrad.ffi.ffi_call("smoke_double", declared, vmap_method="broadcast_all")(x)


@tangrad.custom_jvp
def doubled(x):
    return 2 * x


doubled.defjvps(lambda tangent, out, x: 2 * tangent)


def solved(x):
    diagonal = 2 + x[:2]
    return lax.custom_linear_solve(lambda v: diagonal * v, x[2:4], solve=lambda _, b: b / diagonal, symmetric=True)


@tangrad.custom_batching.custom_vmap
def tripled(x):
    return 3 * x


@tripled.def_vmap
def _(axis_size, in_batched, x):
    return 3 * x, in_batched[0]


@custom_dce
def twofold(x):
    return tnp.sin(x), tnp.exp(x)


@twofold.def_dce
def _(used, x):
    return (tnp.sin(x) if used[0] else None, tnp.exp(x) if used[1] else None)


def mesh():
    return tangrad.make_mesh((1,), ("i",), devices=tangrad.devices()[:1])


def partitioned(y):
    """A function that says how it is partitioned: here on one device, where it runs as it is."""
    tripled = tangrad.experimental.custom_partitioning.custom_partitioning(lambda y: 3 * y)
    tripled.def_partition(partition=lambda mesh, *types: (mesh, tripled, None, None), sharding_rule="i -> i")
    return tripled(y)


def constrained(x):
    return lax.with_sharding_constraint(x * 2, NamedSharding(mesh(), P("i")))


def shared(x):
    spread = tangrad.shard_map(lambda y: y / lax.psum(y, "i"), mesh=mesh(), in_specs=P("i"), out_specs=P("i"))
    return spread(x)


def drawn(x):
    return x * random.normal(random.key(7), x.shape)


def called_back(x):
    shape = tangrad.ShapeDtypeStruct(x.shape, x.dtype)
    return tangrad.pure_callback(lambda value: np.asarray(value) * 2, shape, x, vmap_method="broadcast_all")


def plane(x):
    return SQUARE + tnp.outer(x[:2], x[2:4])


def in_regions(x):
    for factor in (1.0, 2.0, 3.0):
        x = tnp.sin(x) * factor
    return x


def checked(x):
    def positive(x):
        checkify.check(tnp.all(x > 0), "{} is not positive", x)
        return tnp.sqrt(x)

    error, roots = checkify.checkify(positive)(x)
    return tnp.where(error_of(error), 0.0, roots)


def error_of(error):
    """Whether there is one, in a program."""
    return tangrad.tree.leaves(error)[0] != 0


def in_a_kernel(x):
    def tripled_block(source, target):
        target[...] = source[...] * 3 + pallas.program_id(0)

    halves = pallas.BlockSpec((3,), lambda block: block)
    shape = tangrad.ShapeDtypeStruct(x.shape, x.dtype)
    return pallas.pallas_call(tripled_block, shape, grid=2, in_specs=[halves], out_specs=halves)(x)


def refilled(x):
    ref = tangrad.new_ref(2 * x)
    ref[1:3] += x[1:3] * x[2:4]
    return tangrad.freeze(ref)


# Family -> a function of a vector of six floats, and whether it has a derivative.
PROGRAMS = {
    "activations": (lambda x: nn.relu(x) + nn.softplus(x), True),
    "autodiff": (lambda x: tangrad.grad(lambda y: tnp.sum(y * y * y))(x), True),
    "batching": (lambda x: tangrad.vmap(lambda y, z: y * z, (0, None))(x, x), True),
    "callbacks": (called_back, False),
    "checkpointing": (tangrad.checkpoint(lambda x: tnp.sin(tnp.sin(x))), True),
    "collectives": (lambda x: tangrad.vmap(lambda y: y / lax.psum(y, "i"), axis_name="i")(x), True),
    "contractions": (lambda x: tnp.outer(x, x) @ x, True),
    "control_flow": (looped, True),
    "custom_rules": (doubled, True),
    "decompositions": (lambda x: tnp.linalg.svd(plane(x), compute_uv=False) @ tnp.linalg.qr(plane(x))[1], True),
    "elementwise": (lambda x: tnp.exp(x) / (1 + tnp.abs(x)) - lax.population_count(tnp.int32(7)), True),
    "fft": (lambda x: tnp.fft.irfft(tnp.fft.rfft(x) * tnp.exp(-1j * tnp.fft.rfftfreq(6))), True),
    "foreign": (doubled_abroad, False),
    "indexing": (lambda x: x.at[tnp.array([0, 2])].add(1.0)[::2] * x[tnp.array([1, 1, 5])], True),
    "jit": (tangrad.jit(lambda x: tnp.cos(x) * x), True),
    "linalg": (lambda x: tnp.linalg.cholesky(SQUARE @ SQUARE.T + tnp.sum(x) * tnp.eye(2)), True),
    "linear_calls": (lambda x: tangrad.linear_call(lambda r, y: r * y, lambda r, t: r * t, 2.0, x), True),
    "composites": (lax.composite(lambda x: 3 * tnp.sin(x), "smoke.wave"), True),
    "mapped_calls": (tripled, True),
    "numerical": (lambda x: tnp.interp(x, x, x) + tnp.correlate(x, x, "same"), True),
    "pallas": (in_a_kernel, False),
    "partial_calls": (lambda x: twofold(x)[1], True),
    "placement": (lambda x: tangrad.device_put(x) + 1, True),
    "random": (drawn, True),
    "references": (refilled, True),
    "reductions": (lambda x: tnp.cumsum(x) / tnp.max(x) + tnp.argmax(x), True),
    "shard_map": (shared, True),
    "regions": (tangrad.jit(in_regions, compile_regions="always"), True),
    "runtime_checks": (checked, True),
    "custom_partitioning": (partitioned, True),
    "sharding": (constrained, True),
    "solves": (solved, True),
    "sorting": (lambda x: tnp.sort(-x) + tnp.argsort(x), True),
    "special": (lambda x: lax.lgamma(x) + lax.erf(x), True),
    "structure": (lambda x: tnp.concatenate([x.reshape(2, 3).T.ravel(), tnp.pad(x, 1)]), True),
    "systems": (lambda x: tnp.linalg.solve(plane(x), x[2:4]), True),
    "whole_arrays": (lambda x: tnp.linalg.norm(x) + tnp.nanmax(x), True),
    "windows": (lambda x: tnp.convolve(x, x[:3]), True),
    "xmapping": (tangrad.xmap(lambda y: y / lax.psum(y, "i"), in_axes=["i"], out_axes=["i"]), True),
}


# Families whose primitives are found in exported programs alone, which XLA runs.
EXPORTED = {"dimensions", "exporting"}


def test_there_is_a_program_of_each_family():
    assert PROGRAMS.keys() | EXPORTED == {plugin.name for plugin in composition().entries("tangrad.primitives")}


def test_an_exported_program_of_any_size():
    pytest.importorskip("jaxlib")
    with tangrad.use_backend("xla"):
        spec = export.symbolic_args_specs(tnp.ones(6), "n")
        made = export.deserialize(export.export(tangrad.jit(tnp.mean))(spec).serialize())
        assert [float(made.call(tnp.arange(float(size)))) for size in (1, 6)] == [0.0, 2.5]


@pytest.mark.parametrize("family", PROGRAMS)
def test_a_program_of_each_family(on, family):
    """Jitted and mapped it gives what it gives eagerly; its gradient is what differences say."""
    function, has_derivative = PROGRAMS[family]
    value = np.asarray(function(tnp.asarray(X)))
    assert value.dtype == np.float32 and np.isfinite(value).all() and value.any()
    np.testing.assert_allclose(tangrad.jit(function)(X), value, rtol=1e-5, atol=1e-6)
    rows = np.stack([X, X[::-1]])
    expected = np.stack([value, function(tnp.asarray(rows[1]))])
    np.testing.assert_allclose(tangrad.jit(tangrad.vmap(function))(rows), expected, rtol=1e-4, atol=1e-5)
    if has_derivative:

        def total(x):
            return tnp.sum(function(x) * tnp.arange(1.0, value.size + 1).reshape(value.shape))

        gradient = np.asarray(tangrad.jit(tangrad.grad(total))(X))
        step = np.float32(1e-2) * np.cos(np.arange(6, dtype=np.float32))
        difference = (float(total(tnp.asarray(X + step))) - float(total(tnp.asarray(X - step)))) / 2
        np.testing.assert_allclose(gradient @ step, difference, rtol=2e-2, atol=1e-3)
        np.testing.assert_allclose(tangrad.vmap(tangrad.grad(total))(rows)[0], gradient, rtol=1e-4, atol=1e-5)


# --- what touches the libraries underneath --------------------------------------------------------------------------


def test_callbacks_keep_their_order(on):
    seen: list[float] = []

    @tangrad.jit
    def program(x):
        tangrad.debug.callback(lambda value: seen.append(float(value)), x, ordered=True)
        tangrad.debug.callback(lambda value: seen.append(-float(value)), x, ordered=True)
        return x + 1

    program(program(tnp.float32(1))).block_until_ready()
    tangrad.effects_barrier()
    assert seen == [1.0, -1.0, 2.0, -2.0]
    with pytest.raises(tangrad.debug.CallbackError, match="ZeroDivisionError"):
        np.asarray(tangrad.jit(lambda x: tangrad.pure_callback(lambda v: 1 // 0, x, x))(tnp.float32(1)))


def test_a_donated_argument_is_gone(on):
    x = tnp.asarray(X)
    result = tangrad.jit(lambda x: x * 2 + 1, donate_argnums=0)(x)
    np.testing.assert_allclose(result, X * 2 + 1)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match=r"delete|donat"):
        np.asarray(x)


def test_dlpack_both_ways(on):
    ours = tnp.asarray(X)
    np.testing.assert_array_equal(np.from_dlpack(ours), X)
    np.testing.assert_array_equal(tnp.from_dlpack(X.copy()), X)


def test_wide_numbers_stay_wide(on):
    with enable_x64(True):
        number = tnp.asarray(np.int64(2**40 + 1)) * 3
        assert number.dtype == np.int64 and int(number) == 3 * (2**40 + 1)
        assert tangrad.grad(lambda x: x**3)(np.float64(1e-200)).dtype == np.float64


def test_narrow_numbers_come_with_ml_dtypes(on):
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        with pytest.raises(
            TypeError, match=r'bfloat16 needs the package ml_dtypes, which is not .*pip install "ml_dtypes'
        ):
            tnp.zeros(2, "bfloat16")
        return
    total = tangrad.jit(tnp.sum)(tnp.full(4, 1.5, "bfloat16"))
    assert total.dtype == ml_dtypes.bfloat16 and float(total) == 6.0


def test_floating_point_reports_are_the_users_own(on):
    assert tnp.log(tnp.zeros(2)).tolist() == [-np.inf] * 2
    assert tangrad.jit(lambda x: 1 / x)(np.zeros(2, np.float32)).tolist() == [np.inf] * 2
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.float64(1) / np.zeros(1)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.ones(1) / np.zeros(1)


PERSISTENT = """
import numpy as np
import tangrad, tangrad.numpy as tnp
from tangrad._backend_xla import jaxlib_api
compiled = []
original = jaxlib_api.compile_and_load
jaxlib_api.compile_and_load = lambda *args: compiled.append(1) or original(*args)
gradient = tangrad.jit(tangrad.grad(lambda x: tnp.sum(tnp.linalg.cholesky(x @ x.T + tnp.eye(3)))))
result = gradient(np.ones((3, 3), "float32"))
print(len(compiled), *np.asarray(result).ravel().tolist())
"""


def run_again(program: str, **variables: str) -> list[str]:
    """The words that a program prints in a process of its own, in which warnings are errors."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TANGRAD_BACKEND", "XLA_"))}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env={**clean, **variables}, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs_xla
def test_a_compiled_program_outlives_its_process(tmp_path: Path):
    folder = {"TANGRAD_COMPILATION_CACHE_DIR": str(tmp_path / "cache"), "TANGRAD_XLA_CACHE_MIN_COMPILE_SECONDS": "0"}
    first, *values = run_again(PERSISTENT, TANGRAD_BACKEND="xla", **folder)
    again, *same = run_again(PERSISTENT, TANGRAD_BACKEND="xla", **folder)
    assert int(first) > 0 and int(again) == 0 and values == same and len(values) == 9


@needs_xla
def test_several_devices():
    program = """
import tangrad, tangrad.numpy as tnp
devices = tangrad.devices()
moved = tangrad.device_put(tnp.arange(3.0), devices[3])
result = tangrad.jit(lambda x: x * 2)(moved)
print(len(devices), *(device.id for device in result.devices()), result.tolist())
"""
    assert run_again(program, TANGRAD_NUM_CPU_DEVICES="4", TANGRAD_BACKEND="xla") == ["4", "3", "[0.0,", "2.0,", "4.0]"]


@needs_xla
def test_nothing_of_jax_is_imported():
    program = (
        "import sys, tangrad, tangrad.numpy as t; print(tangrad.jit(t.sin)(t.ones(2)).tolist(), 'jax' in sys.modules)"
    )
    assert run_again(program, TANGRAD_BACKEND="xla")[-1] == "False"
    assert get_backend("xla").devices()
