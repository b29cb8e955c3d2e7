"""How transpose rules are written, and the rules of autodiff's own family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tangrad._autodiff.tangents import Linear
from tangrad.core import Primitive, RuleSet

if TYPE_CHECKING:
    from tangrad._autodiff.tangents import Zero
    from tangrad.core.protocols import TransposeRule
    from tangrad.typing import Value


def is_linear(arg: Value | Linear) -> bool:
    """Whether a transpose rule's argument is a placeholder, so that it wants a cotangent."""
    return type(arg) is Linear


def linear_transpose_rule(transpose: RuleSet, primitive: Primitive, rule: Callable[..., Value | Zero]) -> None:
    """Register `rule(cotangent, operand_aval, **params) -> cotangent` of a primitive of one operand."""
    transpose.add(primitive, linear(primitive, rule))


def linear(primitive: Primitive, rule: Callable[..., Value | Zero]) -> TransposeRule:
    def apply(cotangent: Value, operand: Value | Linear, **params: object) -> tuple[Value | Zero]:
        return (rule(cotangent, operand.aval, **params),)

    return apply


# The forms by their names, which need no import: `transpose.form("linear", neg_p, using=[lambda ct, aval: neg(ct)])`.
TRANSPOSE_FORMS: dict[str, Callable[..., TransposeRule]] = {"linear": linear}
