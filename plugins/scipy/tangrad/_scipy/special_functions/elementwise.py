"""What special functions are computed with: derivatives that are known in closed form, polynomials, series."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tangrad.core import Array, dtypes
from tangrad.extend.custom_rules import custom_jvp
from tangrad.extend.lax import fori_loop, while_loop
from tangrad.extend.numpy import asarray

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Value

Function = Callable[..., Any]
S = TypeVar("S")  # what terms are made of, one after the other


def with_derivatives(*derivatives: Function | None) -> Callable[[Function], Function]:
    """Decorator of a function of arrays of one shape and dtype, which computes in 32 or 64 bits.

    Args:
        derivatives: for each argument a function of (tangent, answer, *arguments), or None where it does not count.
            They are differentiated in turn; the function itself never is.
    """

    def decorate(function: Function) -> Function:
        differentiable = custom_jvp(function)
        differentiable.defjvps(*derivatives)

        def wide(*args: Value) -> Value:
            dtype = args[0].aval.dtype
            if dtype.itemsize > 2:
                return differentiable(*args)
            result = differentiable(*[arg.astype(np.float32) for arg in args])
            return result.astype(dtype)

        return wide

    return decorate


def polynomial(x: Value, coefficients: tuple[float, ...]) -> Array:
    """A polynomial by Horner's rule, the highest power first."""
    total = x * 0 + coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def sum_of_terms(count: int, step: Callable[[Array, Array], tuple[Array, Array]], first: Array, total: Array) -> Array:
    """Add `count` terms: `step(k, state)`, for k = 1, …, gives the next state and the term."""

    def body(k: Array, carry: tuple[Array, ...]) -> tuple[Array, Array]:
        state, total = carry
        state, term = step(asarray(k, total.dtype), state)
        return state, total + term

    return fori_loop(1, count + 1, body, (first, total))[1]


def backward(count: int, step: Callable[[Array, Array], Array], start: Array) -> Array:
    """A continued fraction from its tail: `step(k, tail)` for k = count, …, 1."""
    return fori_loop(0, count, lambda i, tail: step(asarray(count - i, tail.real.dtype), tail), start)


def until_small(
    limit: int,
    step: Callable[[Array, S], tuple[S, tuple[Array, ...]]],
    first: S,
    total: tuple[Array] | tuple[Array, Array],
) -> tuple[Array, ...]:
    """Add terms until all elements have converged, or `limit` of them: `step(k, state)` gives state and terms.

    `total` and terms are tuples of arrays; each term is compared with its total.
    """
    epsilon = float(dtypes.finfo(total[0].dtype).eps) / 4

    def going_on(carry: tuple[Array, ...]) -> Value:
        k, _, _, active = carry
        return (k <= limit) & active

    def body(carry: tuple[Array, S, tuple[Array, ...], Array]) -> tuple[Array, S, tuple[Array, ...], ArrayLike]:
        k, state, total, _ = carry
        state, terms = step(k.astype(total[0].dtype), state)
        active: Array | bool = False
        for term, whole in zip(terms, total):
            active = active | (abs(term) > epsilon * abs(whole)).any()
        return k + 1, state, tuple([whole + term for whole, term in zip(total, terms)]), active

    return while_loop(going_on, body, (np.int32(1), first, total, np.bool_(True)))[2]
