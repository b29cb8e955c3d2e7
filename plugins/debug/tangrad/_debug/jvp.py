"""Callbacks under differentiation: those for debugging see the primals, the others have no derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tangrad._debug.primitives import debug_callback_p, debug_print_p, io_callback_p, pure_callback_p
from tangrad.autodiff import symbolic_zeros
from tangrad.core import RuleSet

if TYPE_CHECKING:
    from tangrad._debug.calls import HostCall

jvp = RuleSet("jvp", api=1)
jvp.form("primals", debug_callback_p, debug_print_p)


@jvp.rule(pure_callback_p)
@symbolic_zeros
def _(primals: object, tangents: object, *, callback: HostCall, **_: object) -> NoReturn:
    raise ValueError(
        f"{callback.described()} cannot be differentiated: nothing is known of what it computes. Wrap the call in a "
        "function with a rule of its own (tangrad.custom_jvp, or custom_vjp for gradients only), whose rule may use "
        "callbacks too; or stop the derivative at its arguments: tangrad.lax.stop_gradient(x)"
    )


@jvp.rule(io_callback_p)
@symbolic_zeros
def _io(primals: object, tangents: object, *, callback: HostCall, **_: object) -> NoReturn:
    raise ValueError(
        f"{callback.described()} cannot be differentiated: io_callback has no derivative. Stop the derivative at its "
        "arguments, tangrad.lax.stop_gradient(x), or wrap the call in a function with a rule of its own "
        "(tangrad.custom_jvp, tangrad.custom_vjp)"
    )
