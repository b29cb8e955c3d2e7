"""How transpose rules are written, and the rules of autodiff's own family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tangrad.core import Primitive, RuleSet, ShapedArray

if TYPE_CHECKING:
    from tangrad.typing import Value


class Linear:
    """Stands for an argument that a linear function is transposed with respect to. Only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> Any:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    def __repr__(self) -> str:
        return f"Linear({self.aval.str_short()})"


def is_linear(arg: Value | Linear) -> bool:
    """Whether a transpose rule's argument is a placeholder, so that it wants a cotangent."""
    return type(arg) is Linear


def linear_transpose_rule(transpose: RuleSet, primitive: Primitive, rule: Callable[..., Any]) -> None:
    """Register `rule(cotangent, operand_aval, **params) -> cotangent` of a primitive of one operand."""
    transpose.add(primitive, linear(primitive, rule))


def linear(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    def apply(cotangent: Value, operand: Value | Linear, **params: Any) -> tuple[Any]:
        return (rule(cotangent, operand.aval, **params),)

    return apply


# The forms by their names, which need no import: `transpose.form("linear", neg_p, using=[lambda ct, aval: neg(ct)])`.
TRANSPOSE_FORMS: dict[str, Callable[..., Any]] = {"linear": linear}
