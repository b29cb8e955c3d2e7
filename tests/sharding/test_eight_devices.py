"""Runs what needs eight devices, in processes of its own: the number of devices is fixed at their first use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "eight_devices"
FILES = sorted([path.name for path in HERE.glob("check_*.py")])


def test_there_are_files() -> None:
    assert FILES


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("file", FILES)
def test_on_eight_devices(file: str, backend: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "PYTEST_"))}
    environment |= {"TANGRAD_BACKEND": backend, "TANGRAD_NUM_CPU_DEVICES": "8"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", str(HERE / file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
