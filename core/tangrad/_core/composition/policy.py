"""Which plugins may be used, and which of two rivals: by the user's choice, and by the number of the extension API.

A pattern is one of three forms (with the wildcards `*`, `?`, `[...]`):

    distribution                   all plugins of a distribution
    distribution:group:name        one plugin; the group with or without its leading `tangrad.`
    kind:primitive                 one rule; the primitive as `sin` or `elementwise.sin`

They come from the environment (`TANGRAD_ALLOW`, `TANGRAD_DENY`: comma separated) and from code (`configure_plugins`).
What either denies is denied; with an allow list, what it does not name is denied as well. A preference
(`TANGRAD_PREFER='kind:primitive=distribution'`, or `group:name=distribution` for other plugins, such as
`api:numpy.einsum`; `kind:family.*` for all primitives of a family) resolves a conflict; code has the last word there.

Every plugin states the number of the extension API. A kernel takes plugins of its own number, and with a warning those
of the number before: what is deprecated works for one number more. What changes the number, and what does not, is
in `docs/extension-api.md`; the names that are on their way out are here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.record import normalise
from tangrad._core.diagnostics import errors

BY_HAND = "(by hand)"
_PREFIX = "tangrad."


class _PatternList:
    """The patterns of one list, each as its parts, and their source; the number of parts determines what one names."""

    def __init__(self, source: str, patterns: list[tuple[str, ...]]) -> None:
        self.source = source
        self.patterns = patterns

    def speaks_of(self, *things: tuple[str, ...]) -> bool:
        """Return whether it has patterns of the form that names such things."""
        return any(len(pattern) == len(thing) for pattern in self.patterns for thing in things)

    def naming(self, *things: tuple[str, ...]) -> str | None:
        """Return the pattern that names one of `things`, or None."""
        for pattern in self.patterns:
            for thing in things:
                if len(thing) == len(pattern) and all(map(_matches, thing, pattern)):
                    return ":".join(pattern)
        return None


def _pattern_list(patterns: Iterable[str], source: str) -> _PatternList:
    """Read the patterns of one list. Raises TypeError or ValueError for what is none."""
    found = []
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise TypeError(f"{source}: a pattern must be a string, not {pattern!r}")
        parts = [part.strip() for part in pattern.split(":")]
        if not all(parts) or len(parts) > 3:
            raise ValueError(
                f"{source}: {pattern.strip()!r} is not a pattern; "
                "write 'distribution', 'distribution:group:name' or 'kind:primitive'"
            )
        if len(parts) != 2:
            parts[0] = normalise(parts[0])
        if len(parts) == 3:
            parts[1] = parts[1].removeprefix(_PREFIX)
        found.append(tuple(parts))
    return _PatternList(source, found)


def _matches(text: str, pattern: str) -> bool:
    if pattern == text or pattern == "*":
        return True
    if not any(character in pattern for character in "*?["):
        return False
    from fnmatch import fnmatchcase  # only for users who write wildcards

    return fnmatchcase(text, pattern)


class Policy:
    """What the user decided about plugins; immutable: another decision is another policy."""

    __slots__ = ("_allow", "_deny", "_prefer", "active", "blocked", "rejected")

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._allow: list[_PatternList] = []
        self._deny: list[_PatternList] = []
        self._prefer: dict[str, str] = {}
        self.rejected: dict[str, str] = {}  # items of TANGRAD_PREFER that were not understood, and why
        self.blocked: frozenset[str] = frozenset()  # by `plugin_manager().set_blocked`
        if environment is not None:
            self._read_environment(environment)
        self.active = bool(self._allow or self._deny)

    def _read_environment(self, environment: Mapping[str, str]) -> None:
        for variable, lists in (("TANGRAD_ALLOW", self._allow), ("TANGRAD_DENY", self._deny)):
            text = environment.get(variable)
            if text:
                lists.append(_pattern_list(_split(text), variable))
        for item in _split(environment.get("TANGRAD_PREFER", "")):
            cell, _, distribution = item.rpartition("=")
            try:
                self._add_preference(cell, distribution, "TANGRAD_PREFER")
            except ValueError:  # a word in a variable must not stop every program
                self.rejected[item] = f"TANGRAD_PREFER: {item!r} is not 'kind:primitive=distribution'"
                warnings.warn(f"{self.rejected[item]}; it is ignored", UserWarning, stacklevel=4)

    def _add_preference(self, cell: str, distribution: str, source: str) -> None:
        if not isinstance(cell, str) or not isinstance(distribution, str):
            raise TypeError(f"{source}: expected strings, got {cell!r}: {distribution!r}")
        kind, colon, name = (part.strip() for part in cell.partition(":"))
        if not (kind and colon and name and distribution.strip()):
            raise ValueError(f"{source}: {cell!r}={distribution!r} is not 'kind:primitive=distribution'")
        self._prefer[f"{kind.removeprefix(_PREFIX)}:{name}"] = normalise(distribution.strip())

    def extended(
        self,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
        prefer: Mapping[str, str] | None = None,
        blocked: frozenset[str] = frozenset(),
    ) -> Policy:
        """Return this policy with the decisions of `configure_plugins` and of `set_blocked` added."""
        policy = Policy()
        policy._allow, policy._deny = list(self._allow), list(self._deny)
        policy._prefer, policy.rejected = dict(self._prefer), dict(self.rejected)
        for argument, patterns, lists in (("allow", allow, policy._allow), ("deny", deny, policy._deny)):
            if isinstance(patterns, str):
                raise TypeError(
                    f"configure_plugins({argument}=...) takes a list of patterns, not the string {patterns!r}"
                )
            if patterns is not None:
                lists.append(_pattern_list(patterns, f"configure_plugins({argument}=...)"))
        for cell, distribution in (prefer or {}).items():
            policy._add_preference(cell, distribution, "configure_plugins(prefer=...)")
        policy.blocked = blocked
        policy.active = bool(policy._allow or policy._deny or blocked)
        return policy

    def blocks(self, distribution: str) -> str | None:
        """Return who denied a distribution as a whole, or None where it is not denied."""
        if distribution in self.blocked:
            return (
                f"denied by plugin_manager().set_blocked({distribution!r}): unblock({distribution!r}) takes that back"
            )
        return self._denied((distribution,))

    def blocking(self) -> bool:
        """Return whether some distribution may be denied as a whole."""
        return bool(self.blocked or any(patterns.speaks_of(("distribution",)) for patterns in self._deny))

    def denial(self, plugin: Plugin) -> str | None:
        """Return who denied `plugin` and by which pattern, or None where it is not denied."""
        if not self.active or plugin.distribution == BY_HAND:
            return None
        one = (plugin.distribution, plugin.group.removeprefix(_PREFIX), plugin.name)
        return self.blocks(plugin.distribution) or self._denied(one) or self._not_allowed(one[:1], one)

    def rule_denial(self, kind: str, primitive: str) -> str | None:
        """Return who denied the rule of `kind` for `primitive` (`family.name`), or None where it is not denied."""
        if not self.active:
            return None
        names = ((kind, primitive), (kind, primitive.rpartition(".")[2]))
        return self._denied(*names) or self._not_allowed(*names)

    def _denied(self, *things: tuple[str, ...]) -> str | None:
        for patterns in self._deny:
            pattern = patterns.naming(*things)
            if pattern is not None:
                return f"denied by {patterns.source} ({pattern!r})"
        return None

    def _not_allowed(self, *things: tuple[str, ...]) -> str | None:
        for patterns in self._allow:
            if patterns.speaks_of(*things) and patterns.naming(*things) is None:
                return f"not among what {patterns.source} allows"
        return None

    def lists(self) -> list[tuple[str, _PatternList]]:
        """Return every list, with whether it admits only its patterns or none of them, in words."""
        return [*[("only", patterns) for patterns in self._allow], *[("none of", patterns) for patterns in self._deny]]

    def preferences(self) -> dict[str, str]:
        """Return the preferences: `kind:primitive` or `group:name` -> distribution."""
        return dict(self._prefer)

    def preferred(self, kind: str, name: str) -> str | None:
        """Return the distribution preferred for a cell (`kind`, `family.name`) or a plugin (group, name)."""
        if not self._prefer:
            return None
        kind, found = kind.removeprefix(_PREFIX), self._prefer
        family, _, bare = name.rpartition(".")
        return found.get(f"{kind}:{name}") or found.get(f"{kind}:{bare}") or found.get(f"{kind}:{family}.*")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


# --- the number of the extension API ---

EXTENSION_API = 1
FIRST = 1  # there never was a number below

# Distribution -> number -> the first of its plugins that stated it, in this process.
_stated: dict[str, dict[int, str]] = {}
_warned: set[tuple[str, str]] = set()


def check_api_version(plugin: Plugin, loaded: object) -> None:
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


# --- names on their way out ---


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


def deprecated_name(module: str, name: str) -> object:
    """What a deprecated name stands for, with a DeprecationWarning that names what to write in its place.

    Raises AttributeError for a name that is none.
    """
    old = DEPRECATED.get(name)
    if old is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    _warn_of_name(f"{module}.{name}", old.since, old.instead)
    place, _, attribute = old.value.partition(":")
    return getattr(import_module(place), attribute)


def moved_name(module: str, name: str, now_in: ModuleType) -> object:
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
