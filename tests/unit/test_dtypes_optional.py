"""The narrow dtypes where ml_dtypes is absent, too old, or does not load: what is said, and what works all the same."""

import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tangrad._core.dtypes import objects
from tangrad.core import dtypes

ROOT = Path(__file__).resolve().parents[2]


def test_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="dtype bfloat16 needs the package ml_dtypes, which is not installed") as caught:
        objects.narrow_dtype("bfloat16")
    assert f"NumPy {np.__version__} has none" in str(caught.value)
    assert str(caught.value).endswith('pip install "ml_dtypes>=0.5,<0.7"')
    assert dtypes.as_dtype("float16") == np.float16


def test_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("ml_dtypes")
    old.__version__ = "0.1.0"
    monkeypatch.setitem(sys.modules, "ml_dtypes", old)
    with pytest.raises(TypeError, match=r"float8_e8m0fnu is not in the installed ml_dtypes 0\.1\.0") as caught:
        objects.narrow_dtype("float8_e8m0fnu")
    assert 'pip install --upgrade "ml_dtypes' in str(caught.value)


def test_one_that_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(objects, "ml_dtypes", refuse)
    with pytest.raises(TypeError, match=r"which does not load \(numpy\.core\.multiarray failed to import\)") as caught:
        objects.narrow_dtype("int4")
    assert 'pip install --force-reinstall "ml_dtypes' in str(caught.value)


def test_the_bounds_are_those_that_the_conformance_kit_requires() -> None:
    project = tomllib.loads((ROOT / "plugins/conformance/pyproject.toml").read_text())["project"]
    assert objects.ML_DTYPES in project["dependencies"]
