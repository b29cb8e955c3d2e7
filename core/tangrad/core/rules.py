"""Rule kinds, rule sets, and the tables that traces read.

A *rule kind* says what a rule is for (`jvp`, `batch`, `lower.numpy`); a transformation or backend owns it. A *rule
set* holds
the rules of one kind for one family of primitives. A *rule table* is the composition of all rule sets of a kind: a
plain
dictionary from primitive to rule. The first look-up of a primitive of some family loads every rule set of (kind,
family)
from every distribution, settles conflicts and overrides, and freezes the result, so that neither the order of use nor
that of
installation can matter.
"""

from __future__ import annotations

import copyreg
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

from tangrad.core import errors
from tangrad.core.caches import clear_caches
from tangrad.core.plugins import Plugin, composition
from tangrad.core.primitive import Primitive

EXTENSION_API = 1
PRIMITIVES_GROUP = "tangrad.primitives"
RULE_KINDS_GROUP = "tangrad.rule_kinds"
RULES_GROUP = "tangrad.rules."

Rule = Callable[..., Any]


class PrimitiveSet:
    """The primitives of one family. Its decorator makes a primitive of an abstract evaluation.

    Args:
      name: the family's name; the entry point of group `tangrad.primitives` has the same.
      api: the version of the extension API that the set was written for.

    >>> from tangrad.core import PrimitiveSet, ShapedArray
    >>> family = PrimitiveSet("example_family", api=1)
    >>> @family.primitive
    ... def double(x):
    ...     "Twice `x`."
    ...     return ShapedArray(x.shape, x.dtype)
    >>> double.identity
    'example_family.double'
    """

    def __init__(self, name: str, *, api: int) -> None:
        self.name = name
        self.api = api
        self.primitives: dict[str, Primitive] = {}

    @overload
    def primitive(self, abstract_eval: Callable[..., Any], *, name: str | None = None, **options: Any) -> Primitive: ...

    @overload
    def primitive(
        self, abstract_eval: None = None, *, name: str | None = None, **options: Any
    ) -> Callable[[Callable[..., Any]], Primitive]: ...

    def primitive(
        self, abstract_eval: Callable[..., Any] | None = None, *, name: str | None = None, **options: Any
    ) -> Any:
        """Make a primitive of `abstract_eval(*avals, **params) -> aval or tuple`. Options: see `Primitive`.

        Raises ValueError where the family has a primitive of that name already.
        """

        def make(function: Callable[..., Any]) -> Primitive:
            return self.add(Primitive(name or function.__name__, function, family=self.name, **options))

        return make if abstract_eval is None else make(abstract_eval)

    def add(self, primitive: Primitive) -> Primitive:
        """Add a primitive made by hand."""
        if primitive.name in self.primitives:
            raise ValueError(f"family {self.name!r} already has a primitive {primitive.name!r}")
        self.primitives[primitive.name] = primitive
        return primitive

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [(PRIMITIVES_GROUP, self.name)]

    def __repr__(self) -> str:
        return f"<primitive set {self.name}: {', '.join(self.primitives)}>"


