"""Who has no rule for a primitive, and who has too many; whose rule failed: what the errors say."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from tangrad._core.composition.missing_names import explanations
from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.registry import composition
from tangrad._core.composition.versioning import EXTENSION_API, provider
from tangrad._core.diagnostics.errors import MissingRuleError, PluginConflictError
from tangrad._core.diagnostics.tracebacks import SITES, calls_rules, explain_by
from tangrad._core.kernel.aval import get_aval
from tangrad._core.kernel.declarations import PRIMITIVES_GROUP
from tangrad._core.kernel.primitive import Primitive


def conflict(kind: str, primitive: Primitive, plugins: list[Plugin], overriding: bool) -> PluginConflictError:
    """Who the rivals are, and how to choose one; `overriding`: whether each says that it replaces the others."""
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
    return PluginConflictError.between(what, f"{kind}:{primitive.identity}", claimants, more, owner)


def missing_message(kind_name: str, primitive: Primitive, reason: str | None) -> str:
    """What is missing, whose it would be, and the lines that add it; `reason`: why there is none by nature, or None."""
    owner = provider(composition().find(PRIMITIVES_GROUP, primitive.family))
    head = f"primitive {primitive.identity!r}, shipped by {owner}, has no rule of kind {kind_name!r}"
    if reason is not None:
        return f"{head}: {reason}"
    words = explanations().missing_rule(kind_name, primitive, owner)
    return words + composition().manager.not_asked()


def _explain(error: BaseException, traceback: TracebackType) -> None:
    """Have it said whose rule an error comes from, where it has passed what calls rules."""
    entry: TracebackType | None = traceback
    while entry is not None and entry.tb_frame.f_code not in SITES:
        entry = entry.tb_next
    if entry is not None:
        explanations().rule_failed(error, entry, SITES)


explain_by(_explain)


@calls_rules("decompose")
def check_decomposition(primitive: Primitive, in_avals: Sequence[Any], params: dict[str, Any], results: Any) -> None:
    """Raise TypeError where the results of a decomposition are not of the types that the primitive infers."""
    try:
        found = [get_aval(result) for result in results]
    except TypeError as error:
        what = "a tuple of arrays" if primitive.multiple_results else "an array"
        returned = results if primitive.multiple_results else results[0]
        raise TypeError(
            f"the decomposition of primitive {primitive.identity!r} must return {what}, got {returned!r}"
        ) from error
    inferred = primitive.infer(tuple(in_avals), params)
    expected = list(inferred) if primitive.multiple_results else [inferred]
    if [_kind(aval) for aval in found] != [_kind(aval) for aval in expected]:
        raise TypeError(
            f"the decomposition of primitive {primitive.identity!r} gives {_shown(found)} for operands "
            f"{_shown(in_avals)}, but its abstract evaluation says {_shown(expected)}"
        )


def _kind(aval: Any) -> tuple[Any, Any]:
    return aval.shape, getattr(aval, "dtype", None)


def _shown(avals: Sequence[Any]) -> str:
    return f"({', '.join([aval.str_short() for aval in avals])})"


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

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if not isinstance(error, MissingRuleError):
            return
        if error.kind is not None:
            raise error.needed_by(self.primitive.identity) from None
        if self.kind is not None:
            message = f"{error}. The rule kind is {self.kind!r}, its group of entry points 'tangrad.rules.{self.kind}'"
            raise MissingRuleError(message, self.primitive.identity, self.kind) from None
