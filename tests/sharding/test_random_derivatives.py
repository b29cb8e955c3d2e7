"""Derivatives of random programs over devices, of one to five orders, against the same functions on one device.

`python -m tests.sharding.random_derivatives SEED 1` looks at one of them again. Some are run each time, by
`eight_devices/check_derivatives.py`.
"""

import os
import subprocess
import sys

import pytest

# Of each backend: the first seed, how many, and the maps; what some minutes suffice for.
PARTS = [
    ("numpy", 5000, 130, ["shard_map"]),
    ("numpy", 50_000, 120, ["shard_map"]),
    ("numpy", 60_000, 60, []),
    ("numpy", 70_000, 100, ["shard_map, from outside"]),
    ("numpy", 80_000, 60, ["shard_map, within another", "shard_map, examples cut along an axis"]),
    ("xla", 0, 30, ["shard_map"]),
    ("xla", 40_000, 15, []),
    ("xla", 70_000, 10, ["shard_map, from outside"]),
    ("xla", 80_000, 10, ["shard_map, within another", "shard_map, examples cut along an axis"]),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("backend", "first", "count", "maps"), PARTS)
def test_random_derivatives(backend: str, first: int, count: int, maps: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "PYTEST_"))}
    environment |= {"TANGRAD_BACKEND": backend, "TANGRAD_NUM_CPU_DEVICES": "4"}
    command = [sys.executable, "-m", "tests.sharding.random_derivatives", str(first), str(count), *maps]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    compared = int(done.stdout.split(" compared")[0].split()[-1])
    assert compared > 0.9 * count, done.stdout
