"""`odeint`: the states of a system of ordinary differential equations at given times, and the adjoint of that."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack, overload

import numpy as np

import tangrad.numpy as tnp
from tangrad import closure_convert, custom_vjp, lax, tree, vjp, vmap
from tangrad.core import Array, api_boundary, array_leaves, as_array, dtypes, is_array_value
from tangrad.flatten_util import ravel_pytree
from tangrad.typing import ArrayLike, PyTree, Value, Values

# ----------------------------------------------------------------------------------------------------------------------
# One step of the Runge–Kutta pair of Dormand and Prince, of orders 5 and 4, and its continuous extension. Dormand and
# Prince, A family of embedded Runge–Kutta formulae, J. Comput. Appl. Math. 6 (1980); the interpolant of order 4 is that
# of Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, 2nd ed. (1993), section II.6.


Dynamics = Callable[[Value, Value], Value]
Options = tuple[float, float, float, float]  # rtol, atol, mxstep, hmax

ORDER = 5

# When each stage is, and what it weights the slopes before it with.
TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),  # the last stage is the step itself
)
# The weights of order 5 less those of order 4: their sum estimates the error.
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)


class Step(NamedTuple):
    """A step that was tried.

    Attributes:
        y: the state at its end.
        slope: the derivative there, the first slope of the next step.
        error: the estimated error of each component.
        interpolant: what `interpolate` needs.
    """

    y: Value
    slope: Value
    error: Value
    interpolant: tuple[Value, ...]


def step(dynamics: Dynamics, y: Value, slope: Value, t: Value, size: Value) -> Step:
    """Go from `y` at time `t`, where the derivative is `slope`, a step further."""
    along = size.astype(y.dtype)
    slopes = [slope]
    for time, weights in zip(TIMES, STAGES, strict=True):
        end = y + along * _weighted(weights, slopes)
        slopes.append(dynamics(end, t + time * size))
    straight = end - y
    start = along * slopes[0] - straight
    stop = straight - along * slopes[-1] - start
    bend = along * _weighted(DENSE, slopes)
    return Step(end, slopes[-1], along * _weighted(ERROR, slopes), (y, straight, start, stop, bend))


def _weighted(weights: tuple[float, ...], slopes: list[Value]) -> Value:
    total = weights[0] * slopes[0]
    for weight, slope in zip(weights[1:], slopes[1:], strict=True):
        if weight:
            total = total + weight * slope
    return total


def interpolate(interpolant: Values, part: Value) -> Array:
    """The state within a step, `part` of the way from its beginning (0) to its end (1)."""
    y, straight, start, stop, bend = interpolant
    part = tnp.asarray(part).astype(y.dtype)
    rest = 1 - part
    return y + part * (straight + rest * (start + part * (stop + rest * bend)))


# ----------------------------------------------------------------------------------------------------------------------
# How large steps are: Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I (1993), section II.4.


SAFETY = 0.9  # the next step is to be accepted even where the error is somewhat larger than estimated
LEAST, MOST = 0.2, 10.0  # how much smaller or larger the next step may be


def norm(values: Value, scale: Value) -> Array:
    """The root mean square of values in units of `scale`."""
    if not values.size:
        return tnp.zeros((), scale.dtype)
    return tnp.sqrt(tnp.mean((tnp.abs(values) / scale) ** 2))


def scale_of(y: Value, other: Value, rtol: Any, atol: Any) -> Array:
    """How large an error of each component may be."""
    return atol + rtol * tnp.maximum(tnp.abs(y), tnp.abs(other))


def first_size(dynamics: Dynamics, y: Value, slope: Value, t: Value, rtol: object, atol: object) -> Array:
    """A first step whose error is about as large as it may be."""
    scale = scale_of(y, y, rtol, atol)
    position, speed = norm(y, scale), norm(slope, scale)
    is_small = (position < 1e-5) | (speed < 1e-5)
    guess = tnp.where(is_small, 1e-6, 0.01 * position / tnp.where(is_small, 1.0, speed)).astype(t.dtype)
    further = dynamics(y + guess.astype(y.dtype) * slope, t + guess)
    bend = norm(further - slope, scale) / guess
    largest = tnp.maximum(speed, bend)
    is_straight = largest <= 1e-15
    by_order = (0.01 / tnp.where(is_straight, 1.0, largest)) ** (1 / ORDER)
    size = tnp.where(is_straight, tnp.maximum(1e-6, guess * 1e-3), by_order)
    return tnp.minimum(100 * guess, size).astype(t.dtype)


def next_size(size: Value, error: Value) -> Array:
    """The size of the next step after one whose error was `error` times what it may be."""
    is_number = tnp.isfinite(error)
    known = tnp.where(is_number & (error > 0), error, 1.0)
    factor = tnp.where(error == 0, MOST, tnp.clip(SAFETY * known ** (-1 / ORDER), LEAST, MOST))
    factor = tnp.where(error > 1, tnp.minimum(factor, 1.0), factor)
    return size * tnp.where(is_number, factor, LEAST).astype(size.dtype)


# --- `odeint`: the states of a system at given times, and the adjoint of that -----------------------------------------
# The gradient is that of the exact solution, found by integrating a system backwards in time (Chen, Rubanova,
# Bettencourt and Duvenaud, Neural ordinary differential equations, 2018, appendix B): nothing of the way forward is
# kept but the states that were asked for.


T = TypeVar("T")


class Limits(TypedDict, total=False):
    rtol: float
    atol: float
    mxstep: float
    hmax: float


@overload
def odeint(
    func: Callable[..., PyTree], y0: ArrayLike, t: ArrayLike, *args: PyTree, **limits: Unpack[Limits]
) -> Array: ...
@overload
def odeint(func: Callable[..., PyTree], y0: T, t: ArrayLike, *args: PyTree, **limits: Unpack[Limits]) -> T: ...
@api_boundary
def odeint(
    func: Callable[..., object],
    y0: PyTree,
    t: ArrayLike,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> PyTree:
    """The solution of dy/dt = func(y, t, *args) with y(t[0]) = y0, at the times `t`.

    By the Runge–Kutta method of Dormand and Prince, of order 5, with steps as large as the tolerances allow, and an
    interpolant of order 4 between them. Differentiated in reverse mode, with respect to `y0`, `t`, `args` and what
    `func` closes over, by the adjoint equation, which is integrated with the same tolerances.

    Args:
        func: `func(y, t, *args)`, the derivative, a tree like `y0`.
        y0: the state at the first time: a tree of arrays of floats or complex numbers; integers become floats.
        t: the times, floats (n,), n > 0, each greater than the one before.
        args: trees of arrays for `func`.
        rtol, atol: the error of a step may be `atol + rtol * |y|`, as a root mean square over all components.
        mxstep: how many steps there may be between two of the times.
        hmax: the largest step, in the units of `t`.

    Returns:
        a tree like `y0`, with an axis of size n in front. NaN where a time was not reached: after `mxstep` steps, or
        where the steps became too small to go further.

    Raises:
        TypeError: for arguments that are no arrays, and where `func` returns what is unlike `y0`; ValueError: for times
            that are none, or have another number of dimensions than 1, and tolerances that are not positive.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.ode import odeint
    >>> decay = lambda y, t, rate: -rate * y
    >>> np.round(odeint(decay, 1.0, np.array([0.0, 1.0, 2.0]), 0.5), 4)
    Array([1.    , 0.6065, 0.3679], dtype=float32)
    """
    if not callable(func):
        raise TypeError(f"odeint expects a function, got {func!r} of type {type(func).__name__}")
    for name, value in (("rtol", rtol), ("atol", atol), ("mxstep", mxstep), ("hmax", hmax)):
        if not value > 0:
            raise ValueError(f"odeint: {name} must be positive, got {value!r}")
    array_leaves(args, "odeint: of args,", "expected arrays; func may close over anything else")
    leaves, treedef = array_leaves(y0, "odeint: y0")
    y0 = treedef.unflatten([_inexact(as_array(leaf)) for leaf in leaves])
    times = _times(t)
    flat, unravel = ravel_pytree(y0)
    converted, consts = closure_convert(_checked(func, y0), y0, times[0], *args)

    def dynamics(state: Value, time: Value, *given: object) -> Array:
        return ravel_pytree(converted(unravel(state), time, *given))[0]

    options = (float(rtol), float(atol), float(mxstep), float(hmax))
    states = _integrate(dynamics, options, flat, times, *args, *consts)
    return vmap(unravel)(states)


def _inexact(value: Array) -> Array:
    if dtypes.issubdtype(value.dtype, np.inexact):
        return value
    return value.astype(dtypes.canonicalize_dtype(np.float64))


def _times(t: ArrayLike) -> Array:
    leaves, treedef = array_leaves(t, "odeint: t")
    if treedef != tree.structure(0):
        raise TypeError(f"odeint: t must be an array, got {t!r}")
    times = _inexact(as_array(leaves[0]))
    if times.ndim != 1 or not times.size:
        raise ValueError(f"odeint: t must have one dimension and a time at least, got shape {times.shape}")
    if not dtypes.issubdtype(times.dtype, np.floating):
        raise TypeError(f"odeint: t must be real, got dtype {times.dtype}")
    return times


def _like(y: PyTree, slope: PyTree) -> PyTree:
    """What a function returned, where lists, tuples and arrays of the same numbers do for each other."""
    sequences = (list, tuple)
    if type(y) in sequences and (type(slope) in sequences or len(getattr(slope, "shape", ())) == 1):
        return type(y)(slope)
    if is_array_value(y) and y.shape and type(slope) in sequences and all([is_array_value(one) for one in slope]):
        return tnp.stack([tnp.asarray(one) for one in slope]) if slope else slope
    return slope


def _checked(func: Callable[..., PyTree], y0: PyTree) -> Callable[..., PyTree]:
    """The derivative, in the types of the state."""
    leaves, structure = tree.flatten(y0)

    def derivative(y: PyTree, t: Value, *args: object) -> PyTree:
        out = _like(y, func(y, t, *args))
        found, treedef = array_leaves(out, "odeint: func returned a tree, of which")
        if treedef != structure:
            raise TypeError(f"odeint: func must return a tree like y0, {structure}, got {treedef}")
        slopes = [as_array(leaf) for leaf in found]
        for position, (slope, leaf) in enumerate(zip(slopes, leaves, strict=True)):
            if slope.shape != leaf.shape:
                raise TypeError(
                    f"odeint: func must return arrays of the shapes in y0; leaf {position} is of shape {slope.shape}, "
                    f"expected {leaf.shape}"
                )
        return structure.unflatten([slope.astype(leaf.dtype) for slope, leaf in zip(slopes, leaves, strict=True)])

    return derivative


# --- forward ---------------------------------------------------------------------------------------------------------


def _forward(dynamics: Callable[..., Array], options: Options, y0: Array, times: Array, *args: object) -> Array:
    """The states at all times, an array (n, size of the state)."""
    rtol, atol, mxstep, hmax = options
    real = tnp.abs(y0).dtype
    slope_of: Dynamics = lambda y, t: dynamics(y, t, *args)
    limit = tnp.asarray(hmax, times.dtype)

    def unfinished(state: PyTree) -> Value:
        (count, _, _, t, size, _, _), target = state
        return (t < target) & (count < mxstep) & (t + size > t)

    def further(state: PyTree) -> PyTree:
        (count, y, slope, t, size, before, interpolant), target = state
        tried = step(slope_of, y, slope, t, size)
        error = norm(tried.error, scale_of(y, tried.y, rtol, atol))
        is_good = error <= 1
        keep = lambda new, old: tnp.where(is_good, new, old)
        return (
            (
                count + 1,
                keep(tried.y, y),
                keep(tried.slope, slope),
                keep(t + size, t),
                tnp.minimum(next_size(size, error), limit),
                keep(t, before),
                tuple([keep(new, old) for new, old in zip(tried.interpolant, interpolant, strict=True)]),
            ),
            target,
        )

    def to(carry: PyTree, target: Value) -> PyTree:
        (_, y, slope, t, size, before, interpolant), _ = lax.while_loop(
            unfinished, further, ((tnp.zeros((), real), *carry), target)
        )
        length = t - before
        part = (target - before) / tnp.where(length == 0, 1, length)
        state = interpolate(interpolant, part)
        reached = tnp.where(t >= target, state, tnp.full_like(state, np.nan))
        return (y, slope, t, size, before, interpolant), reached

    slope = slope_of(y0, times[0])
    size = tnp.minimum(first_size(slope_of, y0, slope, times[0], rtol, atol), limit)
    still = (y0, *[tnp.zeros_like(y0)] * 4)
    _, states = lax.scan(to, (y0, slope, times[0], size, times[0], still), times[1:])
    return tnp.concatenate([y0[None], states])


@partial(custom_vjp, nondiff_argnums=(0, 1))
def _integrate(dynamics: Callable[..., Array], options: Options, y0: Array, times: Array, *args: object) -> Array:
    return _forward(dynamics, options, y0, times, *args)


# --- backward --------------------------------------------------------------------------------------------------------


def _keep(
    dynamics: Callable[..., Array], options: Options, y0: Array, times: Array, *args: object
) -> tuple[Array, tuple[Array, Array, tuple[object, ...]]]:
    states = _integrate(dynamics, options, y0, times, *args)  # which is differentiated again by this rule
    return states, (states, times, args)


def _adjoint(
    dynamics: Callable[..., Array], options: Options, kept: tuple[Array, Array, tuple[PyTree, ...]], cotangents: Value
) -> tuple[PyTree, ...]:
    """The cotangents of the first state, the times and the arguments, of those of all states."""
    states, times, args = kept
    leaves, structure = tree.flatten(args)
    is_active = [bool(dtypes.issubdtype(as_array(leaf).dtype, np.inexact)) for leaf in leaves]
    active = [as_array(leaf) for leaf, flag in zip(leaves, is_active, strict=True) if flag]

    def with_active(values: Values) -> tuple[PyTree, ...]:
        given = iter(values)
        return structure.unflatten(
            [next(given) if flag else leaf for leaf, flag in zip(leaves, is_active, strict=True)]
        )

    zero_time = tnp.zeros((), times.dtype)
    example = (states[0], states[0], zero_time, [tnp.zeros_like(one) for one in active])
    _, unravel = ravel_pytree(example)

    def backward(flat: Value, reverse_time: Value, *given: Value) -> Array:
        """The derivatives, against time, of the state, its cotangent, and the cotangents that add up on the way."""
        y, y_bar, _, _ = unravel(flat)
        slope, pullback = vjp(lambda y, t, *of: dynamics(y, t, *with_active(of)), y, -reverse_time, *given)
        of_y, of_t, *of_args = pullback(y_bar)
        return ravel_pytree((-slope, of_y, of_t, of_args))[0]

    def between(carry: PyTree, interval: Values) -> PyTree:
        y_bar, first_bar, args_bar = carry
        y, time, before, cotangent, earlier = interval
        time_bar = tnp.real(tnp.sum(dynamics(y, time, *args) * cotangent)).astype(times.dtype)
        flat, _ = ravel_pytree((y, y_bar, first_bar - time_bar, args_bar))
        found = _integrate(backward, options, flat, tnp.stack([-time, -before]), *active)
        _, y_bar, first_bar, args_bar = unravel(found[1])
        return (y_bar + earlier, first_bar, args_bar), time_bar

    start = (cotangents[-1], *example[2:])
    intervals = (states[1:], times[1:], times[:-1], cotangents[1:], cotangents[:-1])
    (y_bar, first_bar, args_bar), times_bar = lax.scan(between, start, intervals, reverse=True)
    found = iter(args_bar)
    of_args = structure.unflatten([next(found) if flag else None for flag in is_active])
    return (y_bar, tnp.concatenate([first_bar[None], times_bar]), *of_args)


_integrate.defvjp(_keep, _adjoint)
