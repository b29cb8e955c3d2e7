"""Samples of solves, for the conformance kit. They are of double precision, as derivatives are checked in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tangrad._custom_rules.linear_solves import custom_linear_solve
from tangrad._custom_rules.roots import custom_root
from tangrad._custom_rules.solves import custom_linear_solve_p, custom_root_p
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import Primitive, find_primitive, literal


def _bind(name: str, *args: Any) -> Any:
    return find_primitive(f"elementwise.{name}").bind(*args)


def _number(value: float) -> Any:
    return literal(value, np.dtype("float64"), False)


def samples() -> list[Sample]:
    """All of them: a diagonal system, one with auxiliary values and without transpose, and a root."""
    diagonal = draw(2, 3, low=1.0, high=2.0, dtype="float64")
    b = draw(2, 3, dtype="float64", seed=1)
    return [_linear(diagonal, b, True), _linear(diagonal, b, False), _root(diagonal)]


def _tied(
    primitive: Primitive, run: Callable[..., Any], *values: np.ndarray, without: Mapping[str, str] | None = None
) -> Sample:
    """A sample with `values` as arguments: several programs of a solve close over the same value, and it can only
    change for all of them at once.
    """
    found, params = recorded(primitive, lambda: run(*values))
    operands = [np.asarray(operand) for operand in found]  # of no backend
    sources = [next((i for i, v in enumerate(values) if np.array_equal(operand, v)), None) for operand in operands]

    def enter(*args: Any) -> Any:
        pairs = zip(operands, sources, strict=True)
        return tuple([operand if source is None else args[source] for operand, source in pairs])

    return Sample(primitive, values, params, enter=enter, without=without or {})


def _linear(diagonal: np.ndarray, b: np.ndarray, transposable: bool) -> Sample:
    def run(diagonal: Any, b: Any) -> Any:
        divide = lambda _, y: _bind("div", y, diagonal)
        with_aux = lambda _, y: (_bind("div", y, diagonal), _bind("neg", diagonal))
        solve: Any = divide if transposable else with_aux
        matvec = lambda x: _bind("mul", diagonal, x)
        return custom_linear_solve(matvec, b, solve, symmetric=transposable, has_aux=not transposable)

    why = "the transposed equation has no solver"
    without = {} if transposable else {"transpose": why, "second": why, "jvp": "auxiliary values have no tangents"}
    return _tied(custom_linear_solve_p, run, diagonal, b, without=without)


def _root(a: Any) -> Sample:
    """The square root of `a`, by Newton's method."""

    def run(a: Any) -> Any:
        def f(x: Any) -> Any:
            return _bind("sub", _bind("mul", x, x), a)

        def newton(f: Any, x: Any) -> Any:
            for _ in range(6):
                x = _bind("sub", x, _bind("div", f(x), _bind("mul", x, _number(2.0))))
            return x

        # The derivative of f is diagonal: applied to ones it gives the diagonal.
        return custom_root(f, np.full(a.shape, 1.3), newton, lambda g, y: _bind("div", y, g(np.ones(a.shape))))

    return _tied(custom_root_p, run, a)
