"""GPUs through their plugin, as far as it goes without one: wheels with the files of the real ones, whose client is
that of the host's processors in disguise.
"""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("jaxlib")

EXTENSION = """
seen = []
def register_custom_call_target(c_api, name, function, platform, api_version, traits):
    seen.append((c_api, name, platform, api_version))
def register_custom_type(c_api, name, registration):
    seen.append((c_api, name))
def ffi_types():
    return {"a_type": {}}
def ffi_handlers():
    return {"xla_ffi_python_gpu_callback": object()}
"""
LIBRARIES = {
    "_solver": {"cusolver_getrf_ffi": 1, "an_old_call": 0},
    "_hybrid": {"cuhybrid_geqp3": 1},
    "_linalg": {"cu_lu_pivots_to_permutation": 1},
    "_sparse": {"cusparse_gtsv2_ffi": 1},
    "_prng": {},
}
# The library is not loaded, and the client is another: all between them is what users run.
DISGUISE = """
import sys
import numpy
from tangrad._backend_xla import gpus, jaxlib_api

loaded = []
def load_plugin(name, library):
    loaded.append((name, library))
    return "the C API"
def make_plugin_client(name, options, coordination):
    loaded.append((name, options))
    return jaxlib_api.make_cpu_client(2)
jaxlib_api.load_plugin, jaxlib_api.make_plugin_client = load_plugin, make_plugin_client
gpus.Vendor.has_device = lambda self: self.platform == "cuda"
import tangrad
import tangrad.numpy as np
"""


@pytest.fixture
def wheels(tmp_path):
    """The wheels for CUDA 12; they import jax, which is none of our business."""
    plugin = tmp_path / "jax_plugins/xla_cuda12"
    kernels = tmp_path / "jax_cuda12_plugin"
    plugin.mkdir(parents=True)
    kernels.mkdir()
    (plugin / "__init__.py").write_text("raise ImportError('this imports jax')")
    (plugin / "xla_cuda_plugin.so").write_bytes(b"no library")
    (kernels / "__init__.py").touch()
    (kernels / "cuda_plugin_extension.py").write_text(EXTENSION)
    for name, calls in LIBRARIES.items():
        text = f"def registrations():\n    return {{name: object() for name in {list(calls)!r}}}\n"
        (kernels / f"{name}.py").write_text(text + "def initialize():\n    pass\n")
    return tmp_path


def run(wheels, program, disguise=DISGUISE, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TANGRAD_", "JAX_", "XLA_"))}
    variables = {"TANGRAD_CACHE_DIR": os.environ["TANGRAD_CACHE_DIR"], "PYTHONPATH": str(wheels), **environment}
    command = [sys.executable, "-W", "error", "-c", disguise + textwrap.dedent(program)]
    return subprocess.run(command, env=clean | variables, capture_output=True, text=True, timeout=120, check=False)


def test_programs_run_where_there_is_a_gpu(wheels):
    done = run(
        wheels,
        """
        gpu, _ = tangrad.devices()
        assert gpu.platform == "cuda" == tangrad.devices("gpu")[0].platform and len(tangrad.devices("cpu")) == 1
        (name, library), (_, options) = loaded
        assert library.endswith("xla_cuda12/xla_cuda_plugin.so") and name != "cuda", name  # which jax takes
        assert options["platform_name"] == "cuda" and options["visible_devices"] == [0]

        x = np.arange(6.0).reshape(2, 3)
        assert x.devices() == {gpu}
        value, slope = tangrad.jit(tangrad.value_and_grad(lambda x: np.sum(np.sort(np.sin(x) @ x.T))))(x)
        there = tangrad.device_put(x, tangrad.devices("cpu")[0])
        assert there.devices() == {tangrad.devices("cpu")[0]}
        expected = tangrad.jit(tangrad.grad(lambda x: np.sum(np.sort(np.sin(x) @ x.T))))(there)
        assert expected.devices() == there.devices() and slope.devices() == {gpu}
        numpy.testing.assert_allclose(slope, expected, rtol=1e-6)
        assert [float(row[0]) for row in x] == [0, 3] and x.at[0].set(7.0)[0, 1] == 7
        given = tangrad.jit(lambda x: x + 1, donate_argnums=0)(x + 1)
        numpy.testing.assert_array_equal(given, numpy.arange(6).reshape(2, 3) + 2)
        assert float(tangrad.jit(lambda x: tangrad.lax.platform_dependent(
            x, cpu=lambda x: x, cuda=lambda x: -x))(np.float32(2))) == -2

        text = tangrad.jit(lambda x: tangrad.lax.linalg.lu(x)).lower(x).as_text()
        assert "cusolver_getrf_ffi" in text and "lapack" not in text
        text = tangrad.jit(lambda x: tangrad.pure_callback(lambda x: x, x, x)).lower(x).as_text()
        assert "xla_ffi_python_gpu_callback" in text
        print("jax" in sys.modules)
        """,
        TANGRAD_CUDA_VISIBLE_DEVICES="0",
    )
    assert (done.stdout, done.stderr) == ("False\n", ""), done.stderr


def test_the_functions_of_its_libraries_are_registered(wheels):
    done = run(
        wheels,
        """
        tangrad.devices()
        import jax_cuda12_plugin.cuda_plugin_extension as extension
        for entry in extension.seen:
            assert entry[0] == "the C API"
            print(*entry[1:])
        """,
    )
    assert done.returncode == 0, done.stderr
    calls = {name: version for one in LIBRARIES.values() for name, version in one.items()}
    lines = [f"{name} CUDA {version}" for name, version in calls.items()]
    assert sorted(done.stdout.splitlines()) == sorted(["a_type", "xla_ffi_python_gpu_callback CUDA 1", *lines])


def test_a_plugin_that_does_not_start_leaves_the_cpu(wheels):
    """Its library is none: where CUDA is there by chance, that is said once; where it was asked for, it is an error."""
    here = "import sys\nfrom tangrad._backend_xla import gpus\ngpus.Vendor.has_device = lambda self: True\n"
    program = "import tangrad\nprint(tangrad.devices()[0].platform)"
    done = run(wheels, program, here)
    assert done.stdout == "cpu\n" and "a GPU is present, but cuda did not start" in done.stderr
    asked = run(wheels, program, here, TANGRAD_XLA_PLATFORMS="cuda")
    assert asked.returncode and "'cuda', which TANGRAD_XLA_PLATFORMS asks for, did not start" in asked.stderr
    missing = run(wheels, program, here, TANGRAD_XLA_PLATFORMS="rocm")
    assert "no plugin for ROCM is installed" in missing.stderr and "jax-rocm7-plugin" in missing.stderr
