"""The settings of jax: `jax.config`, its context managers, and the environment variables `JAX_...`.

What each of them is here says the table of `tangrad.config`, which knows jax's names.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import tangrad
from tangrad._compat import setting_names
from tangrad.core.settings import usable_settings
from tangrad.errors import MissingDistributionError


class Config:
    """`jax.config`: `tangrad.config` by jax's names, with what else `jax.config` has.

    >>> import tangrad.compat.jax
    >>> with tangrad.compat.jax.install():
    ...     import jax
    ...     jax.config.update("jax_debug_nans", False)
    >>> jax.config.jax_debug_nans
    False
    """

    __slots__ = ()

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit dtypes are in use."""
        return bool(tangrad.config.enable_x64)

    def update(self, name: str, value: object) -> None:
        """Set a setting. Raises AttributeError for one that there is not, ValueError for a value that is refused."""
        tangrad.config.update(name, value)

    def parse_flags_with_absl(self) -> None:
        """Do nothing: settings are not read from the command line, in which programs for absl may have them."""

    def config_with_absl(self) -> None:
        """Do nothing, as `parse_flags_with_absl`: no flags of absl stand for settings."""

    def read(self, name: str) -> Any:
        """The value of a setting."""
        return getattr(self, name)

    @property
    def values(self) -> Mapping[str, Any]:
        """The name in jax, and the value, of every setting whose distribution is installed."""
        found = {}
        for name in setting_names.NAMES:
            try:
                found[name] = self.read(name)
            except MissingDistributionError:
                continue
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(tangrad.config, name)

    def __setattr__(self, name: str, value: object) -> None:
        self.update(name, value)


def override(name: str) -> Callable[[Any], AbstractContextManager[None]]:
    """The context manager of jax for a setting that Tangrad has none for: it takes the values that `update` takes."""

    @contextmanager
    def overridden(value: object = True) -> Iterator[None]:
        previous = config.read(name)
        config.update(name, value)
        try:
            yield
        finally:
            config.update(name, previous)

    return overridden


config = Config()


def read_environment() -> None:
    """Set what variables such as JAX_ENABLE_X64 say, where Tangrad's own variable for it says nothing.

    Warns where a variable says what `config.update` would refuse.
    """
    for variable, text in os.environ.items():
        known = setting_names.NAMES.get(variable.lower())
        if known is None:
            continue
        try:
            _read(variable.lower(), known, text)
        except (TypeError, ValueError, MissingDistributionError) as error:
            warnings.warn(
                f"the environment variable {variable}={text!r} is not used: {error}", UserWarning, stacklevel=3
            )


def _read(name: str, known: Any, text: str) -> None:
    if isinstance(known, setting_names.Alias):
        words = {str(theirs): theirs for theirs in (*known.values, *known.optional)}
        setting = usable_settings().get(known.setting)
        if setting is not None and setting.environment_variable in os.environ:
            return
        value = words.get(text, text) if setting is None or text in words else setting.parse(text)
    else:
        value = _parsed(text, known.value if isinstance(known, setting_names.Fixed) else known.default)
    config.update(name, value)


def _parsed(text: str, like: object) -> Any:
    """A text as a value of the type of another."""
    if isinstance(like, bool):
        return usable_settings()["enable_x64"].parse(text)
    return type(like)(text) if isinstance(like, (int, float)) else text
