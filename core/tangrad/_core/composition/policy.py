"""Which plugins may be used, and which of two rivals: allow lists, deny lists, preferences.

A pattern is one of three forms (with the wildcards `*`, `?`, `[...]`):

    distribution                   all plugins of a distribution
    distribution:group:name        one plugin; the group with or without its leading `tangrad.`
    kind:primitive                 one rule; the primitive as `sin` or `elementwise.sin`

They come from the environment (`TANGRAD_ALLOW`, `TANGRAD_DENY`: comma separated) and from code (`configure_plugins`).
What either denies is denied; with an allow list, what it does not name is denied as well. A preference
(`TANGRAD_PREFER='kind:primitive=distribution'`, or `group:name=distribution` for other plugins, such as
`api:numpy.einsum`; `kind:family.*` for all primitives of a family) resolves a conflict; code has the last word there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.record import normalise

BY_HAND = "(by hand)"
_PREFIX = "tangrad."


class _PatternList:
    """The patterns of one list, each as its parts, and their source; the number of parts says what one names."""

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
        policy._allow = list(self._allow)
        policy._deny = list(self._deny)
        policy._prefer = dict(self._prefer)
        policy.rejected = dict(self.rejected)
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
        """Return every list, with what it says of its patterns."""
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
