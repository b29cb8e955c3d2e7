"""Derivatives of random programs over devices, of one to five orders, against the same functions on one device.

`python -m tests.sharding.random_derivatives SEED 1` looks at one of them again. Some are run each time, by
`eight_devices/check_random_derivatives.py`.
"""

import os
import subprocess
import sys

import pytest

COUNTS = {"numpy": 60, "xla": 15}  # in each part: what some minutes suffice for


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("backend", COUNTS)
def test_random_derivatives(backend: str, part: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "PYTEST_"))}
    environment |= {"TANGRAD_BACKEND": backend, "TANGRAD_NUM_CPU_DEVICES": "4"}
    count = COUNTS[backend]
    arguments = [str(100_000 + part * count), str(count)]
    command = [sys.executable, "-m", "tests.sharding.random_derivatives", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    compared = int(done.stdout.split(" compared")[0].split()[-1])
    assert compared > 0.9 * count, done.stdout
