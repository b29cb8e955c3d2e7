"""Runs what needs several devices, in processes of its own: the number of devices is fixed at their first use."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent / "eight_devices"
FILES = sorted([path.name for path in HERE.glob("check_*.py")])


def run(*arguments: str, timeout: float = 1800, **variables: str) -> str:
    """What a Python program prints, which must not fail."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "PYTEST_"))}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment | variables, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    return done.stdout


def on_devices(backend: str, count: int) -> dict[str, str]:
    return {"TANGRAD_BACKEND": backend, "TANGRAD_NUM_CPU_DEVICES": str(count)}


def test_there_are_files() -> None:
    assert FILES


def check(file: str, backend: str, **variables: str) -> None:
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    assert " passed" in run("-m", "pytest", *options, str(HERE / file), **on_devices(backend, 8), **variables)


# On XLA the programs of all families take minutes to compile.
@pytest.mark.parametrize(
    ("file", "backend"),
    [
        pytest.param(file, backend, marks=pytest.mark.sweep if (file, backend) == ("check_families.py", "xla") else ())
        for file in FILES
        for backend in ("numpy", "xla")
    ],
)
def test_on_eight_devices(file: str, backend: str) -> None:
    check(file, backend)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("file", ["check_custom_partitioning.py", "check_families.py", "check_pmap.py"])
def test_on_explicit_axes(file: str, backend: str) -> None:
    check(file, backend, AXES_OF_CHECKS="Explicit")


@pytest.mark.sweep  # the file itself draws some
@pytest.mark.parametrize(("backend", "examples"), [("numpy", 2000), ("xla", 100)])
def test_many_programs_of_xmap(backend: str, examples: int) -> None:
    check("check_xmap.py", backend, XMAP_EXAMPLES=str(examples))


# --- derivatives inside of checked sharded maps: the same numbers as in JAX, on both backends ------------------------


def numbers(library: str, path: Path, **variables: str) -> dict[str, np.ndarray]:
    run("-m", "tests.sharding.gradients_inside", library, str(path), **variables)
    return dict(np.load(path))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    pytest.importorskip("jax")
    path = tmp_path_factory.mktemp("gradients") / "jax.npz"
    return numbers("jax", path, XLA_FLAGS="--xla_force_host_platform_device_count=8", JAX_PLATFORMS="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_the_numbers_of_jax(expected: dict[str, np.ndarray], backend: str, tmp_path: Path) -> None:
    found = numbers("tangrad", tmp_path / "found.npz", **on_devices(backend, 8))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=1e-4, err_msg=name)


# --- programs along Explicit axes: the types of JAX, and the numbers of the same programs along Auto ones ------------

EIGHT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu", **on_devices("numpy", 8)}


def explicit(path: Path, library: str, what: str, kind: str, seeds: str, **variables: str) -> dict[str, Any]:
    """name of a program -> for each result its type, or its numbers; or the error."""
    run("-m", "tests.sharding.explicit_programs", library, str(path), what, kind, seeds, **(EIGHT | variables))
    return dict(json.loads(path.read_text()))


def compare_types(path: Path, seeds: str) -> None:
    """What JAX takes is taken, and results have the types that it gives them."""
    pytest.importorskip("jax")
    expected, found = [explicit(path, library, "types", "Explicit", seeds) for library in ("jax", "tangrad")]
    taken = {name: types for name, types in expected.items() if not isinstance(types, str)}
    assert len(taken) > 190 and {name: found[name] for name in taken} == taken


def compare_numbers(path: Path, seeds: str, backend: str) -> None:
    found = explicit(path, "tangrad", "numbers", "Explicit", seeds, TANGRAD_BACKEND=backend)
    expected = explicit(path, "tangrad", "numbers", "Auto", seeds)
    refused = {name: error for name, error in found.items() if isinstance(error, str)}
    assert all([error.startswith("ShardingTypeError") for error in refused.values()]), refused
    assert len(found) - len(refused) > 190
    for name in found.keys() - refused.keys():
        for one, other in zip(found[name], expected[name], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=name)


def test_types_along_explicit_axes(tmp_path: Path) -> None:
    compare_types(tmp_path / "found.json", "0:60")


def test_numbers_along_explicit_axes(tmp_path: Path) -> None:
    compare_numbers(tmp_path / "found.json", "0:20", "numpy")


@pytest.mark.sweep
def test_types_and_numbers_of_more_programs(tmp_path: Path) -> None:
    compare_types(tmp_path / "found.json", "1000:2500")
    compare_numbers(tmp_path / "found.json", "1000:1100", "xla")


# --- derivatives of random programs over devices, of one to five orders, against the same functions on one device ----
# `python -m tests.sharding.random_derivatives SEED 1` looks at one of them again. Some are run each time, by
# `eight_devices/check_derivatives.py`.

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
    command = ["-m", "tests.sharding.random_derivatives", str(first), str(count), *maps]
    said = run(*command, timeout=3000, **on_devices(backend, 4))
    assert int(said.split(" compared")[0].split()[-1]) > 0.9 * count, said
