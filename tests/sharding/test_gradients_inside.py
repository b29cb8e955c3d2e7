"""Derivatives inside of checked sharded maps: the same numbers as in JAX, on both backends."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax")


def numbers(library: str, path, **environment: str) -> dict:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "PYTEST_"))}
    command = [sys.executable, "-m", "tests.sharding.gradients_inside", library, str(path)]
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(np.load(path))


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict:
    path = tmp_path_factory.mktemp("gradients") / "jax.npz"
    return numbers("jax", path, XLA_FLAGS="--xla_force_host_platform_device_count=8", JAX_PLATFORMS="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_the_numbers_of_jax(expected, backend, tmp_path) -> None:
    found = numbers("tangrad", tmp_path / "found.npz", TANGRAD_BACKEND=backend, TANGRAD_NUM_CPU_DEVICES="8")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=1e-4, err_msg=name)
