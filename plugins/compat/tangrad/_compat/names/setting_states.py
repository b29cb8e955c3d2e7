"""`jax._src.config`: settings as objects, `config.enable_x64.value`."""

from __future__ import annotations

from typing import Any

from tangrad._compat.settings import NAMES, override
from tangrad._compat.settings import config as config


class State:
    """A setting: its `value`, and, called, a context manager that changes it.

    >>> import tangrad
    >>> State("jax_enable_x64").value
    False
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def value(self) -> Any:
        return config.read(self.name)

    def __call__(self, value: Any = True) -> Any:
        return override(self.name)(value)

    def __repr__(self) -> str:
        return f"<setting {self.name} = {self.value!r}>"


def update(name: str, value: object) -> None:
    """Set a setting. Raises AttributeError for one that there is not, ValueError for a value that is refused."""
    config.update(name, value)


def __getattr__(name: str) -> object:
    for full_name in (f"jax_{name}", name):
        if full_name in NAMES:
            return State(full_name)
    return getattr(config, name)
