"""Derivatives at 0, 1 and -1, at ties, and where there is none: formulas divide by zero, and functions have kinks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tangrad import use_backend
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import Mismatch, as_numpy
from tangrad._conformance.point import Point, point_of, product
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import JaxprEqn, Literal, as_array, decomposition_jaxpr, get_aval, rule_table

if TYPE_CHECKING:
    from tangrad.core import Array, Var


STEPS = ((1e-5, 1e-6), (1e-7, 1e-8), (1e-9, 1e-10))  # a limit is where both of a pair give the same
TOLERANCE = 1e-3
FEW = 4  # elements with a kink: all combinations of their sides are met by
AROUND = 96  # points at each distance
WITHIN = 1e-2  # of that distance, on both sides of a point
Bounds = tuple[np.ndarray, np.ndarray]


def _filled_in(kinks: np.ndarray, added: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.where((kinks <= FEW) & np.isfinite(added), seen, added)


def one_sided(
    at: Sequence[np.ndarray], far: Sequence[np.ndarray], near: Sequence[np.ndarray], steps: tuple[float, float]
) -> list[np.ndarray]:
    """The derivatives from one side, of values there and at two steps; NaN where the differences have no limit."""
    found = []
    for x, y, z in zip(at, far, near):
        coarse, fine = (y - x) / steps[0], (z - x) / steps[1]
        limit = np.abs(coarse - fine) <= TOLERANCE * (1 + np.abs(fine))
        unknown = complex(np.nan, np.nan) if fine.dtype.kind == "c" else np.nan
        found.append(np.where(limit & np.isfinite(fine), fine, unknown))
    return found


def bounds(point: Point) -> list[Bounds]:
    """For each inexact result the least and the greatest derivative in the point's direction; NaN where unknown.

    Where few elements have a kink it is seen from all sides: max(x, y) is x or y, at a tie too, and not both.
    """
    outs = point.inexact(point.results)
    total: list[Bounds] = [(np.zeros_like(x), np.zeros_like(x)) for x in outs]
    kinks = [np.zeros(x.shape, int) for x in outs]
    for place, tangent in enumerate(point.tangents):
        for index in np.ndindex(tangent.shape):
            sides = _of_element(point, place, index)
            total = [(low + x, high + y) for (low, high), (x, y) in zip(total, sides, strict=True)]
            kinks = [n + (np.abs(y - x) > TOLERANCE * (1 + np.abs(x))) for n, (x, y) in zip(kinks, sides)]
    if all([(count > FEW).all() for count in kinks]):
        return total
    return [
        (_filled_in(n, added[0], seen[0]), _filled_in(n, added[1], seen[1]))
        for n, added, seen in zip(kinks, total, _from_around(point), strict=True)
    ]


def _from_around(point: Point) -> list[Bounds]:
    """The least and the greatest derivative at points near by, in all directions from this one."""
    rng, found = np.random.default_rng(5), []
    for scale, _ in STEPS:
        for _turn in range(AROUND):
            offsets = [scale * rng.uniform(0.5, 1, x.shape) * rng.choice([-1, 1], x.shape) for x in point.tangents]
            at = [primal + offset for primal, offset in zip(point.primals, offsets)]
            with use_backend(reference_backend()):
                ahead, behind = [
                    as_numpy(point.function(*[x + sign * WITHIN * scale * t for x, t in zip(at, point.tangents)]))
                    for sign in (1, -1)
                ]
            found.append([(x - y) / (2 * WITHIN * scale) for x, y in zip(ahead, behind)])
    return [_extremes(np.stack(values)) for values in zip(*found, strict=True)]


def _of_element(point: Point, place: int, index: tuple[int, ...]) -> list[Bounds]:
    """The least and the greatest derivative as one element is moved alone, over all steps that have a limit."""
    direction = [np.zeros_like(tangent) for tangent in point.tangents]
    direction[place][index] = point.tangents[place][index]
    at, sides = point.inexact(point.results), []
    for steps in STEPS:
        for sign in (-1, 1):
            with use_backend(reference_backend()):
                far, near = [as_numpy(point.function(*_moved(point, sign * step, direction))) for step in steps]
            sides.append(one_sided(at, far, near, (sign * steps[0], sign * steps[1])))
    return [_extremes(np.stack(values)) for values in zip(*sides, strict=True)]


def _moved(point: Point, step: float, direction: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple([primal + step * part for primal, part in zip(point.primals, direction)])


def _extremes(values: np.ndarray) -> Bounds:
    """The least and the greatest, of complex numbers in each part; NaN only where all of them are."""
    if values.dtype.kind != "c":
        return np.fmin.reduce(values), np.fmax.reduce(values)
    (low, high), (below, above) = _extremes(values.real), _extremes(values.imag)
    return low + 1j * below, high + 1j * above


# --- parts of a decomposition ----------------------------------------------------------------------------------------


def has_kinks_inside(point: Point) -> bool:
    """Whether the derivative is derived from a decomposition, a part of which has a kink at what it is given there."""
    primitive, sample = point.sample.primitive, point.sample
    if primitive.decompose is None or sample.axes or rule_table("jvp").cell(primitive).status == "rule":
        return False
    with use_backend(reference_backend()):
        operands = [as_array(value) for value in sample.operands(*point.args)]
        closed = decomposition_jaxpr(primitive, tuple([get_aval(value) for value in operands]), dict(sample.params))
        values = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, *operands]))
        return any([_runs_with_kink(equation, values) for equation in closed.jaxpr.eqns])


def _runs_with_kink(equation: JaxprEqn, values: dict[Var, Array]) -> bool:
    """Run an equation, and say whether one side of it has other derivatives than the other."""
    operands = [_value_of(atom, values) for atom in equation.invars]
    results = _applied(equation, operands)
    values.update(zip(equation.outvars, results, strict=True))
    arrays, at = as_numpy(operands), as_numpy(results)
    rng = np.random.default_rng(11)
    directions = [rng.normal(size=array.shape) if array.dtype.kind in "fc" else None for array in arrays]
    sides = []
    for sign in (-1, 1):
        moved = [
            [x if d is None else np.asarray(x + sign * step * d, x.dtype) for x, d in zip(arrays, directions)]
            for step in STEPS[0]
        ]
        far, near = [as_numpy(_applied(equation, [as_array(value) for value in one])) for one in moved]
        kept = [position for position, one in enumerate(at) if one.dtype.kind in "fc"]
        here, there, nearer = [[one[position] for position in kept] for one in (at, far, near)]
        sides.append(one_sided(here, there, nearer, (sign * STEPS[0][0], sign * STEPS[0][1])))
    return any([(np.abs(x - y) > TOLERANCE * (1 + np.abs(x))).any() for x, y in zip(*sides, strict=True)])


def _value_of(atom: Var | Literal, values: dict[Var, Array]) -> Array:
    return as_array(atom.ndarray) if isinstance(atom, Literal) else values[atom]


def _applied(equation: JaxprEqn, operands: Sequence[Array]) -> tuple[Array, ...]:
    result = equation.primitive.bind(*operands, **equation.params)
    return tuple(result) if equation.primitive.multiple_results else (result,)


Cells = Iterator[tuple[str, Callable[[], None]]]

SPECIAL = (0.0, 1.0, -1.0)


def check_points(sample: Sample) -> Cells:
    """The derivative at special points of each operand, and where all operands have the same."""
    point = point_of(sample, 1) if not carries_program(sample) else None
    if point is None:
        return
    places = [position for position in point.active if point.args[position].size]
    choices = [(f"operand {position}", [position]) for position in places]
    if len(places) > 1:
        choices.append(("all operands", places))
    for subject, positions in choices:
        least = min([point.args[position].size for position in positions])
        turns = range(1 if least >= len(SPECIAL) else len(SPECIAL))
        for turn in turns:
            values = f" from {SPECIAL[turn]:g}" if len(turns) > 1 else ""
            yield f"{subject} at 0, 1, -1{values}", partial(_check_point, point, positions, turn)


def _special_args(point: Point, positions: list[int], turn: int) -> list[np.ndarray]:
    args = list(point.args)
    for position in positions:
        arg = args[position]
        args[position] = np.resize(np.roll(SPECIAL, -turn), arg.size).reshape(arg.shape).astype(arg.dtype)
    return args


def _check_point(usual: Point, positions: list[int], turn: int) -> None:
    point = usual.at(_special_args(usual, positions, turn))
    with np.errstate(all="ignore"):
        if "jvp" not in point.sample.without:
            _check_forward(point)
        _check_backward(point)


def _check_forward(point: Point) -> None:
    """Between the derivatives from either side; where it is not, between those that kinks allow."""
    behind, ahead = [_limits(point, sign) for sign in (-1, 1)]
    sides = [_ordered(x, y) for x, y in zip(behind, ahead, strict=True)]
    found = point.forward.derivatives
    if any([_beyond(x, *side).any() for x, side in zip(found, sides, strict=True)]):
        sides = [_wider(*pair) for pair in zip(sides, bounds(point), strict=True)]
        is_free = any([_beyond(x, *side).any() for x, side in zip(found, sides)]) and has_kinks_inside(point)
        for position, (x, side) in enumerate(zip(found, sides)):
            wrong = _beyond(x, *side) & ~(np.isfinite(x) & is_free)
            if wrong.any():
                place = tuple(np.argwhere(wrong)[0].tolist())
                between = " and ".join([f"{one[place]:.6g}" for one in side])
                raise Mismatch(
                    f"the derivative of result {point.kept[position]} is {x[place]:.6g} at {list(place)}: "
                    f"by differences it is between {between}"
                )


def _limits(point: Point, sign: int) -> list[np.ndarray]:
    """The derivatives from one side; NaN where the differences have no limit."""
    with use_backend(reference_backend()):
        far, near = [as_numpy(point.function(*point.moved(sign * step))) for step in STEPS[0]]
    return one_sided(point.inexact(point.results), far, near, (sign * STEPS[0][0], sign * STEPS[0][1]))


def _ordered(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if x.dtype.kind != "c":
        return np.minimum(x, y), np.maximum(x, y)
    (low, high), (below, above) = _ordered(x.real, y.real), _ordered(x.imag, y.imag)
    return low + 1j * below, high + 1j * above


def _wider(one: Bounds, other: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of both; unknown where either is."""
    return _ordered(one[0], other[0])[0], _ordered(one[1], other[1])[1]


def _beyond(found: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where a derivative is none of the numbers between bounds that are known."""
    if found.dtype.kind == "c":
        return _beyond(found.real, low.real, high.real) | _beyond(found.imag, low.imag, high.imag)
    slack = 2 * TOLERANCE * (1 + np.abs(low) + np.abs(high))
    return np.isfinite(low) & np.isfinite(high) & ~((found >= low - slack) & (found <= high + slack))


def _check_backward(point: Point) -> None:
    if "jvp" in point.sample.without or "transpose" in point.sample.without:
        return
    forward, backward = point.forward.derivatives, point.backward.derivatives
    if all([np.isfinite(x).all() for x in forward]):
        left, right = product(forward, point.cotangents), product(backward, point.tangents)
        scale = max(1.0, *[float(np.abs(x).sum()) for x in forward])
        if not np.isclose(left, right, rtol=1e-7, atol=1e-9 * scale):
            raise Mismatch(f"at special points c · J t = {left}, but Jᵀ c · t = {right}")
