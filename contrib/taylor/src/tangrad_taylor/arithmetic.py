"""Arithmetic of coefficients, where None is 0, and products of series."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tangrad.autodiff import zeros
from tangrad.core import literal
from tangrad.extend.lax import add_p, div_p, mul_p, neg_p, sub_p

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from tangrad.core import Literal
    from tangrad.typing import Value

    Term: TypeAlias = Value | None
    Terms: TypeAlias = Sequence[Term]
    Series: TypeAlias = tuple[Value, *tuple[Term, ...]]


def is_constant(*series: Terms) -> bool:
    """Whether series have no coefficient but the first."""
    return all([term is None for one in series for term in one[1:]])


def plus(x: Term, y: Term) -> Term:
    """x + y."""
    return y if x is None else x if y is None else add_p.bind(x, y)


def minus(x: Term, y: Term) -> Term:
    """x - y."""
    return x if y is None else neg_p.bind(y) if x is None else sub_p.bind(x, y)


def times(x: Term, y: Term) -> Term:
    """x y."""
    return None if x is None or y is None else mul_p.bind(x, y)


def scaled(number: float, x: Term) -> Term:
    """A number times x."""
    return x if x is None or number == 1 else mul_p.bind(number_like(number, x), x)


def number_like(number: float, x: Value) -> Literal:
    """A number of the dtype of x."""
    return literal(number, x.aval.dtype, True)


def total(terms: Iterable[Term]) -> Term:
    """The sum."""
    out: Term = None
    for term in terms:
        out = plus(out, term)
    return out


def array(term: Term, like: Value) -> Value:
    """A coefficient; an array of zeros, of the type of `like`, for None."""
    return zeros(like.aval) if term is None else term


def coefficient(xs: Terms, ys: Terms, k: int, product: Callable[[Value, Value], Term] = times) -> Term:
    """The k-th coefficient of a product: the sum of x_j y_{k-j}. Series may be shorter than that."""
    places = range(max(0, k + 1 - len(ys)), min(k + 1, len(xs)))
    pairs = [(xs[j], ys[k - j]) for j in places]
    return total(None if x is None or y is None else product(x, y) for x, y in pairs)


def square_coefficient(xs: Terms, k: int) -> Term:
    """The k-th coefficient of a square: each pair of factors once."""
    pairs = scaled(2, total(times(xs[j], xs[k - j]) for j in range((k + 1) // 2)))
    return pairs if k % 2 else plus(pairs, times(xs[k // 2], xs[k // 2]))


def multiplied(xs: Series, ys: Series) -> Series:
    """The product of two series."""
    orders, first = range(1, len(xs)), mul_p.bind(xs[0], ys[0])
    if xs is ys:
        return first, *[square_coefficient(xs, k) for k in orders]
    return first, *[coefficient(xs, ys, k) for k in orders]


def divided(xs: Series, ys: Series) -> Series:
    """The quotient w of two series, from x = w y (Griewank and Walther 2008, table 13.1)."""
    first = div_p.bind(xs[0], ys[0])
    ws: list[Term] = [first]
    for k, x in enumerate(xs[1:], 1):
        rest = minus(x, coefficient(ws, ys, k))
        ws.append(None if rest is None else div_p.bind(rest, ys[0]))
    return first, *ws[1:]
