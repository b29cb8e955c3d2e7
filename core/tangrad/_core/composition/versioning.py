"""The number of the extension API, which every plugin states, and names that are on their way out.

A kernel takes plugins of its own number, and with a warning those of the number before: what is deprecated works for
one number more. What changes the number, and what does not, says `docs/extension-api.md`.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.policy import BY_HAND
from tangrad._core.diagnostics import errors

EXTENSION_API = 1
FIRST = 1  # there never was a number below

# Distribution -> number -> the first of its plugins that stated it, in this process.
_stated: dict[str, dict[int, str]] = {}
_warned: set[tuple[str, str]] = set()


def check_api_version(plugin: Plugin, loaded: Any) -> None:
    """Raise ApiVersionError where a plugin's object states a number (`loaded.api`) that this kernel does not take.

    The one before the kernel's is taken, with one PluginWarning for each distribution; so are both in one distribution.
    """
    api = getattr(loaded, "api", None)
    if type(api) is not int or not max(EXTENSION_API - 1, FIRST) <= api <= EXTENSION_API:
        entry = f"{provider(plugin)}: {plugin.value}"
        raise errors.ApiVersionError(
            f"{entry} was written for extension API {api!r}; this tangrad-core has {EXTENSION_API}. "
            "Install versions of the two that fit: the plugin's author states them in its dependency on tangrad-core."
        )
    if plugin.distribution == BY_HAND:
        owner, whose = plugin.value, f"{plugin.value}, registered by hand,"
    else:
        owner, whose = plugin.distribution, provider(plugin)
        _note_number(plugin, api, whose)
    if api < EXTENSION_API:
        _warn_once(
            (owner, "old"),
            f"{whose} was written for extension API {api}; this tangrad-core has {EXTENSION_API} and still takes it, "
            f"the next one will not. Look for a newer version (pip install --upgrade {plugin.distribution}); its "
            "author finds what to change in the documentation, on the page about the extension API",
        )


def _note_number(plugin: Plugin, api: int, whose: str) -> None:
    """Warn of a distribution that states two numbers: half of it is migrated."""
    numbers = _stated.setdefault(plugin.distribution, {})
    numbers.setdefault(api, plugin.identity)
    if len(numbers) > 1:
        stated = " and ".join(f"{number} ({identity})" for number, identity in sorted(numbers.items()))
        _warn_once(
            (plugin.distribution, "two"),
            f"{whose} states two numbers of the extension API: {stated}. Each of its plugins is taken by its own; its "
            "author should state one number in all of them",
        )


def _warn_once(key: tuple[str, str], message: str) -> None:
    if key not in _warned:
        _warned.add(key)
        warnings.warn(message, errors.PluginWarning, stacklevel=3)


def provider(plugin: Plugin | None) -> str:
    """Who ships a plugin, for messages: distribution and version."""
    return "an unregistered plugin" if plugin is None else plugin.shipper


# --- names on their way out ----------------------------------------------------------------------------------------


class Deprecated(NamedTuple):
    """A name of `tangrad.core` that still works.

    Attributes:
        value: what it stands for, as `module:attribute`.
        since: the version of tangrad-core that deprecated it.
        instead: what to write in its place.
    """

    value: str
    since: str
    instead: str


# Old name -> what it stands for. An entry stays until the number of the extension API has gone up twice.
DEPRECATED: dict[str, Deprecated] = {
    "DirectCalls": Deprecated("tangrad._numpy.direct_calls:DirectCalls", "0.2", "primitive.bind(...)"),
    "can_stand_for_array": Deprecated(
        "tangrad._core.dtypes.arguments:can_represent_array", "0.2", "tangrad.core.arguments.can_represent_array"
    ),
    "close_trace": Deprecated("tangrad._core.kernel.trace:close_trace", "0.2", "tangrad.core.run_traced(...)"),
    "set_current_trace": Deprecated(
        "tangrad._core.kernel.trace:set_current_trace", "0.2", "tangrad.core.holding(trace=...)"
    ),
    "stands_for": Deprecated(
        "tangrad._core.dtypes.arguments:represented_array", "0.2", "tangrad.core.arguments.represented_array"
    ),
}


def deprecated_name(module: str, name: str) -> Any:
    """What a deprecated name stands for, with a DeprecationWarning that says what to write in its place.

    Raises AttributeError for a name that is none.
    """
    old = DEPRECATED.get(name)
    if old is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    _warn_of_name(f"{module}.{name}", old.since, old.instead)
    place, _, attribute = old.value.partition(":")
    return getattr(import_module(place), attribute)


def moved_name(module: str, name: str, now_in: ModuleType) -> Any:
    """What a name stands for that was in `module` in tangrad-core 0.1 and is in another door now, with a warning."""
    _warn_of_name(f"{module}.{name}", "0.2", f"from {now_in.__name__} import {name}")
    return getattr(now_in, name)


def _warn_of_name(name: str, since: str, instead: str) -> None:
    """Warn the caller of a module's `__getattr__` two functions further up."""
    warnings.warn(
        f"{name} is deprecated since tangrad-core {since}, and goes with extension API {EXTENSION_API + 1}: "
        f"write {instead}",
        DeprecationWarning,
        stacklevel=5,
    )
