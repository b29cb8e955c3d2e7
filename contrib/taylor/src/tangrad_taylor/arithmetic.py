"""Arithmetic of coefficients, where None is 0, and products of series."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tangrad.autodiff import zeros
from tangrad.core import literal
from tangrad.extend.lax import add_p, div_p, mul_p, neg_p, sub_p

if TYPE_CHECKING:
    from tangrad.core import Literal


def is_constant(*series: Any) -> bool:
    """Whether series have no coefficient but the first."""
    return all([term is None for one in series for term in one[1:]])


def plus(x: Any, y: Any) -> Any:
    """x + y."""
    return y if x is None else x if y is None else add_p.bind(x, y)


def minus(x: Any, y: Any) -> Any:
    """x - y."""
    return x if y is None else neg_p.bind(y) if x is None else sub_p.bind(x, y)


def times(x: Any, y: Any) -> Any:
    """x y."""
    return None if x is None or y is None else mul_p.bind(x, y)


def scaled(number: float, x: Any) -> Any:
    """A number times x."""
    return x if x is None or number == 1 else mul_p.bind(number_like(number, x), x)


def number_like(number: float, x: Any) -> Literal:
    """A number of the dtype of x."""
    return literal(number, x.aval.dtype, True)


def total(terms: Iterable[Any]) -> Any:
    """The sum."""
    out = None
    for term in terms:
        out = plus(out, term)
    return out


def array(term: Any, like: Any) -> Any:
    """A coefficient; an array of zeros, of the type of `like`, for None."""
    return zeros(like.aval) if term is None else term


def coefficient(xs: Any, ys: Any, k: int, product: Any = times) -> Any:
    """The k-th coefficient of a product: the sum of x_j y_{k-j}. Series may be shorter than that."""
    places = range(max(0, k + 1 - len(ys)), min(k + 1, len(xs)))
    return total(None if xs[j] is None or ys[k - j] is None else product(xs[j], ys[k - j]) for j in places)


def square_coefficient(xs: Any, k: int) -> Any:
    """The k-th coefficient of a square: each pair of factors once."""
    pairs = scaled(2, total(times(xs[j], xs[k - j]) for j in range((k + 1) // 2)))
    return pairs if k % 2 else plus(pairs, times(xs[k // 2], xs[k // 2]))


def multiplied(xs: Any, ys: Any) -> tuple[Any, ...]:
    """The product of two series."""
    if xs is ys:
        return tuple([square_coefficient(xs, k) for k in range(len(xs))])
    return tuple([coefficient(xs, ys, k) for k in range(len(xs))])


def divided(xs: Any, ys: Any) -> tuple[Any, ...]:
    """The quotient w of two series, from x = w y (Griewank and Walther 2008, table 13.1)."""
    ws: list[Any] = []
    for k, x in enumerate(xs):
        rest = minus(x, coefficient(ws, ys, k))
        ws.append(None if rest is None else div_p.bind(rest, ys[0]))
    return tuple(ws)
