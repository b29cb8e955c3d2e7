"""What a plugin must be: of the type that its group has, and written for this extension API."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.registry import composition
from tangrad._core.composition.versioning import check_api_version
from tangrad._core.kernel.backend import Backend
from tangrad._core.kernel.declarations import (
    RULE_KINDS_GROUP,
    RULES_GROUP,
    Form,
    PrimitiveSet,
    RuleKind,
    RuleSet,
    Transformation,
)


def check_plugin(plugin: Plugin, loaded: Any, expected: type) -> None:
    """Raise TypeError if a plugin is of the wrong type, ApiVersionError if it was written for another extension API."""
    if not isinstance(loaded, expected):
        raise TypeError(f"expected {expected.__name__}, got {loaded!r} of type {type(loaded).__name__}")
    check_api_version(plugin, loaded)


def _check_backend(plugin: Plugin, loaded: Any) -> None:
    if not isinstance(loaded, Backend):  # it may do without our base class, but not without what that has
        missing = sorted(
            name for name in {*dir(Backend), *Backend.__annotations__} if name[0] != "_" and not hasattr(loaded, name)
        )
        if missing:
            raise TypeError(
                f"expected a backend, got {loaded!r} of type {type(loaded).__name__}, which has no "
                f"{', '.join(missing)}: see tangrad.core.protocols.Backend"
            )
    check_api_version(plugin, loaded)


def _check_kind(kind: str) -> None:
    """Raise ValueError for a kind that is none, and like one. Any other may be declared by what comes later."""
    known = composition().names(RULE_KINDS_GROUP)
    if kind in known:
        return
    from difflib import get_close_matches  # only to explain an error

    family, _, name = kind.rpartition(".")
    alike = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == family}
    near = get_close_matches(name, alike, n=1, cutoff=0.6)
    if near:
        raise ValueError(f"there is no rule kind {kind!r}; did you mean {alike[near[0]]!r}?")


def _check_rule_set(plugin: Plugin, loaded: Any) -> None:
    check_plugin(plugin, loaded, RuleSet)
    kind = plugin.group.removeprefix(RULES_GROUP)
    _check_kind(kind)
    if loaded.kind != kind:
        raise ValueError(f"a rule set of kind {loaded.kind!r} is registered in group {plugin.group!r}")
    family = plugin.name.partition(".")[0]
    if loaded.rules and all(primitive.family != family for primitive in loaded.rules):
        others = " and ".join(map(repr, loaded.families()))
        raise ValueError(
            f"its rules are for primitives of family {others}, and the entry's name is that of family {family!r}: name "
            f"the entry {loaded.families()[0]!r}"
        )

    forms = {rule.name for rule in loaded.rules.values() if isinstance(rule, Form)}
    owner = composition().find(RULE_KINDS_GROUP, kind) if forms else None  # which may be registered later
    unknown = () if owner is None else forms - owner.load().forms.keys()
    if owner is not None and unknown:
        known = ", ".join(owner.load().forms) or "none"
        raise LookupError(f"rules of kind {kind!r} have no form {', '.join(sorted(unknown))}; they have: {known}")


def _check_primitive_set(plugin: Plugin, loaded: Any) -> None:
    check_plugin(plugin, loaded, PrimitiveSet)
    if loaded.name != plugin.name:
        raise ValueError(f"the primitive set of family {loaded.name!r} is registered under the name {plugin.name!r}")


# Group -> what looks at each object that is loaded from it; `tangrad.rules` stands for those of all kinds.
CHECKS: dict[str, Callable[[Plugin, Any], None]] = {
    "tangrad.primitives": _check_primitive_set,
    "tangrad.rules": _check_rule_set,
    "tangrad.backends": _check_backend,
    "tangrad.rule_kinds": partial(check_plugin, expected=RuleKind),
    "tangrad.transformations": partial(check_plugin, expected=Transformation),
}
