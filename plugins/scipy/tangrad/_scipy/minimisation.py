"""Minima of smooth functions: `tangrad.scipy.optimize.minimize`.

Source: Nocedal and Wright, Numerical Optimization, Springer 2006: algorithms 3.5 and 3.6 (line search for the strong
Wolfe conditions), 6.1 (BFGS) and 7.4 (L-BFGS).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import tangrad.numpy as tnp
from tangrad.autodiff import value_and_grad
from tangrad.core import Array, Literal, dtypes
from tangrad.extend.lax import cond, fori_loop, while_loop
from tangrad.extend.numpy import asarray, is_complex
from tangrad.typing import ArrayLike, Value, Values

Function = Callable[[Array], tuple[Array, Array]]  # x -> value and gradient

_DECREASE, _CURVATURE = 1e-4, 0.9
_CONVERGED, _ITERATIONS, _LINE_SEARCH = 0, 1, 5
_BFGS_OPTIONS = {"maxiter": None, "gtol": 1e-5, "norm": np.inf, "line_search_maxiter": 20}
_LBFGS_OPTIONS = {
    "maxiter": None,
    "gtol": 1e-5,
    "norm": np.inf,
    "maxcor": 10,
    "ftol": 2.220446049250313e-09,
    "maxfun": None,
    "maxgrad": None,
    "maxls": 20,
}


class OptimizeResults(NamedTuple):
    """What `minimize` returns.

    Attributes:
        x: where the search ended.
        success: whether it converged.
        status: 0 if it did, 1 for too many iterations, 5 where no step along the direction of descent was found.
        fun: the value there.
        jac: the gradient there.
        hess_inv: an estimate of the inverse of the Hessian; None where the method has none.
        nfev, njev: how often value and gradient were computed.
        nit: how many steps there were.
    """

    x: Array
    success: object
    status: Array
    fun: Array
    jac: object
    hess_inv: object
    nfev: object
    njev: object
    nit: object


class _Point(NamedTuple):
    """A place along a direction: how far, the value, the slope along it, the gradient."""

    step: Value
    value: Array
    slope: Array
    gradient: Array


class _Search(NamedTuple):
    """A line search: the best point so far, the other end of the interval, whether that is known, and the end."""

    low: _Point
    high: _Point
    bracketed: Array
    done: Array
    trial: Array | Literal  # the step to try next
    count: Any


def _line_search(function: Function, x: Value, direction: Value, start: _Point, first: Value, limit: int) -> _Search:
    """Look for a step that meets the strong Wolfe conditions."""

    def evaluate(step: Value) -> _Point:
        value, gradient = function(x + step * direction)
        return _Point(step, value, tnp.dot(gradient, direction), gradient)

    def pick(condition: Value, one: _Point, other: _Point) -> _Point:
        return _Point(*[tnp.where(condition, a, b) for a, b in zip(one, other)])

    def going_on(search: _Search) -> Value:
        return ~search.done & (search.count < limit)

    def step(search: _Search) -> _Search:
        low, high = search.low, search.high
        point = evaluate(search.trial)
        # NaN is above everything.
        below = point.value <= start.value + _DECREASE * point.step * start.slope
        above = ~(below & ((point.value < low.value) | (low.step == 0)))
        done = ~above & (abs(point.slope) <= -_CURVATURE * start.slope)
        outward = point.slope * tnp.where(search.bracketed, high.step - low.step, 1.0) >= 0
        # A point that is too high ends the interval; one that is lower begins it, and one that descends to the old
        # beginning leaves that as its end.
        new_high = pick(above, point, pick(outward, low, high))
        new_low = pick(above, low, point)
        bracketed = search.bracketed | above | outward
        trial = tnp.where(bracketed, _between(new_low, new_high), 2 * search.trial)
        return _Search(new_low, new_high, bracketed, done, trial, search.count + 1)

    zero = tnp.zeros((), bool)
    return while_loop(going_on, step, _Search(start, start, zero, zero, first, tnp.zeros((), int)))


def _between(low: _Point, high: _Point) -> Value:
    """The minimum of the parabola through two values and the slope at the first; the middle where it is near an end."""
    width = high.step - low.step
    bend = high.value - low.value - low.slope * width
    share = -0.5 * low.slope * width / tnp.where(bend > 0, bend, 1)
    usable = (bend > 0) & (share > 0.1) & (share < 0.9)
    return low.step + width * tnp.where(usable, share, 0.5)


class _State(NamedTuple):
    x: Array
    value: Array
    gradient: Array
    model: Any  # what the method knows of the curvature
    status: Array  # -1 while the search goes on
    evaluations: Value
    steps: Value


class _Dense(NamedTuple):
    """The inverse of the Hessian as a matrix."""

    inverse: Array

    def direction(self, gradient: Value) -> Value:
        return -self.inverse @ gradient

    def updated(self, move: Value, change: Array, first: Value) -> _Dense:
        curvature = tnp.dot(move, change)
        safe = tnp.where(curvature > 0, curvature, 1)
        identity = tnp.eye(move.shape[0], dtype=move.dtype)
        # Before the first update the matrix takes the size that the curvature has (6.20).
        scale = safe / tnp.maximum(tnp.dot(change, change), float(dtypes.finfo(move.dtype).tiny))
        inverse = tnp.where(first, scale * identity, self.inverse)
        left = identity - tnp.outer(move, change) / safe
        inverse = left @ inverse @ left.T + tnp.outer(move, move) / safe
        return _Dense(tnp.where(curvature > 0, inverse, self.inverse))


class _Limited(NamedTuple):
    """The last moves and changes of the gradient, the newest last; and 1 / their product, 0 where there is none."""

    moves: Array
    changes: Array
    weights: Array

    def direction(self, gradient: Value) -> Value:
        count = self.weights.shape[0]

        def down(i: Value, carry: Values) -> Values:
            vector, shares = carry
            k = count - 1 - i
            share = self.weights[k] * tnp.dot(self.moves[k], vector)
            return vector - share * self.changes[k], shares.at[k].set(share)

        vector, shares = fori_loop(0, count, down, (gradient, tnp.zeros_like(self.weights)))
        squares = tnp.dot(self.changes[-1], self.changes[-1])
        known = self.weights[-1] > 0
        scale = 1 / (tnp.where(known, self.weights[-1], 1) * tnp.where(known, squares, 1))
        vector = vector * tnp.where(known, scale, 1)

        def up(k: Value, vector: Value) -> Value:
            share = self.weights[k] * tnp.dot(self.changes[k], vector)
            return vector + self.moves[k] * (shares[k] - share)

        return -fori_loop(0, count, up, vector)

    def updated(self, move: Value, change: Array, first: Value) -> _Limited:
        del first
        curvature = tnp.dot(move, change)
        weight = 1 / tnp.where(curvature > 0, curvature, 1)
        new = [
            tnp.concatenate([old[1:], value[None]])
            for old, value in ((self.moves, move), (self.changes, change), (self.weights, weight))
        ]
        return _Limited(*[tnp.where(curvature > 0, one, other) for one, other in zip(new, self)])


def _descend(
    function: Function, x: Array, model: _Dense | _Limited, options: Mapping[str, Any], evaluations: int | None
) -> _State:
    """Steps along the directions of a model until the gradient is small."""
    limit = 200 * x.shape[0] if options["maxiter"] is None else options["maxiter"]
    within = options.get("line_search_maxiter", options.get("maxls"))
    least = options.get("ftol", 0.0)

    def small(gradient: Value) -> Value:
        return tnp.linalg.norm(gradient, options["norm"]) < options["gtol"]

    def going_on(state: _State) -> Value:
        return state.status < 0

    def step(state: _State) -> _State:
        direction = state.model.direction(state.gradient)
        slope = tnp.dot(state.gradient, direction)
        first = state.steps == 0
        start = _Point(tnp.zeros_like(state.value), state.value, slope, state.gradient)
        length = tnp.where(first, tnp.minimum(1, 1 / tnp.linalg.norm(state.gradient)), 1).astype(x.dtype)
        search = _line_search(function, state.x, direction, start, length, within)
        point = search.low
        move = point.step * direction
        moved = point.step > 0
        model = state.model.updated(move, point.gradient - state.gradient, first)
        model = cond(moved, lambda: model, lambda: state.model)
        steps, count = state.steps + moved, state.evaluations + search.count
        drop = state.value - point.value
        flat = moved & (drop <= least * tnp.maximum(tnp.maximum(abs(state.value), abs(point.value)), 1)) & (least > 0)
        status = tnp.where(steps >= limit, _ITERATIONS, -1)
        status = tnp.where(evaluations is not None and count >= (evaluations or 0), _ITERATIONS, status)
        status = tnp.where(moved, status, _LINE_SEARCH)
        status = tnp.where(small(point.gradient) | flat, _CONVERGED, status)
        return _State(state.x + move, point.value, point.gradient, model, status, count, steps)

    value, gradient = function(x)
    status = tnp.where(small(gradient), _CONVERGED, _ITERATIONS if limit < 1 else -1)
    one, zero = tnp.ones((), int), tnp.zeros((), int)
    return while_loop(going_on, step, _State(x, value, gradient, model, status, one, zero))


def _options(
    method: str, known: Mapping[str, object], given: Mapping[str, object] | None, tol: object
) -> dict[str, Any]:
    chosen = dict(known)
    if tol is not None:
        chosen["gtol"] = tol
        if "ftol" in chosen:
            chosen["ftol"] = tol
    for name, value in (given or {}).items():
        if name not in known:
            raise TypeError(f"minimize: the method {method} has the options {', '.join(known)}, got {name!r}")
        chosen[name] = value
    return chosen


def minimize(
    fun: Callable[..., object],
    x0: ArrayLike,
    args: tuple[object, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, object] | None = None,
) -> OptimizeResults:
    """Look for a minimum of a smooth function of a vector.

    Args:
        fun: `fun(x, *args) -> value`, a number.
        x0: where to begin, a floating vector.
        args: further arguments of `fun`.
        method: "BFGS", or "L-BFGS" (also as "l-bfgs-experimental-do-not-rely-on-this") for vectors so long that a
            matrix is too large.
        tol: how small the gradient must be; None: what the options say.
        options: of BFGS: `maxiter` (None: 200 for each element), `gtol`, the `norm` of the gradient that must be below
            it, and `line_search_maxiter`. Of L-BFGS: `maxiter`, `gtol`, `norm`, `maxcor` (how many steps are
            remembered), `ftol` (below which relative decrease it ends), `maxfun`, `maxgrad`, `maxls`.

    Returns:
        The results, an `OptimizeResults`.

    Raises:
        TypeError: `args` is no tuple, an option is unknown, `x0` is complex.
        ValueError: `x0` is no vector, the value is no number, the method is unknown.

    Source: Nocedal and Wright, Numerical Optimization, Springer 2006.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.optimize import minimize
    >>> found = minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(2), method="BFGS")
    >>> np.round(found.x, 3)
    Array([3., 3.], dtype=float32)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, got {args!r}")
    start = asarray(x0)
    if not dtypes.issubdtype(start.dtype, np.inexact):
        start = start.astype(dtypes.default_float_dtype())
    if is_complex(start):
        raise TypeError(f"minimize: x0 must be real, got {start.aval.str_short()}")
    if start.ndim != 1:
        raise ValueError(f"minimize: x0 must have one dimension, got shape {start.shape}")

    def checked(x: Array) -> Array:
        value = asarray(fun(x, *args))
        if value.ndim:
            raise ValueError(f"minimize: fun must return a number, got an array of shape {value.shape}")
        return value.astype(start.dtype)

    function, size = value_and_grad(checked), start.shape[0]
    if str(method).lower() == "bfgs":
        chosen = _options("BFGS", _BFGS_OPTIONS, options, tol)
        state = _descend(function, start, _Dense(tnp.eye(size, dtype=start.dtype)), chosen, None)
        inverse = state.model.inverse
    elif str(method).lower() in ("l-bfgs", "l-bfgs-experimental-do-not-rely-on-this"):
        chosen = _options("L-BFGS", _LBFGS_OPTIONS, options, tol)
        memory = tnp.zeros((chosen["maxcor"], size), start.dtype)
        limits = [chosen[name] for name in ("maxfun", "maxgrad") if chosen[name] is not None]
        model = _Limited(memory, memory, tnp.zeros(chosen["maxcor"], start.dtype))
        state = _descend(function, start, model, chosen, min(limits) if limits else None)
        inverse = None
    else:
        raise ValueError(f"minimize: method must be 'BFGS' or 'L-BFGS', got {method!r}")
    success = (state.status == _CONVERGED) & tnp.isfinite(state.value)
    counts = state.evaluations, state.evaluations, state.steps
    return OptimizeResults(state.x, success, state.status, state.value, state.gradient, inverse, *counts)
