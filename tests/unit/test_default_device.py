"""The setting `default_device`: devices, and texts that name one."""

import os
import subprocess
import sys

import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core.settings import SETTINGS
from tangrad.errors import BackendError

USE = """
import tangrad, tangrad.numpy as np
x = np.ones(2) + 1
gradient = tangrad.jit(tangrad.grad(lambda x: np.sin(x).sum()))(x)
print(tangrad.default_backend(), *[device.id for array in (x, gradient) for device in array.devices()])
"""


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "TANGRAD_NUM_CPU_DEVICES": "2", **environment}
    return subprocess.run([sys.executable, "-c", USE], env=settings, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "printed"),
    [("cpu", "numpy 0 0"), (" cpu:1 ", "numpy 1 1"), ("numpy:1", "numpy 1 1"), ("", "numpy 0 0"), ("xla:1", "xla 1 1")],
)
def test_texts_of_the_environment(text: str, printed: str) -> None:
    if printed.startswith("xla"):
        pytest.importorskip("jaxlib")
    done = run(TANGRAD_BACKEND="numpy", TANGRAD_DEFAULT_DEVICE=text)
    assert done.stdout.strip() == printed, done.stderr


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_what_has_no_array_among_its_operands_is_on_the_default_device(backend: str) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    code = """
import sys
import tangrad, tangrad.numpy as np
from tangrad import lax
made = tangrad.jit(lambda: (np.sin(np.ones(3)), 5, np.arange(2)))
eager = lambda: (lax.iota("int32", 3), np.sin(2.0), lax.add(1.0, 2.0), np.where(True, 1.0, 2.0), np.eye(2))
name = sys.argv[1]
with tangrad.use_backend(name):
    devices = tangrad.devices(name)
    for chosen in (f"{name}:1", devices[1], None, devices[0], f"{name}:1"):
        expected = devices[1 if chosen in (f"{name}:1", devices[1]) else 0]
        with tangrad.default_device(chosen):
            for function in (made, eager):
                for _ in range(2):  # the second time by the shortest way
                    found = [array.device for array in function()]
                    assert all([device is expected for device in found]), (chosen, found)
print("there")
"""
    settings = {**os.environ, "TANGRAD_NUM_CPU_DEVICES": "2"}
    command = [sys.executable, "-c", code, backend]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "there", done.stderr


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_what_an_eager_gradient_keeps_is_kept_for_each_default_device(backend: str) -> None:
    """Literals among cotangents and residuals become arrays once; then they are where new arrays were that time."""
    if backend == "xla":
        pytest.importorskip("jaxlib")
    code = """
import sys
import tangrad, tangrad.numpy as np
from tangrad import lax
name = sys.argv[1]
functions = [
    lambda x: x,
    lambda x: 3.0,
    lambda x: x * x,
    lambda x: np.reshape(x, (1,)).sum(),
    lambda x: lax.cond(True, lambda y: y * 2, lambda y: y, x),
    lambda x: lax.erf(x),
]
for chosen in (f"{name}:1", f"{name}:0", None, f"{name}:1"):
    with tangrad.use_backend(name), tangrad.default_device(chosen):
        for position, function in enumerate(functions):
            found = tangrad.grad(function)(3.0).device.id
            assert found == (1 if chosen == f"{name}:1" else 0), (position, chosen, found)
print("there")
"""
    settings = {**os.environ, "TANGRAD_NUM_CPU_DEVICES": "2"}
    done = subprocess.run([sys.executable, "-c", code, backend], env=settings, capture_output=True, text=True)
    assert done.stdout == "there\n", done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "there is no backend 'nonsense'; installed: "),
        ("numpy:7", "there is no device 'numpy:7'; there are "),
    ],
)
def test_texts_that_name_no_device(text: str, words: str) -> None:
    done = run(TANGRAD_BACKEND="numpy", TANGRAD_DEFAULT_DEVICE=text)
    assert done.returncode == 1 and words in done.stderr.splitlines()[-1] + done.stderr


def test_a_text_of_another_form_is_left_out() -> None:
    done = run(TANGRAD_BACKEND="numpy", TANGRAD_DEFAULT_DEVICE="0")
    assert done.stdout.strip() == "numpy 0 0"
    assert "TANGRAD_DEFAULT_DEVICE='0': expected the name of a backend or platform" in done.stderr


@pytest.mark.parametrize("value", ["numpy", "numpy:0", tangrad.devices("numpy")[0], None])
def test_values_of_the_setting(value: object) -> None:
    with tangrad.use_backend("numpy"), tangrad.default_device(value):
        assert tangrad.default_backend() == "numpy"
        assert (np.ones(2) + 1).device is tangrad.devices("numpy")[0]


def test_values_that_are_refused() -> None:
    for value, kind in ((3, TypeError), ("a b", ValueError), ("cpu:x", ValueError), ("", ValueError)):
        with pytest.raises(kind, match="setting 'default_device' does not take"):
            SETTINGS["default_device"].set(value)
    with tangrad.default_device("nonsense"), pytest.raises(BackendError, match="there is no backend 'nonsense'"):
        np.ones(2)
