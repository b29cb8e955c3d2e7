"""How `sparse` rules are written: `(*args, **params) -> results`.

Of `args` some are sparse arrays, the others dense ones; `params` are as the function saw them. What is returned is
sparse or dense, as the rule sees fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tangrad.core import Primitive, RuleSet

if TYPE_CHECKING:
    from tangrad._sparse.coordinates import BCOO


def of_values(rules: RuleSet[Any], *primitives: Primitive) -> None:
    """Register the rule of linear primitives of one operand, which apply to each value that is kept."""
    for primitive in primitives:
        rules.add(primitive, _of_values(primitive))


def of_each_element(rules: RuleSet[Any], *primitives: Primitive) -> None:
    """Register the rule of primitives of one operand that are 0 at 0.

    What adds up to one element is added up first.
    """
    for primitive in primitives:
        rules.add(primitive, _of_each_element(primitive))


def _of_values(primitive: Primitive) -> Callable[..., Any]:
    return lambda x, **params: x.like(primitive.bind(x.data, **params))


def _of_each_element(primitive: Primitive) -> Callable[..., Any]:
    def rule(x: Any, **params: Any) -> Any:
        x = x.with_unique_indices()
        return x.like(primitive.bind(x.data, **params))

    return rule


def total(x: Any, axes: Iterable[int]) -> BCOO:
    """The sums over dimensions; over all of them a number."""
    return x.to_bcoo().sum(tuple(axes))
