"""`jax.interpreters.ad`: derivatives of primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad.autodiff import JVPTrace as JVPTrace
from tangrad.autodiff import JVPTracer as JVPTracer
from tangrad.autodiff import Linear as UndefinedPrimal
from tangrad.autodiff import Zero as Zero
from tangrad.autodiff import add_tangents as add_tangents
from tangrad.autodiff import instantiate as instantiate_zeros
from tangrad.autodiff import is_linear as is_undefined_primal
from tangrad.autodiff import zeros
from tangrad.compat.jax.primitives import Primitive, primitive_jvps, primitive_transposes

add_jaxvals = add_tangents
zeros_like_aval = zeros


def defjvp(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Derivatives by one argument each: `rule(tangent, *primals, **params)`, None where there is none."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        parts = [
            rule(tangent, *primals, **params)
            for rule, tangent in zip(rules, tangents, strict=True)
            if rule is not None and type(tangent) is not Zero
        ]
        total: Any = Zero.from_primal_value(out)
        for part in parts:
            total = add_tangents(total, part)
        return out, total

    primitive_jvps[primitive] = jvp


def deflinear2(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """Say that a primitive is linear in all its arguments, and how it is transposed."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return primitive.bind(*primals, **params), primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose
