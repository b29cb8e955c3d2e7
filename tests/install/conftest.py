"""Fixtures of the install tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.install.environments import Environment, Layer, layer, new_environment, wheel_folder


@pytest.fixture(scope="session")
def wheels() -> Path:
    """The folder with the wheels of all distributions, built from the tree as it stands."""
    return wheel_folder()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An empty environment for one test."""
    return new_environment(tmp_path / "environment")


@pytest.fixture(scope="session")
def make_layer(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Layer]:
    """A function that makes an environment of ours that have these names, and of what they require; in a moment."""
    made: dict[frozenset, Layer] = {}
    bases: list[Environment] = []

    def make(names: set[str]) -> Layer:
        if not bases:
            bases.append(new_environment(tmp_path_factory.mktemp("base") / "it"))
            bases[0].install("tangrad[numba,xla]", "tangrad-conformance")
        if frozenset(names) not in made:
            made[frozenset(names)] = layer(tmp_path_factory.mktemp("layer") / "it", bases[0], names)
        return made[frozenset(names)]

    return make


@pytest.fixture(scope="module")
def make_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Environment]:
    """A function that makes an environment with the given requirements; equal requirements share one in a module."""
    made: dict[tuple, Environment] = {}

    def make(*requirements: str | Path) -> Environment:
        if requirements not in made:
            made[requirements] = new_environment(tmp_path_factory.mktemp("environment") / "it")
            made[requirements].install(*requirements)
        return made[requirements]

    return make
