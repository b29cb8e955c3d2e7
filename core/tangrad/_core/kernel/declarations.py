"""What an author declares: primitive sets, rule sets, rule kinds, transformations.

Each is an object that an entry point names, and states the extension API that it was written for (`api=1`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, overload

from tangrad._core.composition.plugin import Declared
from tangrad._core.kernel.aval import AbstractValue
from tangrad._core.kernel.primitive import Primitive, checked_name

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the standard library's has no default before Python 3.13

    from tangrad._core.kernel import protocols as p
    from tangrad._core.kernel.array import Array

    R = TypeVar("R", bound=Callable[..., Any], default=Callable[..., Any])
else:
    from typing import TypeVar

    R = TypeVar("R")

PRIMITIVES_GROUP = "tangrad.primitives"
RULE_KINDS_GROUP = "tangrad.rule_kinds"
RULES_GROUP = "tangrad.rules."

Rule: TypeAlias = Callable[..., Any]
AbstractEval: TypeAlias = Callable[..., AbstractValue | Sequence[AbstractValue]]


class PrimitiveSet:
    """The primitives of one family. Its decorator makes a primitive of an abstract evaluation.

    Args:
        name: the family's name; the entry point of group `tangrad.primitives` has the same.
        api: the version of the extension API that the set was written for.

    Raises TypeError or ValueError for a name that is not made of letters, digits, "_", "." and "-".

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
        self.name = checked_name("family", name)
        self.api = api
        self.primitives: Declared[str, Primitive] = Declared()

    @overload
    def primitive(
        self, abstract_eval: Callable[..., AbstractValue], *, name: str | None = None, **options: Any
    ) -> Primitive[Array]: ...

    @overload
    def primitive(self, abstract_eval: None = None, *, name: str | None = None, **options: Any) -> p.MakesPrimitive: ...

    def primitive(self, abstract_eval: AbstractEval | None = None, *, name: str | None = None, **options: Any) -> Any:
        """Make a primitive of `abstract_eval(*avals, **params) -> aval or tuple`. Options: see `Primitive`.

        Raises ValueError where the family has a primitive of that name already, or the name has other characters than
        letters, digits, "_", "." and "-" (that of a lambda has).
        """

        def make(function: AbstractEval) -> Primitive:
            return self.add(Primitive(name or function.__name__, function, family=self.name, **options))

        return make if abstract_eval is None else make(abstract_eval)

    def add(self, primitive: Primitive) -> Primitive:
        """Add a primitive made by hand."""
        if not self.primitives.declare(primitive.name, primitive):
            raise ValueError(f"family {self.name!r} already has a primitive {primitive.name!r}")
        return primitive

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [(PRIMITIVES_GROUP, self.name)]

    def __repr__(self) -> str:
        return f"<primitive set {self.name}: {', '.join(self.primitives)}>"


class NotApplicable(NamedTuple):
    """Declared in place of a rule: the primitive has none of this kind, by nature."""

    reason: str


class Form(NamedTuple):
    """Declared in place of a rule: the name of a form of rules that the kind has, and what it takes."""

    name: str
    arguments: tuple[Any, ...]


