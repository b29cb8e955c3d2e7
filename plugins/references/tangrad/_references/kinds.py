"""The rule kind of references: how a primitive that is given some is applied to the values behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad.core import Primitive, RuleKind


def _refusal(primitive: Primitive) -> Callable[..., Any]:
    """What reads no references: it says so where it is applied, also where it is in a program."""

    def refuse(args: Any, own: Any, **params: Any) -> Any:
        places = ", ".join([str(place) for place, is_own in enumerate(own) if is_own])
        if primitive.carries_programs or primitive.evaluate is not None:
            raise NotImplementedError(
                f"{primitive.name} cannot hand references on to its program, got one as operand {places}: read it "
                "before, ref[...], pass the value, and write what the program returns"
            )
        raise TypeError(
            f"{primitive.name} takes arrays, got a reference as operand {places}; ref[...] is the array behind it"
        )

    return refuse


discharge = RuleKind(
    "discharge",
    api=1,
    signature="(args, own, **params) -> results",
    doc="a primitive applied to references: where `own` is true, args[i].value is read and replaced",
    default=_refusal,
    optional=True,
)
