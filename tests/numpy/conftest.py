"""Both sides of the comparisons: the reference, whose results are kept, and Tangrad on each backend."""

import importlib
import importlib.util

import pytest

from tests.numpy.support import Side


@pytest.fixture(scope="session")
def reference():
    jax = pytest.importorskip("jax", reason="the reference is not installed")
    return Side(importlib.import_module("jax.numpy"), api=jax, remember=True)


def _side(backend):
    config = importlib.import_module("tangrad._core.settings.config")
    with config.backend(backend):
        return Side(importlib.import_module("tangrad.numpy"), api=importlib.import_module("tangrad"), backend=backend)


@pytest.fixture(scope="session")
def numpy_side():
    return _side("numpy")


@pytest.fixture(scope="session")
def xla_side():
    if importlib.util.find_spec("jaxlib") is None:
        pytest.skip("jaxlib is not installed")
    return _side("xla")


@pytest.fixture(scope="session", params=["numpy", "xla"])
def subject(request):
    if request.param == "xla" and importlib.util.find_spec("jaxlib") is None:
        pytest.skip("jaxlib is not installed")
    return _side(request.param)
