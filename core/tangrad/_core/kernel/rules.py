"""Rule kinds, rule sets, and the tables that traces read.

A *rule kind* is what a rule is for (`jvp`, `batch`, `lower.numpy`); a transformation or backend owns it. A *rule set*
holds the rules of one kind for one family of primitives. A *rule table* is the composition of all rule sets of a kind:
a plain dictionary from primitive to rule. The first look-up of a primitive of some family loads every rule set of
(kind, family) from every distribution, resolves conflicts and overrides, and freezes the result, so that neither the
order of use nor that of installation can matter.
"""

from __future__ import annotations

import copyreg
import threading
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple

from tangrad._core.composition.missing_names import explanations
from tangrad._core.composition.plugin import Plugin, check_type
from tangrad._core.composition.policy import EXTENSION_API, check_api_version, provider
from tangrad._core.composition.registry import composition
from tangrad._core.diagnostics import errors
from tangrad._core.diagnostics.tracebacks import SITES, explain_by
from tangrad._core.kernel.declarations import (
    PRIMITIVES_GROUP,
    RULE_KINDS_GROUP,
    RULES_GROUP,
    Form,
    NotApplicable,
    PrimitiveSet,
    Rule,
    RuleKind,
    RuleSet,
    Transformation,
)
from tangrad._core.kernel.primitive import Primitive
from tangrad._core.settings.caches import clear_caches
from tangrad._core.settings.threads import free_after_fork


class Cell(NamedTuple):
    """One cell of the matrix primitive × rule kind.

    Attributes:
        status: "rule", "general" (of a more general platform), "derived" (by decomposition), "default", "optional"
            (none, and none is needed), "not applicable", "conflict", "denied", "broken" or "missing".
        rule: the rule, where there is one.
        plugin: the plugin it came from, or None.
        error: what using the cell raises, where there is no rule.
        overridden: the plugins whose rules it takes the place of, by override or preference.
    """

    status: str
    rule: Any = None
    plugin: Plugin | None = None
    error: Any = None
    overridden: tuple[Plugin, ...] = ()

    def __repr__(self) -> str:
        return f"<cell {self.status}{f' from {self.plugin.distribution}' if self.plugin else ''}>"


_lock = free_after_fork(threading.RLock())  # of what tables publish


