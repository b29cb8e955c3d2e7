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
from collections.abc import Callable, Iterable, Mapping

from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.record import normalise

BY_HAND = "(by hand)"
_PREFIX = "tangrad."


class _PatternList:
    """The patterns of one list, kept apart by form, and where they came from."""

    __slots__ = ("distributions", "plugins", "rules", "source")

    def __init__(self, patterns: Iterable[str], source: str) -> None:
        self.source = source
        self.distributions: list[str] = []
        self.plugins: list[tuple[str, str, str]] = []
        self.rules: list[tuple[str, str]] = []
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise TypeError(f"{source}: a pattern must be a string, not {pattern!r}")
            self._add(pattern.strip())

    def _add(self, pattern: str) -> None:
        parts = [part.strip() for part in pattern.split(":")]
        if not all(parts) or len(parts) > 3:
            raise ValueError(
                f"{self.source}: {pattern!r} is not a pattern; "
                "write 'distribution', 'distribution:group:name' or 'kind:primitive'"
            )
        if len(parts) == 1:
            self.distributions.append(normalise(parts[0]))
        elif len(parts) == 2:
            self.rules.append((parts[0], parts[1]))
        else:
            self.plugins.append((normalise(parts[0]), parts[1].removeprefix(_PREFIX), parts[2]))

    @property
    def names_plugins(self) -> bool:
        return bool(self.distributions or self.plugins)

    def written(self) -> tuple[list[str], list[str]]:
        """Return the patterns that name distributions and plugins, and those that name rules."""
        return [*self.distributions, *map(":".join, self.plugins)], [*map(":".join, self.rules)]

    def matches_plugin(self, plugin: Plugin) -> str | None:
        """Return the pattern that names `plugin`, or None."""
        distribution = plugin.distribution
        for pattern in self.distributions:
            if _matches(distribution, pattern):
                return pattern
        group = plugin.group.removeprefix(_PREFIX)
        for pattern, group_pattern, name in self.plugins:
            if _matches(distribution, pattern) and _matches(group, group_pattern) and _matches(plugin.name, name):
                return f"{pattern}:{group_pattern}:{name}"
        return None

    def matches_rule(self, kind: str, primitive: str) -> str | None:
        """Return the pattern that names the rule, or None."""
        bare = primitive.rpartition(".")[2]
        for kind_pattern, pattern in self.rules:
            if _matches(kind, kind_pattern) and (_matches(primitive, pattern) or _matches(bare, pattern)):
                return f"{kind_pattern}:{pattern}"
        return None


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
                lists.append(_PatternList(_split(text), variable))
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
                lists.append(_PatternList(patterns, f"configure_plugins({argument}=...)"))
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
        for patterns in self._deny:
            for pattern in patterns.distributions:
                if _matches(distribution, pattern):
                    return f"denied by {patterns.source} ({pattern!r})"
        return None

    def blocking(self) -> bool:
        """Return whether some distribution may be denied as a whole."""
        return bool(self.blocked or any(patterns.distributions for patterns in self._deny))

    def denial(self, plugin: Plugin) -> str | None:
        """Return who denied `plugin` and by which pattern, or None where it is not denied."""
        if not self.active or plugin.distribution == BY_HAND:
            return None
        return self.blocks(plugin.distribution) or self._verdict(
            lambda patterns: patterns.matches_plugin(plugin), lambda patterns: patterns.names_plugins
        )

    def rule_denial(self, kind: str, primitive: str) -> str | None:
        """Return who denied the rule of `kind` for `primitive` (`family.name`), or None where it is not denied."""
        if not self.active:
            return None
        return self._verdict(
            lambda patterns: patterns.matches_rule(kind, primitive), lambda patterns: bool(patterns.rules)
        )

    def _verdict(
        self, match: Callable[[_PatternList], str | None], concerns: Callable[[_PatternList], bool]
    ) -> str | None:
        """Which list denies what `match` finds in it; `concerns`: whether an allow list speaks of such things."""
        for patterns in self._deny:
            pattern = match(patterns)
            if pattern is not None:
                return f"denied by {patterns.source} ({pattern!r})"
        for patterns in self._allow:
            if concerns(patterns) and match(patterns) is None:
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