class NotApplicable:
    """Declared in place of a rule: the primitive has none of this kind, by nature."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"not applicable: {self.reason}"


class RuleSet:
    """The rules of one kind for one family.

    Args:
      kind: the rule kind, such as "jvp".
      api: the version of the extension API that the set was written for.
      override: whether its rules replace those of other distributions for the same primitives.

    >>> from tangrad.core import RuleSet
    >>> jvp = RuleSet("jvp", api=1)
    """

    def __init__(self, kind: str, *, api: int, override: bool = False) -> None:
        self.kind = kind
        self.api = api
        self.override = override
        self.rules: dict[Primitive, Rule | NotApplicable] = {}

    def rule(self, *primitives: Primitive) -> Callable[[Rule], Rule]:
        """Decorator: register a function as the rule of `primitives`."""

        def register(function: Rule) -> Rule:
            for primitive in primitives:
                self.add(primitive, function)
            return function

        return register

    def table(self, rules: Mapping[Primitive, Rule]) -> None:
        """Register many rules at once."""
        for primitive, rule in rules.items():
            self.add(primitive, rule)

    def not_applicable(self, reason: str, *primitives: Primitive) -> None:
        """Declare that `primitives` have no rule of this kind by nature, and why."""
        for primitive in primitives:
            self.add(primitive, NotApplicable(reason))

    def add(self, primitive: Primitive, rule: Rule | NotApplicable) -> None:
        """Register one rule.

        Raises TypeError for what is not a primitive or not callable, ValueError for a second rule.
        """
        if not isinstance(primitive, Primitive):
            raise TypeError(
                f"rule set {self.kind!r}: expected a primitive, got {primitive!r} of type {type(primitive).__name__}"
            )
        if not callable(rule) and not isinstance(rule, NotApplicable):
            raise TypeError(f"rule set {self.kind!r}: the rule of {primitive.identity!r} is not callable: {rule!r}")
        if primitive in self.rules:
            raise ValueError(f"rule set {self.kind!r} already has a rule for {primitive.identity!r}")
        self.rules[primitive] = rule

    def families(self) -> list[str]:
        return sorted({primitive.family for primitive in self.rules})

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [(RULES_GROUP + self.kind, family) for family in self.families()]

    def __repr__(self) -> str:
        return f"<rule set {self.kind}: {', '.join(primitive.identity for primitive in self.rules)}>"


class RuleKind:
    """What a kind of rules is for.

    Args:
      name: such as "jvp"; the entry point of group `tangrad.rule_kinds` has the same.
      signature: the signature of its rules, for documentation and error messages.
      doc: one line on what the rules do.
      derive: `primitive -> rule`, made of the primitive's decomposition; None where that is impossible.
      default: `primitive -> rule` for primitives that have neither rule nor decomposition; None: that is an error.
      adapt: `(primitive, rule) -> rule`, applied once to each rule before the table hands it out.
      optional: whether the kind's owner does without a rule; the matrix then shows no hole.
    """

    def __init__(
        self,
        name: str,
        *,
        api: int,
        signature: str,
        doc: str,
        derive: Callable[[Primitive], Rule] | None = None,
        default: Callable[[Primitive], Rule] | None = None,
        optional: bool = False,
        adapt: Callable[[Primitive, Rule], Rule] | None = None,
    ) -> None:
        self.name = name
        self.api = api
        self.signature = signature
        self.doc = doc
        self.derive = derive
        self.default = default
        self.optional = optional
        self.adapt = adapt

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [(RULE_KINDS_GROUP, self.name)]

    def __repr__(self) -> str:
        return f"<rule kind {self.name}{self.signature}>"


class Transformation:
    """A transformation as a plugin: its name and the rule kinds it owns; its functions are in `tangrad.api`."""

    def __init__(self, name: str, *, api: int, kinds: Iterable[RuleKind] = (), doc: str = "") -> None:
        self.name = name
        self.api = api
        self.kinds = tuple(kinds)
        self.doc = doc

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [("tangrad.transformations", self.name)]

    def __repr__(self) -> str:
        return f"<transformation {self.name}>"


class Cell:
    """One cell of the matrix primitive × rule kind.

    Attributes:
      status: "rule", "general" (of a more general platform), "derived" (by decomposition), "default", "optional" (none,
        and none is needed), "not applicable", "conflict", "denied", "broken" or "missing".
      rule: the rule, where there is one.
      plugin: the plugin it came from, or None.
      error: what using the cell raises, where there is no rule.
    """

    __slots__ = ("error", "plugin", "rule", "status")

    def __init__(self, status: str, rule: Any = None, plugin: Plugin | None = None, error: Any = None) -> None:
        self.status = status
        self.rule = rule
        self.plugin = plugin
        self.error = error

    def __repr__(self) -> str:
        return f"<cell {self.status}{f' from {self.plugin.distribution}' if self.plugin else ''}>"


class RuleTable(dict[Primitive, Rule]):
    """Primitive -> rule, for one kind. `table[primitive]` is one dictionary look-up once the family is settled."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self._families: dict[str, dict[Primitive, Cell]] = {}
        self._broken: dict[str, list[Plugin]] = {}
        self._lock = threading.RLock()

    def __missing__(self, primitive: Primitive) -> Rule:
        cell = self.cell(primitive)
        if cell.rule is None:
            raise cell.error()
        kind = find_rule_kind(self.kind)
        rule = cell.rule if kind is None or kind.adapt is None else kind.adapt(primitive, cell.rule)
        self[primitive] = rule
        return rule

    def get_rule(self, primitive: Primitive) -> Rule | None:
        """The rule, or None where there is none; a conflict still raises."""
        try:
            return self[primitive]
        except errors.MissingRuleError:
            return None

    def cell(self, primitive: Primitive) -> Cell:
        """The settled cell of a primitive, with where it comes from."""
        if not isinstance(primitive, Primitive):
            raise TypeError(f"expected a primitive, got {primitive!r}")
        cells = self._families.get(primitive.family)
        if cells is None:
            cells = self._settle(primitive.family)
        cell = cells.get(primitive)
        return self._fallback(primitive) if cell is None else cell

    def thaw(self) -> None:
        """Forget everything; tables fill again at the next use."""
        with self._lock:
            self.clear()
            self._families = {}
            self._broken = {}

    def _settle(self, family: str) -> dict[Primitive, Cell]:
        claims: dict[Primitive, list[tuple[Plugin, RuleSet, Any]]] = {}
        broken = []
        for plugin in composition().entries_for(RULES_GROUP + self.kind, family):
            try:
                rule_set = plugin.load()
            except (errors.BrokenPluginError, errors.DeniedPluginError):
                broken.append(plugin)
                continue
            for primitive, rule in rule_set.rules.items():
                if primitive.family == family:
                    claims.setdefault(primitive, []).append((plugin, rule_set, rule))
        cells = {primitive: self._decide(primitive, rivals) for primitive, rivals in claims.items()}
        with self._lock:
            self._broken[family] = broken
            return self._families.setdefault(family, cells)

    def _decide(self, primitive: Primitive, claims: list[tuple[Plugin, RuleSet, Any]]) -> Cell:
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
            message = _conflict_message(self.kind, primitive, [plugin for plugin, _, _ in rivals])
            return Cell("conflict", error=lambda: errors.PluginConflictError(message))
        plugin, _, rule = rivals[0]
        if isinstance(rule, NotApplicable):
            reason = rule.reason
            return Cell("not applicable", plugin=plugin, error=lambda: self._missing(primitive, reason))
        return Cell("rule", rule, plugin)

    def _fallback(self, primitive: Primitive) -> Cell:
        parent = self.kind.rpartition(".")[0]
        if "." in parent:  # `lower.xla.cuda` falls back on `lower.xla`; `lower` alone is no kind
            cell = rule_table(parent).cell(primitive)
            return Cell("general" if cell.status == "rule" else cell.status, cell.rule, cell.plugin, cell.error)
        broken = self._broken.get(primitive.family)
        if broken:
            plugin = broken[0]
            return Cell("denied" if plugin.denial else "broken", plugin=plugin, error=lambda: _load_error(plugin))
        kind = find_rule_kind(self.kind)
        if kind is not None and kind.derive is not None and primitive.decompose is not None:
            return Cell("derived", kind.derive(primitive), composition().provenance(primitive))
        if kind is not None and kind.default is not None:
            return Cell("default", kind.default(primitive))
        optional = kind is not None and kind.optional
        return Cell("optional" if optional else "missing", error=lambda: self._missing(primitive, None))

    def _missing(self, primitive: Primitive, reason: str | None) -> Exception:
        return errors.MissingRuleError(_missing_message(self.kind, primitive, reason))