class RuleTable(dict[Primitive, Rule]):
    """Primitive -> rule, for one kind. `table[primitive]` is one dictionary look-up once the family is resolved."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self._families: dict[str, dict[Primitive, Cell]] = {}
        self._broken: dict[str, list[Plugin]] = {}
        self._owner: tuple[RuleKind | None] | None = None  # what declares the kind, once that was asked

    def __missing__(self, primitive: Primitive) -> Rule:
        families = self._families  # see `_resolve`
        cell = self.cell(primitive)
        if cell.rule is None:
            raise cell.error()
        kind = self._declared()
        rule = cell.rule if kind is None or kind.adapt is None else kind.adapt(primitive, cell.rule)
        with _lock:
            if self._families is families:
                self[primitive] = rule
        return rule

    def _declared(self) -> RuleKind | None:
        owner = self._owner = self._owner or (find_rule_kind(self.kind),)
        return owner[0]

    def get_rule(self, primitive: Primitive) -> Rule | None:
        """The rule, or None where there is none; a conflict still raises."""
        try:
            return self[primitive]
        except errors.MissingRuleError:
            return None

    def cell(self, primitive: Primitive) -> Cell:
        """The resolved cell of a primitive, with its provenance."""
        if not isinstance(primitive, Primitive):
            raise TypeError(f"expected a primitive, got {primitive!r}")
        cells = self._families.get(primitive.family)
        if cells is None:
            cells = self._resolve(primitive.family)
        cell = cells.get(primitive)
        return self._fallback(primitive) if cell is None else cell

    def thaw(self) -> None:
        """Forget everything; tables fill again at the next use."""
        with _lock:
            self.clear()
            self._families = {}
            self._broken = {}
            self._owner = None

    def _resolve(self, family: str) -> dict[Primitive, Cell]:
        families = self._families  # thawing puts another dictionary in its place: what was asked before is not kept
        claims: dict[Primitive, list[tuple[Plugin, RuleSet, Rule | NotApplicable | Form]]] = {}
        broken = []
        manager = composition().manager
        primitives = _primitives_of(family) if "tangrad_rules" in manager.computes else ()
        for plugin in manager.contributions(RULES_GROUP + self.kind, family, primitives=primitives):
            try:
                rule_set = plugin.load()
            except (errors.BrokenPluginError, errors.DeniedPluginError):
                broken.append(plugin)
                continue
            for primitive, rule in rule_set.rules.items():
                if primitive.family == family:
                    claims.setdefault(primitive, []).append((plugin, rule_set, rule))
        cells = {primitive: self._decide(primitive, rivals) for primitive, rivals in claims.items()}
        with _lock:
            self._broken[family] = broken
            return families.setdefault(family, cells)

    def _decide(self, primitive: Primitive, claims: list[tuple[Plugin, RuleSet, Rule | NotApplicable | Form]]) -> Cell:
        policy = composition().policy
        denial = policy.rule_denial(self.kind, primitive.identity)
        if denial is not None:
            message = f"the {self.kind!r} rule of {primitive.identity!r} is needed, but {denial}"
            return Cell("denied", error=lambda: errors.DeniedPluginError(message))
        preferred = policy.preferred(self.kind, primitive.identity)
        chosen = [claim for claim in claims if claim[0].distribution == preferred]
        if not chosen and len(claims) > 1:
            chosen = [claim for claim in claims if claim[1].override or claim[0].override]
        rivals = chosen or claims
        if len(rivals) > 1:
            plugins = [plugin for plugin, _, _ in rivals]
            return Cell("conflict", error=lambda: conflict(self.kind, primitive, plugins, bool(chosen)))
        plugin, _, rule = rivals[0]
        overridden = tuple([other for other, _, _ in claims if other is not plugin])
        if isinstance(rule, NotApplicable):
            reason = rule.reason
            return Cell("not applicable", None, plugin, lambda: self._missing(primitive, reason), overridden)
        if isinstance(rule, Form) and (kind := self._declared()) is not None:
            rule = kind.forms[rule.name](primitive, *rule.arguments)
        return Cell("rule", rule, plugin, overridden=overridden)

    def _fallback(self, primitive: Primitive) -> Cell:
        parent = self.kind.rpartition(".")[0]
        if "." in parent:  # `lower.xla.cuda` falls back on `lower.xla`; `lower` alone is no kind
            cell = rule_table(parent).cell(primitive)
            return cell._replace(status="general" if cell.status == "rule" else cell.status, overridden=())
        broken = self._broken.get(primitive.family)
        if broken:
            plugin = broken[0]
            return Cell("denied" if plugin.denial else "broken", plugin=plugin, error=plugin.refusal)
        kind = self._declared()
        if kind is not None and kind.derive is not None and primitive.decompose is not None:
            return Cell("derived", kind.derive(primitive), composition().provenance(primitive))
        if kind is not None and kind.default is not None:
            return Cell("default", kind.default(primitive))
        optional = kind is not None and kind.optional
        return Cell("optional" if optional else "missing", error=lambda: self._missing(primitive, None))

    def _missing(self, primitive: Primitive, reason: str | None) -> Exception:
        return errors.MissingRuleError(missing_message(self.kind, primitive, reason), primitive.identity, self.kind)


_tables: dict[str, RuleTable] = {}


def rule_table(kind: str) -> RuleTable:
    """The table of a rule kind. The same object for the life of the process: hot paths may hold on to it."""
    return _tables[kind] if kind in _tables else _tables.setdefault(kind, RuleTable(kind))


def find_rule_kind(name: str) -> RuleKind | None:
    """The rule kind called `name`, or None where its owner is not installed."""
    plugin = composition().find(RULE_KINDS_GROUP, name)
    return None if plugin is None else plugin.load()


def rule_kinds() -> tuple[str, ...]:
    """The names of all declared rule kinds."""
    return tuple(sorted(composition().names(RULE_KINDS_GROUP)))


def primitive_set(family: str) -> PrimitiveSet:
    """The primitive set of a family. Raises LookupError naming the families that are installed."""
    plugin = composition().find(PRIMITIVES_GROUP, family)
    if plugin is None:
        raise LookupError(
            f"no installed distribution provides primitives of family {family!r}; there are: {', '.join(families())}"
        )
    return plugin.load()  # type: ignore[no-any-return]


def _primitives_of(family: str) -> tuple[Primitive, ...]:
    """Those of a registered family; none where it is not registered, or cannot be used."""
    try:
        return tuple(primitive_set(family).primitives.values())
    except (LookupError, errors.PluginError):
        return ()


def families() -> tuple[str, ...]:
    """The names of all installed families."""
    return tuple(sorted(composition().names(PRIMITIVES_GROUP)))


def find_primitive(identity: str) -> Primitive:
    """The primitive `family.name`. Raises LookupError where there is none."""
    family, _, name = identity.partition(".")
    primitives = primitive_set(family).primitives
    if name not in primitives:
        raise LookupError(f"family {family!r} has no primitive {name!r}; it has: {', '.join(primitives)}")
    return primitives[name]


# Pickled by identity: the other process finds the primitive through its own composition.
copyreg.pickle(Primitive, lambda primitive: (find_primitive, (primitive.identity,)))


def _changed(plugins: tuple[Plugin, ...] | None) -> None:
    for table in tuple(_tables.values()):
        table.thaw()
    clear_caches()


# --- who has no rule for a primitive, who has too many, whose rule failed: what errors say ---


def conflict(kind: str, primitive: Primitive, plugins: list[Plugin], overriding: bool) -> errors.PluginConflictError:
    """Who the rivals are, and how to choose one; `overriding`: whether each is to replace the others."""
    rivals = " and ".join([f"{provider(plugin)} (entry point {plugin.name!r}: {plugin.value})" for plugin in plugins])
    number = "two" if len(plugins) == 2 else len(plugins)
    what = f"{number} rules of kind {kind!r} for primitive {primitive.identity!r}: from {rivals}"
    more = (
        f"; the author of a deliberate replacement declares it: RuleSet({kind!r}, api={EXTENSION_API}, override=True)"
    )
    if overriding:
        what, more = f"{what}, each to override all others", ""  # declaring it once more decides nothing
    shipper = composition().provenance(primitive)
    owner = None if shipper is None else shipper.distribution
    claimants = [plugin.distribution for plugin in plugins]
    return errors.PluginConflictError.between(what, f"{kind}:{primitive.identity}", claimants, more, owner)


def missing_message(kind_name: str, primitive: Primitive, reason: str | None) -> str:
    """What is missing, whose it would be, and the lines that add it; `reason`: why there is none by nature, or None."""
    owner = provider(composition().find(PRIMITIVES_GROUP, primitive.family))
    head = f"primitive {primitive.identity!r}, shipped by {owner}, has no rule of kind {kind_name!r}"
    if reason is not None:
        return f"{head}: {reason}"
    words = explanations().missing_rule(kind_name, primitive, owner)
    return words + composition().manager.not_asked()


def _explain(error: BaseException, traceback: TracebackType) -> None:
    """Add to an error whose rule it comes from, where it has passed what calls rules."""
    entry: TracebackType | None = traceback
    while entry is not None and entry.tb_frame.f_code not in SITES:
        entry = entry.tb_next
    if entry is not None:
        explanations().rule_failed(error, entry, SITES)


explain_by(_explain)


class DerivedRule:
    """Around what is made of a primitive's decomposition: where that lacks a rule, the error names the primitive.

    `kind`: the rule kind that it is made for, which the error of a primitive that cannot be decomposed names.

    >>> from tangrad.core import DerivedRule, find_primitive
    >>> with DerivedRule(find_primitive("elementwise.sin")):
    ...     pass
    """

    __slots__ = ("kind", "primitive")

    def __init__(self, primitive: Any, kind: str | None = None) -> None:
        self.primitive = primitive
        self.kind = kind

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if not isinstance(error, errors.MissingRuleError):
            return
        if error.kind is not None:
            raise error.needed_by(self.primitive.identity) from None
        if self.kind is not None:
            message = f"{error}. The rule kind is {self.kind!r}, its group of entry points 'tangrad.rules.{self.kind}'"
            raise errors.MissingRuleError(message, self.primitive.identity, self.kind) from None


# --- what plugins of these groups must be ---


def check_plugin(plugin: Plugin, loaded: Any, expected: type) -> None:
    """Raise TypeError if a plugin is of the wrong type, ApiVersionError if it was written for another extension API."""
    check_type(plugin, loaded, expected)
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


composition().set_check(PRIMITIVES_GROUP, _check_primitive_set)
composition().set_check("tangrad.rules", _check_rule_set)  # of all kinds
composition().set_check(RULE_KINDS_GROUP, partial(check_plugin, expected=RuleKind))
composition().set_check("tangrad.transformations", partial(check_plugin, expected=Transformation))
composition().on_change(_changed)
