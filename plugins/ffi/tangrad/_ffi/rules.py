"""The rules of foreign functions, but for mapped axes (`batch`): nothing is known of what they compute."""

from __future__ import annotations

from typing import Any

from tangrad._ffi.primitives import ffi_call_p
from tangrad.core import RuleSet

mask = RuleSet("mask", api=1)
mask.not_applicable("a foreign function would see the padding, and take it for what counts", ffi_call_p)

jvp = RuleSet("jvp", api=1)
transpose = RuleSet("transpose", api=1)


@jvp.rule(ffi_call_p)
def _(primals: Any, tangents: Any, *, target: str, **params: Any) -> Any:
    raise ValueError(
        f"the foreign function {target!r} cannot be differentiated: nothing is known of what it computes. Wrap the "
        "call in a function with a rule of its own (tangrad.custom_jvp, or custom_vjp for gradients only), whose rule "
        "may call foreign functions too; or stop the derivative at its arguments: tangrad.lax.stop_gradient(x)"
    )


@transpose.rule(ffi_call_p)
def _not_linear(cotangents: Any, *args: Any, target: str, **params: Any) -> Any:
    raise ValueError(
        f"the foreign function {target!r} cannot be transposed: nothing is known of what it computes. Where it stands "
        "for a linear function, say how that is transposed: tangrad.custom_transpose, linear_call, or custom_vjp"
    )