_tables: dict[str, RuleTable] = {}


def rule_table(kind: str) -> RuleTable:
    """The table of a rule kind. The same object for the life of the process: hot paths may hold on to it."""
    table = _tables.get(kind)
    if table is None:
        table = _tables.setdefault(kind, RuleTable(kind))
    return table


def find_rule_kind(name: str) -> RuleKind | None:
    """The rule kind called `name`, or None where nobody who owns it is installed."""
    plugin = composition().find(RULE_KINDS_GROUP, name)
    return None if plugin is None else plugin.load()


def rule_kinds() -> tuple[str, ...]:
    """The names of all declared rule kinds."""
    return tuple(sorted({plugin.name for plugin in composition().entries(RULE_KINDS_GROUP)}))


def primitive_set(family: str) -> PrimitiveSet:
    """The primitive set of a family. Raises LookupError naming the families that are installed."""
    plugin = composition().find(PRIMITIVES_GROUP, family)
    if plugin is None:
        raise LookupError(
            f"no installed distribution provides primitives of family {family!r}; there are: {', '.join(families())}"
        )
    return plugin.load()  # type: ignore[no-any-return]


def families() -> tuple[str, ...]:
    """The names of all installed families."""
    return tuple(sorted({plugin.name for plugin in composition().entries(PRIMITIVES_GROUP)}))


def find_primitive(identity: str) -> Primitive:
    """The primitive `family.name`. Raises LookupError where there is none."""
    family, _, name = identity.partition(".")
    primitives = primitive_set(family).primitives
    if name not in primitives:
        raise LookupError(f"family {family!r} has no primitive {name!r}; it has: {', '.join(primitives)}")
    return primitives[name]


# Pickled by identity: the other process finds the primitive through its own composition.
copyreg.pickle(Primitive, lambda primitive: (find_primitive, (primitive.identity,)))


# --- messages ------------------------------------------------------------------------------------------------------


def _provider(plugin: Plugin | None) -> str:
    return "an unregistered plugin" if plugin is None else f"{plugin.distribution} {plugin.version}".strip()


def _conflict_message(kind: str, primitive: Primitive, plugins: list[Plugin]) -> str:
    rivals = " and ".join([f"{_provider(plugin)} (entry point {plugin.name!r}: {plugin.value})" for plugin in plugins])
    cell = f"{kind}:{primitive.identity}"
    return (
        f"two rules of kind {kind!r} for primitive {primitive.identity!r}: from {rivals}. Choose one: "
        f"TANGRAD_PREFER='{cell}={plugins[0].distribution}' in the environment, or "
        f"tangrad.core.configure_plugins(prefer={{{cell!r}: {plugins[0].distribution!r}}}); the author of a deliberate "
        f"replacement declares it: RuleSet({kind!r}, api={EXTENSION_API}, override=True)"
    )


def _missing_message(kind_name: str, primitive: Primitive, reason: str | None) -> str:
    owner = _provider(composition().find(PRIMITIVES_GROUP, primitive.family))
    head = f"primitive {primitive.identity!r}, shipped by {owner}, has no rule of kind {kind_name!r}"
    if reason is not None:
        return f"{head}: {reason}"
    kind_plugin = composition().find(RULE_KINDS_GROUP, kind_name)
    kind = find_rule_kind(kind_name)
    if kind is None or kind_plugin is None:
        return f"{head}, and no installed distribution declares that kind"
    return errors.missing_rule_message(
        primitive.identity,
        kind_name,
        shipped_by=owner,
        owner=f"{_provider(kind_plugin)} ({kind.doc})",
        signature=kind.signature,
        providers=[plugin.distribution for plugin in composition().entries(RULES_GROUP + kind_name)],
    )


def _load_error(plugin: Plugin) -> BaseException:
    try:
        plugin.load()
    except Exception as error:  # the error of a broken or denied plugin, with its cause
        return error
    return errors.BrokenPluginError(f"plugin {plugin.identity} was set aside")


# --- what a plugin must be -----------------------------------------------------------------------------------------


def _checked(expected: type) -> Callable[[Plugin, Any], None]:
    def check(plugin: Plugin, loaded: Any) -> None:
        check_plugin(plugin, loaded, expected)

    return check


def check_plugin(plugin: Plugin, loaded: Any, expected: type) -> None:
    """Raise TypeError if a plugin is of the wrong type, ApiVersionError if it was written for another extension API."""
    if not isinstance(loaded, expected):
        raise TypeError(f"expected {expected.__name__}, got {loaded!r} of type {type(loaded).__name__}")
    check_api_version(plugin, loaded)


def check_api_version(plugin: Plugin, loaded: Any) -> None:
    """Raise ApiVersionError unless `loaded` states the extension API that this kernel has."""
    api = getattr(loaded, "api", None)
    if api != EXTENSION_API:
        entry = f"{_provider(plugin)}: {plugin.value}"
        raise errors.ApiVersionError(errors.api_version_message(entry, api, EXTENSION_API))


def _check_rule_set(plugin: Plugin, loaded: Any) -> None:
    check_plugin(plugin, loaded, RuleSet)
    kind = plugin.group.removeprefix(RULES_GROUP)
    if loaded.kind != kind:
        raise ValueError(f"a rule set of kind {loaded.kind!r} is registered in group {plugin.group!r}")


def _check_primitive_set(plugin: Plugin, loaded: Any) -> None:
    check_plugin(plugin, loaded, PrimitiveSet)
    if loaded.name != plugin.name:
        raise ValueError(f"the primitive set of family {loaded.name!r} is registered under the name {plugin.name!r}")


def _changed(plugins: tuple[Plugin, ...] | None) -> None:
    for table in tuple(_tables.values()):
        table.thaw()
    clear_caches()


composition().set_check("tangrad.primitives", _check_primitive_set)
composition().set_check("tangrad.rules", _check_rule_set)
composition().set_check("tangrad.rule_kinds", _checked(RuleKind))
composition().set_check("tangrad.transformations", _checked(Transformation))
composition().on_change(_changed)