class RuleSet(Generic[R]):
    """The rules of one kind for one family.

    To a type checker its parameter is the type of its rules. For the kinds that `tangrad.core.protocols` knows it
    follows from the kind; for others it may be given (`rules: RuleSet[MyRule] = RuleSet("mine", api=1)`), or is any
    function.

    Args:
        kind: the rule kind, such as "jvp".
        api: the version of the extension API that the set was written for.
        override: whether its rules replace those of other distributions for the same primitives.

    >>> from tangrad.core import RuleSet
    >>> jvp = RuleSet("jvp", api=1)
    """

    @overload
    def __init__(self: RuleSet[p.JvpRule], kind: Literal["jvp"], *, api: int, override: bool = False) -> None: ...

    @overload
    def __init__(
        self: RuleSet[p.TransposeRule], kind: Literal["transpose"], *, api: int, override: bool = False
    ) -> None: ...

    @overload
    def __init__(
        self: RuleSet[p.LinearizeRule], kind: Literal["linearize"], *, api: int, override: bool = False
    ) -> None: ...

    @overload
    def __init__(
        self: RuleSet[p.PartialEvalRule], kind: Literal["partial_eval"], *, api: int, override: bool = False
    ) -> None: ...

    @overload
    def __init__(self: RuleSet[p.DceRule], kind: Literal["dce"], *, api: int, override: bool = False) -> None: ...

    @overload
    def __init__(self: RuleSet[p.BatchRule], kind: Literal["batch"], *, api: int, override: bool = False) -> None: ...

    @overload
    def __init__(
        self: RuleSet[p.AxisSubstRule], kind: Literal["axis_subst"], *, api: int, override: bool = False
    ) -> None: ...

    @overload
    def __init__(self, kind: str, *, api: int, override: bool = False) -> None: ...

    def __init__(self, kind: str, *, api: int, override: bool = False) -> None:
        self.kind, self.api, self.override = kind, api, override
        self.rules: Declared[Primitive, R | NotApplicable | Form] = Declared()

    def rule(self, *primitives: Primitive) -> Callable[[R], R]:
        """Decorator: register a function as the rule of `primitives`."""

        def register(function: R) -> R:
            for primitive in primitives:
                self.add(primitive, function)
            return function

        return register

    def table(self, rules: Mapping[Primitive, R]) -> None:
        """Register many rules at once."""
        for primitive, rule in rules.items():
            self.add(primitive, rule)

    def not_applicable(self, reason: str, *primitives: Primitive) -> None:
        """Declare that `primitives` have no rule of this kind by nature, and why."""
        for primitive in primitives:
            self.add(primitive, NotApplicable(reason))

    def form(self, name: str, *primitives: Primitive, using: Sequence[object] = ()) -> None:
        """Declare that the rules of `primitives` have one of the kind's forms: `batch.form("elementwise", erf_p)`.

        The kind's owner makes them, with the arguments `using`, when one is first needed: it need not be installed
        where the set is defined, so that one file can have the rules of many kinds. Raises as `add` does.
        """
        for primitive in primitives:
            self.add(primitive, Form(name, tuple(using)))

    def add(self, primitive: Primitive, rule: R | NotApplicable | Form) -> None:
        """Register one rule.

        Raises TypeError for what is not a primitive or not callable, ValueError for a second rule.
        """
        if not isinstance(primitive, Primitive):
            raise TypeError(
                f"rule set {self.kind!r}: expected a primitive, got {primitive!r} of type {type(primitive).__name__}"
            )
        if not callable(rule) and not isinstance(rule, (NotApplicable, Form)):
            raise TypeError(f"rule set {self.kind!r}: the rule of {primitive.identity!r} is not callable: {rule!r}")
        if not self.rules.declare(primitive, rule):
            raise ValueError(f"rule set {self.kind!r} already has a rule for {primitive.identity!r}")

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
        forms: name -> `(primitive, *arguments) -> rule`: the usual forms of rules, see `RuleSet.form`.
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
        forms: Mapping[str, Callable[..., Rule]] | None = None,
        adapt: Callable[[Primitive, Rule], Rule] | None = None,
    ) -> None:
        self.name, self.api, self.signature, self.doc = name, api, signature, doc
        self.derive, self.default, self.optional = derive, default, optional
        self.forms, self.adapt = forms or {}, adapt

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [(RULE_KINDS_GROUP, self.name)]

    def __repr__(self) -> str:
        return f"<rule kind {self.name}{self.signature}>"


class Transformation:
    """A transformation as a plugin: its name and the rule kinds it owns; its functions are in `tangrad.api`."""

    def __init__(self, name: str, *, api: int, kinds: Iterable[RuleKind] = (), doc: str = "") -> None:
        self.name, self.api, self.kinds, self.doc = name, api, tuple(kinds), doc

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [("tangrad.transformations", self.name)]

    def __repr__(self) -> str:
        return f"<transformation {self.name}>"
