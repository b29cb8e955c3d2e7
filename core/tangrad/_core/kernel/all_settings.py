"""All settings by name, wherever they are defined: `tangrad.config`.

A setting is declared by the distribution that reads it, as an entry of the group `tangrad.settings`: its name is the
setting's, its value what `define` returned. It is loaded when it is first asked for by name, or when its reader is.

Names that another library has for settings are understood where a distribution knows them: an entry of the group
`tangrad.setting_names`, called as what comes before the first underscore of those names, is a `ForeignNames`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tangrad._core.composition.missing_names import explanations
from tangrad._core.composition.plugin import check_type
from tangrad._core.composition.registry import Plugin, composition
from tangrad._core.diagnostics.errors import PluginError
from tangrad._core.diagnostics.tracebacks import class_boundary
from tangrad._core.settings.config import SETTINGS, Setting, thread

SETTINGS_GROUP = "tangrad.settings"
NAMES_GROUP = "tangrad.setting_names"

_found: dict[str, Setting] = {}


class ForeignNames(NamedTuple):
    """What another library's names of settings mean here. Both functions raise AttributeError for unknown names.

    Attributes:
        read: `(name, setting) -> value`; `setting` finds a setting of ours by its name.
        update: `(name, value, setting)` sets the value.
    """

    read: Callable[[str, Callable[[str], Setting]], Any]
    update: Callable[[str, Any, Callable[[str], Setting]], None]


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
            raise explanations().missing_setting(name, names())
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


def _check(plugin: Plugin, loaded: Setting) -> None:
    if not isinstance(loaded, Setting):
        raise TypeError(f"expected a setting, as `define_setting` makes it, got {loaded!r}")
    if loaded.name != plugin.name:
        raise ValueError(f"the setting {loaded.name!r} is registered under the name {plugin.name!r}")


def _foreign(name: str) -> ForeignNames | None:
    """Return who knows another library's name of a setting, or None for names of ours."""
    prefix, _, rest = name.partition("_")
    plugin = composition().find(NAMES_GROUP, prefix) if rest and name not in SETTINGS else None
    return None if plugin is None else plugin.load()


composition().set_check(SETTINGS_GROUP, _check)
composition().set_check(NAMES_GROUP, partial(check_type, expected=ForeignNames))
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
        name = name.removeprefix("tangrad_")
        if name.startswith("__"):
            raise AttributeError(name)
        names_of_others = _foreign(name)
        return setting(name).value if names_of_others is None else names_of_others.read(name, setting)

    def __setattr__(self, name: str, value: object) -> None:
        self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*names(), "read", "update", "values"]

    @property
    def values(self) -> dict[str, Any]:
        """The name and the value, in this thread, of every setting."""
        return {name: getattr(thread, name) for name in usable_settings()}

    def read(self, name: str) -> Any:
        """The value of `name`, as `config.<name>`; so are JAX's names, by tangrad-compat. Raises AttributeError."""
        return getattr(self, name)

    def update(self, name: str, val: Any) -> None:
        """Set a setting for the whole process.

        Args:
            name: its name; where tangrad-compat is installed, JAX's such as "jax_enable_x64" are understood.
            val: the value.

        Raises AttributeError for an unknown name, TypeError or ValueError for a bad value.
        """
        names_of_others = _foreign(name)
        if names_of_others is None:
            setting(name.removeprefix("tangrad_")).set(val)
        else:
            names_of_others.update(name, val, setting)


config = Config()
