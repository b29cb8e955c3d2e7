"""`jax.interpreters.ad`: derivatives of primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._compat.primitives import Primitive, primitive_called, primitive_jvps, primitive_transposes
from tangrad.autodiff import JVPTrace as JVPTrace
from tangrad.autodiff import JVPTracer as JVPTracer
from tangrad.autodiff import Linear as UndefinedPrimal
from tangrad.autodiff import Zero as Zero
from tangrad.autodiff import add_tangents as add_tangents
from tangrad.autodiff import instantiate as instantiate_zeros
from tangrad.autodiff import is_linear as is_undefined_primal
from tangrad.autodiff import zeros

if TYPE_CHECKING:
    from typing import TypeAlias

    from tangrad._compat.primitives import Rule
    from tangrad.autodiff import Linear
    from tangrad.typing import Value, Values

    Tangents: TypeAlias = tuple[Value | Zero, ...]


add_jaxvals = add_tangents
add_jaxvals_p = primitive_called(__name__, "add_jaxvals_p")
zeros_like_aval = zeros


def defjvp(primitive: Primitive, *rules: Callable[..., object]) -> None:
    """Derivatives by one argument each: `rule(tangent, *primals, **params)`, None where there is none."""

    def jvp(primals: Values, tangents: Tangents, **params: object) -> tuple[Value, Value | Zero]:
        out = primitive.bind(*primals, **params)
        parts = [
            rule(tangent, *primals, **params)
            for rule, tangent in zip(rules, tangents, strict=True)
            if rule is not None and type(tangent) is not Zero
        ]
        total: Value | Zero = Zero.from_primal_value(out)
        for part in parts:
            total = add_tangents(total, part)
        return out, total

    primitive_jvps[primitive] = jvp


def defjvp2(primitive: Primitive, *rules: Callable[..., object]) -> None:
    """As `defjvp`, of rules that are given the result, too: `rule(tangent, result, *primals, **params)`."""

    def jvp(primals: Values, tangents: Tangents, **params: object) -> tuple[Value, Value | Zero]:
        out = primitive.bind(*primals, **params)
        total: Value | Zero = Zero.from_primal_value(out)
        for rule, tangent in zip(rules, tangents, strict=True):
            if rule is not None and type(tangent) is not Zero:
                total = add_tangents(total, rule(tangent, out, *primals, **params))
        return out, total

    primitive_jvps[primitive] = jvp


def deflinear(primitive: Primitive, transpose: Callable[..., object]) -> None:
    """As `deflinear2`, of a rule that needs no more than the cotangents: `transpose(cotangents, **params)`."""
    deflinear2(primitive, lambda cotangents, *_, **params: transpose(cotangents, **params))


def defbilinear(primitive: Primitive, left: Callable[..., object], right: Callable[..., object]) -> None:
    """Say that a primitive is linear in each of two arguments, and how it is transposed by each.

    Args:
        primitive: of two arguments.
        left: `(cotangent, x, y, **params)` gives the cotangent of the first argument, which is unknown.
        right: the same of the second.
    """
    bind = primitive.bind
    defjvp(
        primitive,
        lambda tangent, x, y, **params: bind(tangent, y, **params),
        lambda tangent, x, y, **params: bind(x, tangent, **params),
    )

    def transpose(cotangent: object, x: Value | Linear, y: Value | Linear, **params: object) -> tuple[object, object]:
        if is_undefined_primal(x):
            return left(cotangent, x, y, **params), None
        return None, right(cotangent, x, y, **params)

    primitive_transposes[primitive] = transpose


def deflinear2(primitive: Primitive, transpose: Callable[..., object]) -> None:
    """Say that a primitive is linear in all its arguments, and how it is transposed."""

    def jvp(primals: Values, tangents: Tangents, **params: object) -> tuple[Value | Values, Value | Values]:
        return primitive.bind(*primals, **params), primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


def get_primitive_transpose(primitive: Primitive) -> Rule:
    """The transpose rule that a package gave a primitive. Raises NotImplementedError where none did."""
    try:
        return primitive_transposes[primitive]
    except KeyError:
        raise NotImplementedError(f"no package gave the primitive {primitive} a transpose rule") from None
