"""jaxlib and the plugins of GPUs: those that do not fit, and what is said of them."""

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

jaxlib = pytest.importorskip("jaxlib")

# --- A jaxlib that is too old, too new, half removed, or of another platform ---


from tangrad._backend_xla import jaxlib_version
from tangrad._backend_xla.jaxlib_version import UnusableJaxlibError, explanation

ROOT = Path(__file__).resolve().parents[2]
CURE = '"jaxlib>=0.10,<0.13"'
WHOLE = ("version.py", "mlir/_mlir_libs/__init__.py")

PROGRAM = """
import json, sys, warnings
prepare = {prepare!r}
exec(prepare)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import tangrad
    import tangrad.numpy as tnp
    first, second = (type(tnp.sin(tnp.arange(3.0))).__name__ for _ in range(2))
    try:
        tangrad.core.get_backend("xla")
        explicit = None
    except Exception as error:
        explicit = [type(error).__name__, str(error), type(error.__cause__).__name__]
said = [[one.category.__name__, str(one.message)] for one in caught]
print(json.dumps({{"default": first, "again": second, "warnings": said, "explicit": explicit}}))
"""


def fake(folder: Path, version: str = "0.10.2", files: tuple[str, ...] = WHOLE, texts: Mapping[str, str] = {}) -> Path:
    """A folder for PYTHONPATH with a package `jaxlib` of these files, and its metadata."""
    package = folder / "jaxlib"
    for name in ("__init__.py", *files, *texts):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(texts.get(name, f"__version__ = {version!r}\n" if name == "version.py" else ""))
    metadata = folder / f"jaxlib-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: jaxlib\nVersion: {version}\n")
    return folder


def outcome(path: Path | None = None, prepare: str = "") -> dict:
    """What a fresh process does by default, and where XLA is asked for: backends, warnings, the error."""
    settings = {name: value for name, value in os.environ.items() if name != "TANGRAD_BACKEND"}
    if path is not None:
        settings["PYTHONPATH"] = str(path)
    program = PROGRAM.format(prepare=prepare)
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_that_numpy_serves(found: dict, *words: str) -> None:
    """One warning, NumPy by default, and for XLA an error with the same text, which has the words and the cure."""
    assert found["default"] == found["again"] == "NumpyArray"
    ((category, warning),) = found["warnings"]
    assert category == "PluginWarning"
    kind, error, cause = found["explicit"]
    assert (kind, cause) == ("BrokenPluginError", "UnusableJaxlibError")
    for text in (warning, error):
        assert "needs jaxlib 0.10 to 0.12" in text and CURE in text and "TANGRAD_BACKEND=numpy" in text
        for word in words:
            assert word in text, text


def test_one_that_is_too_old(tmp_path: Path) -> None:
    found = outcome(fake(tmp_path, "0.4.38"))
    check_that_numpy_serves(found, "found 0.4.38", str(tmp_path / "jaxlib"), "too old", "pip install " + CURE)


@pytest.mark.parametrize(
    "files", [WHOLE, ("version.py",), (), ("mlir/_mlir_libs/__init__.py",)], ids=["no runtime", "no mlir", "bare", "-"]
)
def test_one_that_is_half_removed(tmp_path: Path, files: tuple[str, ...]) -> None:
    found = outcome(fake(tmp_path, files=files))
    check_that_numpy_serves(found, "found 0.10.2", "half removed", "pip install --force-reinstall " + CURE)


def test_one_of_another_platform(tmp_path: Path) -> None:
    library = f"_jax{EXTENSION_SUFFIXES[-1]}"
    found = outcome(fake(tmp_path, texts={library: "this is no library for any platform\n" * 100}))
    check_that_numpy_serves(found, "does not load on this platform", f"CPython {sys.version.split()[0]}", "ImportError")


def newer(folder: Path, version: str = "0.99.1") -> Path:
    """The installed jaxlib under another version."""
    real = str(Path(jaxlib.__file__).parent)
    return fake(folder, version, ("version.py",), {"__init__.py": f"__path__.append({real!r})\n"})


def test_a_newer_one_is_warned_of_once_and_used(tmp_path: Path) -> None:
    found = outcome(newer(tmp_path))
    assert found["default"] == found["again"] == "XlaArray" and found["explicit"] is None
    ((category, warning),) = found["warnings"]
    assert category == "UntestedJaxlibWarning"
    assert "jaxlib 0.99.1 is newer" in warning and "tested with, 0.10 to 0.12" in warning and CURE in warning


@pytest.mark.parametrize("name", ["DeviceList", "DeviceAssignment", "batched_device_put"])
def test_a_newer_one_that_lacks_a_name_is_not_used(tmp_path: Path, name: str) -> None:
    """Names that are needed at import, for a program, and for an array."""
    found = outcome(newer(tmp_path), f"from jaxlib import _jax\ndel _jax.{name}")
    check_that_numpy_serves(found, "found 0.99.1", "it is newer than those", f"no attribute '{name}'")


def test_a_newer_one_that_computes_something_else_is_not_used(tmp_path: Path) -> None:
    wrong = """
from tangrad._backend_xla.array import XlaArray
whole = XlaArray.to_numpy
XlaArray.to_numpy = lambda array: whole(array) + 1
"""
    found = outcome(newer(tmp_path), wrong)
    check_that_numpy_serves(found, "found 0.99.1", "a program that returns its argument, [0. 1. 2.], returns")


def test_what_is_said_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxlib_version, "_found", lambda: (None, None))
    message = str(explanation(ModuleNotFoundError("No module named 'jaxlib'", name="jaxlib")))
    assert message.startswith("the XLA backend needs jaxlib 0.10 to 0.12, found none: it is not installed")
    assert "pip install " + CURE in message


def test_what_jaxlib_itself_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxlib_version, "_found", lambda: ("0.11.2", "/somewhere/jaxlib"))
    message = str(explanation(ModuleNotFoundError("No module named 'ml_dtypes'", name="ml_dtypes")))
    assert "found 0.11.2 in /somewhere/jaxlib: it needs ml_dtypes, which is not installed" in message
    monkeypatch.setattr(jaxlib_version, "_found", lambda: (None, "/somewhere/jaxlib"))
    assert "found one of an unknown release in /somewhere/jaxlib" in str(explanation(OSError("no")))


def test_errors_that_are_explained_already_are_left_alone() -> None:
    first = UnusableJaxlibError("said")
    with pytest.raises(UnusableJaxlibError) as caught, jaxlib_version.explained:
        raise first
    assert caught.value is first
    with pytest.raises(KeyboardInterrupt), jaxlib_version.explained:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("version", "untested"),
    [("0.10.0", False), ("0.12.0.1", False), ("0.12.9.dev20260101", False), ("0.13rc1", True), ("1.0", True)],
)
def test_which_releases_are_newer(version: str, untested: bool) -> None:
    assert jaxlib_version.is_untested(version) is untested
    called: list[int] = []
    if untested:
        with pytest.warns(jaxlib_version.UntestedJaxlibWarning, match=re.escape(f"jaxlib {version} is newer")):
            jaxlib_version.try_out(version, lambda: called.append(1))
    else:
        jaxlib_version.try_out(version, lambda: called.append(1))
    assert called == [1] * untested


def test_the_bounds_are_those_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "backends/xla/pyproject.toml").read_text())["project"]
    assert jaxlib_version.REQUIREMENT in project["dependencies"]
    (cuda,) = project["optional-dependencies"]["cuda"]
    assert cuda.endswith(jaxlib_version.REQUIREMENT.removeprefix("jaxlib"))


# --- GPUs through their plugin, as far as it goes without one ---


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
