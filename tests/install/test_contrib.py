"""Packages of `contrib/` side by side, those of pure Python: all of them, and with one away."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tangrad.core.tools import families, primitive_set
from tests.install.environments import Environment, run
from tools.contrib import EXAMINATIONS, packages, wheel_name

pytestmark = pytest.mark.slow
NAMES = ("intervals", "progress", "taylor")

# A loop with a bar, its derivatives by Taylor series, and its bounds.
PROGRAM = """
import io
import numpy
import tangrad
import tangrad.numpy as np
from tangrad.experimental.jet import jet
from tangrad_intervals import bounds
from tangrad_progress import scan

def loop(x):
    return scan(lambda y, _: (0.5 * np.sin(y), None), x, length=4, file=screen)[0]

screen = io.StringIO()
value, (first, second) = tangrad.jit(lambda x: jet(loop, (x,), ([1.0, None],)))(0.3)
assert numpy.allclose(first, tangrad.grad(loop)(0.3)) and numpy.allclose(second, tangrad.grad(tangrad.grad(loop))(0.3))
low, high = tangrad.jit(bounds(loop))((0.2,), (0.4,))
assert low <= loop(0.3) <= high and high - low < 0.05, (low, high)
tangrad.effects_barrier()
print(screen.getvalue().count("4/4"))
"""


def examine(environment: Environment) -> None:
    """Raise CommandError if anything is wrong with what is installed."""
    for arguments in EXAMINATIONS:
        environment.command("tangrad", *arguments)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """Name of the distribution -> its wheel."""
    target = str(tmp_path_factory.mktemp("contrib"))
    build = lambda folder: Path(next(WheelBuilder(str(folder)).build(directory=target, versions=["standard"])))
    return {wheel_name(folder): build(folder) for folder in [packages()[name] for name in NAMES]}


def test_side_by_side(make_environment, wheels):
    environment = make_environment("tangrad", "pip", *wheels.values())
    examine(environment)
    assert int(environment.run(PROGRAM)) > 0


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("-k", "not elementwise and not against and not bounded and not conformance"), id="short"),
        pytest.param((), id="all", marks=pytest.mark.sweep),
    ],
)
def test_their_own_tests(make_environment, wheels, tmp_path, options):
    projects = [tomllib.loads((packages()[name] / "pyproject.toml").read_text())["project"] for name in NAMES]
    needed = {line for project in projects for line in project["optional-dependencies"]["test"]}
    environment = make_environment("tangrad", *sorted(needed), *wheels.values())
    for name in NAMES:
        folder = str(shutil.copytree(packages()[name] / "tests", tmp_path / name))
        environment.command("pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, *options, folder)


def test_a_backend_elsewhere_has_a_rule_for_each_primitive_that_must_have_one():
    """One without a decomposition: a new one of these is a gap in all backends of others, so that it is seen here."""
    written = re.findall(r"\w+", "".join(file.read_text() for file in (packages()["torch"] / "src").rglob("*.py")))
    needed = [p for family in families() for p in primitive_set(family).primitives.values() if p.decompose is None]
    assert len(needed) > 100
    assert [primitive.identity for primitive in needed if primitive.name not in set(written)] == []


@pytest.mark.sweep
def test_without_each(make_environment, wheels):
    environment = make_environment("tangrad", "pip", *wheels.values())
    pip = [str(environment.python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for name, wheel in wheels.items():
        run([*pip, "uninstall", "--yes", name])
        examine(environment)
        run([*pip, "install", "--no-deps", "--no-index", str(wheel)])
