"""Packages of `contrib/` side by side, those of pure Python: all of them, and with one away."""

from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

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


@pytest.mark.sweep
def test_without_each(make_environment, wheels):
    environment = make_environment("tangrad", "pip", *wheels.values())
    pip = [str(environment.python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for name, wheel in wheels.items():
        run([*pip, "uninstall", "--yes", name])
        examine(environment)
        run([*pip, "install", "--no-deps", "--no-index", str(wheel)])
