"""Fixtures of the install tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.install.environments import Environment, new_environment, wheel_folder


@pytest.fixture(scope="session")
def wheels() -> Path:
    """The folder with the wheels of all distributions, built from the tree as it stands."""
    return wheel_folder()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An empty environment for one test."""
    return new_environment(tmp_path / "environment")


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
