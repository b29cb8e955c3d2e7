"""Solutions of linear equations A(t) x(t) = b(t): A₀ x_k = b_k - Σ A_j x_{k-j}, so all are solved with A₀."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tangrad
import tangrad.numpy as np
from tangrad.core import RuleSet, jaxpr_as_function
from tangrad.extend.custom_rules import custom_linear_solve_p
from tangrad.extend.lax import solve_p, triangular_solve_p
from tangrad_taylor.arithmetic import array, coefficient, is_constant, minus
from tangrad_taylor.trace import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tangrad.core import Array, ClosedJaxpr, Primitive
    from tangrad.typing import ArrayLike, Value
    from tangrad_taylor.arithmetic import Series, Term

triangular, systems, solves = (RuleSet("taylor", api=1) for _ in range(3))


def _solved(primitive: Primitive[Array], multiply: Callable[..., Value]) -> Callable[..., Series]:
    """The rule of a primitive of a matrix and a right side; `multiply(a_j, x, **params)`: that of a change of A."""

    def rule(series: Sequence[Series], **params: object) -> Series:
        a, b = series
        # Linear in b: its linear part keeps factors of A.
        out, solve = tangrad.linearize(lambda b: primitive.bind(a[0], b, **params), b[0])
        xs: list[Term] = [out]
        for k in range(1, len(b)):
            known = coefficient([None, *a[1:]], xs, k, lambda a, x: multiply(a, x, **params))
            rest = minus(b[k], known)
            xs.append(None if rest is None else solve(rest))
        return out, *xs[1:]

    return rule


def _times_triangle(
    a: ArrayLike,
    x: ArrayLike,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Array:
    """A change of the triangle times a solution; a diagonal that is 1 does not change."""
    offset = 1 if unit_diagonal else 0
    a = np.tril(a, -offset) if lower else np.triu(a, offset)
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    a = np.conj(a) if conjugate_a else a
    return _product(a, x) if left_side else _product(x, a)


def _product(x: ArrayLike, y: ArrayLike) -> Array:
    return np.matmul(x, y, precision="highest")


triangular.add(triangular_solve_p, _solved(triangular_solve_p, _times_triangle))
systems.add(solve_p, _solved(solve_p, _product))


@solves.rule(custom_linear_solve_p)
def _linear_solve(series: Sequence[Series], *, num_consts: tuple[int, ...], **programs: ClosedJaxpr) -> list[Series]:
    """Likewise, with A x by the program `matvec`, whose series may depend on what it closed over in any way."""

    def bound(b: Iterable[Value]) -> tuple[Array, ...]:
        return custom_linear_solve_p.bind(*consts, *b, num_consts=num_consts, **programs)

    count = len(programs["matvec"].out_avals)
    of_matvec, b = series[: num_consts[0]], series[len(series) - count :]
    consts = [one[0] for one in series[: len(series) - count]]
    matvec = programs["matvec"]
    outs = bound([one[0] for one in b])
    xs: list[Series] = [(out,) for out in outs[:count]]
    for k in range(1, len(series[0])):
        known: list[Term] = [None] * count
        found: Sequence[Term] = [None] * count
        if not is_constant(*of_matvec):
            changes: list[Series] = [(one[0], *one[1 : k + 1]) for one in of_matvec]
            so_far: list[Series] = [(*x, None) for x in xs]
            products = run(jaxpr_as_function(matvec), [*changes, *so_far], k)
            known = [product[k] for product in products]
        rest = [minus(one[k], product) for one, product in zip(b, known)]
        if not all([term is None for term in rest]):
            found = bound([array(term, one[0]) for term, one in zip(rest, b)])
        xs = [(*x, term) for x, term in zip(xs, found)]
    auxiliary: list[Series] = [(out, *[None] * (len(series[0]) - 1)) for out in outs[count:]]
    return [*xs, *auxiliary]
