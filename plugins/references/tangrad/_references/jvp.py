"""References under differentiation: they hold values. What has a derivative cannot be written to one from outside."""

from __future__ import annotations

from typing import Any

from tangrad._references.primitives import addupdate_p, get_p, swap_p
from tangrad.autodiff import Zero, symbolic_zeros
from tangrad.core import Array, RuleSet

jvp = RuleSet("jvp", api=1)


@jvp.rule(get_p)
@symbolic_zeros
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...], **params: object) -> tuple[Array, Zero]:
    _check_constant(primals[0], tangents[0])
    out = get_p.bind(*primals, **params)
    return out, Zero.of(out)


def _check_constant(ref: Array, tangent: object) -> None:
    """Raise TypeError for a reference that a derivative is taken by."""
    if type(tangent) is not Zero:
        raise TypeError(
            f"an argument that a derivative is taken by is a reference, of type {ref.aval.str_short()}: pass its "
            "value, ref[...], and make a reference of that within the function"
        )


def _check(primals: tuple[Array, ...], tangents: Any) -> None:
    """Raise ValueError for a value that depends on what a derivative is taken by, where that would be lost."""
    ref, tangent = primals[0], tangents[-1]
    _check_constant(ref, tangents[0])
    if type(tangent) is not Zero and getattr(ref.aval, "kind", None) is None:
        raise ValueError(
            f"a value that is differentiated is written to a reference from outside, of type {ref.aval.str_short()}, "
            "where its derivative would be lost: write tangrad.lax.stop_gradient(value), make the reference within "
            "the function that is differentiated, or return the value beside the result (has_aux=True)"
        )


@jvp.rule(swap_p)
@symbolic_zeros
def _swap(primals: tuple[Array, ...], tangents: object, **params: object) -> tuple[Array, Zero]:
    _check(primals, tangents)
    before = swap_p.bind(*primals, **params)
    return before, Zero.of(before)


@jvp.rule(addupdate_p)
@symbolic_zeros
def _add(primals: tuple[Array, ...], tangents: object, **params: object) -> tuple[tuple[Array, ...], tuple[()]]:
    _check(primals, tangents)
    return addupdate_p.bind(*primals, **params), ()
