"""The transformation, its rule kind, and `jet`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tangrad.core import (
    RuleKind,
    Transformation,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    dtypes,
    returned_leaves,
)
from tangrad_taylor.arithmetic import array, scaled
from tangrad_taylor.derived import by_jvp, derived
from tangrad_taylor.trace import is_inexact, run

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value
    from tangrad_taylor.arithmetic import Series, Term

kind = RuleKind(
    "taylor",
    api=1,
    signature="(series, **params) -> series of the result, or a tuple of them",
    doc="truncated power series of the result, given those of the operands: tuples of coefficients, None for 0",
    derive=derived,
    default=by_jvp,
)
taylor = Transformation("taylor", api=1, kinds=(kind,), doc="derivatives of any order at once (jet)")


@api_boundary
def jet(
    fun: Callable[..., PyTree],
    primals: Sequence[PyTree],
    series: Sequence[Sequence[PyTree]],
    factorial_scaled: bool = True,
) -> tuple[PyTree, PyTree]:
    """The value of a function along a curve, and its derivatives there up to any order, in one pass.

    Where x(t) has the value `primals` and the derivatives `series` at t = 0, these are the value and the derivatives of
    fun(x(t)). A program of n operations takes of the order of n K² of them for K derivatives, where nested `jvp` takes
    n 2ᴷ: Bettencourt, Johnson, Duvenaud, Taylor-mode automatic differentiation for higher-order derivatives in JAX,
    2019.

    Args:
        fun: a function of trees of arrays of floating-point or complex numbers.
        primals: a tuple or list of its arguments.
        series: for each argument a tuple or list of derivatives by t: the first, the second, ...; each of the
            structure, shapes and dtypes of the argument, or None for one that is 0, with which nothing is computed
            then. All have one length, the order K.
        factorial_scaled: False: the terms are coefficients of the power series, derivatives divided by k!, and so are
            those of the result.

    Returns:
        `(primals_out, series_out)`: what `fun` returns, and the same tree with a list of K arrays for each array.

    Raises:
        TypeError: for arguments without derivatives, such as integers: close over them; for terms of other structures
            or dtypes than their argument. ValueError: for terms of other shapes, and other numbers of terms.
            MissingRuleError: for an operation without a rule, of which none can be derived.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.jet import jet
    >>> value, derivatives = jet(np.exp, (0.0,), ([1.0, None, None],))
    >>> float(value), [float(derivative) for derivative in derivatives]
    (1.0, [1.0, 1.0, 1.0])
    """
    if not callable(fun):
        raise TypeError(f"jet expects a function as its first argument, got {fun!r} of type {type(fun).__name__}")
    for name, given in (("primals", primals), ("series", series)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jet: {name} must be a tuple or list, got {given!r} of type {type(given).__name__}")
    if len(primals) != len(series):
        raise ValueError(f"jet: there are {len(primals)} primals, and series for {len(series)}")
    order = _order(series)
    flat_series: list[Series] = []
    structures = []
    for place, (primal, terms) in enumerate(zip(primals, series)):
        found, structure = _given(f"argument {place}", primal, terms, factorial_scaled)
        flat_series.extend(found)
        structures.append((structure, len(found)))
    returned = []

    def flat(*values: Value) -> list[Value]:
        rest = iter(values)
        args = [structure.unflatten([next(rest) for _ in range(count)]) for structure, count in structures]
        leaves, structure = returned_leaves(fun(*args), "jet: the function")
        returned.append(structure)
        return leaves

    outs = run(flat, flat_series, order)
    factors = [math.factorial(k) if factorial_scaled else 1 for k in range(1, order + 1)]
    lists = [[as_array(scaled(f, array(x, one[0]))) for f, x in zip(factors, one[1:])] for one in outs]
    return returned[0].unflatten([as_array(one[0]) for one in outs]), returned[0].unflatten(lists)


def _order(series: Sequence[Sequence[PyTree]]) -> int:
    """The number of terms that all series have."""
    for place, terms in enumerate(series):
        if not isinstance(terms, (tuple, list)):
            raise TypeError(
                f"jet: the series of argument {place} must be a tuple or list of terms, got {terms!r} of type "
                f"{type(terms).__name__}"
            )
    orders = [len(terms) for terms in series]
    if len(set(orders)) > 1:
        raise ValueError(f"jet: all series must have the same number of terms, got {orders}")
    return orders[0] if orders else 0


def _given(
    what: str, primal: PyTree, terms: Sequence[PyTree], factorial_scaled: bool
) -> tuple[list[Series], PyTreeDef]:
    """The series of an argument's leaves, and the argument's structure."""
    leaves, structure = array_leaves(primal, f"jet: {what}")
    values: list[Value] = [as_operand(leaf) for leaf in leaves]
    columns: list[list[Term]] = [[] for _ in values]
    for value in values:
        if not is_inexact(value):
            raise TypeError(
                f"jet: {what} has a leaf of type {value.aval.str_short()}, which has no derivatives; close over what "
                "is constant, or convert it to floating point"
            )
    for k, term in enumerate(terms, 1):
        if term is None:
            columns = [[*column, None] for column in columns]
            continue
        found, own = array_leaves(term, f"jet: term {k} of {what}")
        if own != structure:
            raise TypeError(f"jet: term {k} of {what} must have the structure of its primal, {structure}, got {own}")
        for column, value, one in zip(columns, values, found):
            x = _term(f"term {k} of {what}", as_operand(one), value)
            column.append(scaled(1 / math.factorial(k), x) if factorial_scaled else x)
    return [(value, *column) for value, column in zip(values, columns)], structure


def _term(what: str, term: Value, primal: Value) -> Value:
    """A term as a coefficient, of the type of its primal."""
    one, other = term.aval, primal.aval
    if one.shape != other.shape:
        raise ValueError(f"jet: {what} is of shape {one.shape}, its primal of shape {other.shape}")
    converts_freely = one.weak_type and dtypes.promote_types(one.dtype, other.dtype) == other.dtype
    if one.dtype != other.dtype and not converts_freely:
        raise TypeError(f"jet: {what} is of type {one.str_short()}, its primal of type {other.str_short()}")
    return term if one.dtype == other.dtype else as_array(term).astype(other.dtype)
