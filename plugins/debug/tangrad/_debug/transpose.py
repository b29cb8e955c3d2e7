"""Callbacks read backwards: those for debugging give nothing back, the others are linear in nothing."""

from __future__ import annotations

from typing import Any

from tangrad._debug.primitives import debug_callback_p, debug_print_p, io_callback_p, pure_callback_p
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)


@transpose.rule(debug_callback_p, debug_print_p)
def _(cotangents: Any, *args: Any, **params: Any) -> Any:
    return (None,) * len(args)


@transpose.rule(pure_callback_p, io_callback_p)
def _not_linear(cotangents: Any, *args: Any, callback: Any, **params: Any) -> Any:
    raise ValueError(
        f"{callback.described()} cannot be transposed: nothing is known of what it computes. Where it stands for a "
        "linear function, say how that is transposed: tangrad.custom_transpose, linear_call, or custom_vjp"
    )
