"""The setting `default_device`: devices, and texts that name one."""

import os
import subprocess
import sys

import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import SETTINGS
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
