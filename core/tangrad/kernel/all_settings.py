"""All settings by name, wherever they are defined: `tangrad.config`.

A setting is declared by the distribution that reads it, as an entry of the group `tangrad.settings`: its name is the
setting's, its value what `define` returned. It is loaded when it is first asked for by name, or when its reader is.
"""

from __future__ import annotations

from typing import Any

from tangrad.composition.missing_names import missing_setting
from tangrad.composition.registry import Plugin, composition
from tangrad.diagnostics.errors import PluginError
from tangrad.diagnostics.public_boundaries import class_boundary
from tangrad.kernel import jax_names
from tangrad.settings.config import SETTINGS, Setting, thread

SETTINGS_GROUP = "tangrad.settings"

_found: dict[str, Setting] = {}


def setting(name: str) -> Setting:
    """The setting called `name`.

    Raises AttributeError where there is none, as MissingDistributionError where it is in a distribution that is not
    installed; PluginConflictError where two distributions declare it; BrokenPluginError where it cannot be loaded.
    """
    found = _found.get(name)
    if found is None:
        plugin = composition().find(SETTINGS_GROUP, name)
        found = SETTINGS.get(name) if plugin is None else plugin.load()
        if found is None:
            raise missing_setting(name, names())
        _found[name] = found
    return found


def names() -> tuple[str, ...]:
    """The names of all settings, of those too that are not loaded, sorted."""
    return tuple(sorted({*SETTINGS, *composition().names(SETTINGS_GROUP)}))


def usable_settings() -> dict[str, Setting]:
    """All settings by name. Those that two distributions declare, or that cannot be loaded, are left out."""
    found = {}
    for name in names():
        try:
            found[name] = setting(name)
        except PluginError:
            continue
    return found


def _check(plugin: Plugin, loaded: Any) -> None:
    if not isinstance(loaded, Setting):
        raise TypeError(f"expected a setting, as `define_setting` makes it, got {loaded!r}")
    if loaded.name != plugin.name:
        raise ValueError(f"the setting {loaded.name!r} is registered under the name {plugin.name!r}")


composition().set_check(SETTINGS_GROUP, _check)
composition().on_change(lambda _: _found.clear())


@class_boundary
class Config:
    """All settings as attributes, for reading and for `config.update(name, value)`.

    >>> import tangrad
    >>> tangrad.config.enable_x64
    False
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("tangrad_"):
            name = name.removeprefix("tangrad_")
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith(jax_names.PREFIXES):
            return jax_names.read(name, setting)
        return setting(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*names(), "read", "update", "values"]

    @property
    def values(self) -> dict[str, Any]:
        """The name and the value, in this thread, of every setting."""
        return {name: getattr(thread, name) for name in usable_settings()}

    def read(self, name: str) -> Any:
        """The value of `name`, as `config.<name>`; JAX's names are understood. Raises AttributeError for others."""
        return getattr(self, name)

    def update(self, name: str, val: Any) -> None:
        """Set a setting for the whole process.

        Args:
            name: its name; JAX's names, such as "jax_enable_x64", are understood.
            val: the value.

        Raises AttributeError for an unknown name, TypeError or ValueError for a bad value.
        """
        if name.startswith(jax_names.PREFIXES):
            jax_names.update(name, val, setting)
        else:
            setting(name.removeprefix("tangrad_")).set(val)


config = Config()
