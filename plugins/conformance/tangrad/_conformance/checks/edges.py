"""Edges of the dtypes, on each backend and in every way to run: signs of zeros, overflow, ties, NaN, infinities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.blame import DECOMPOSITION, blaming, lowering_of
from tangrad._conformance.checks.execution import compiled, decomposed
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import FINITE, as_numpy, check_edges, check_propagation, differences
from tangrad._conformance.samples import Arguments, Sample, reference_backend, truth_of
from tangrad.core import dtypes

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import DType


MOST = 600  # rows of a grid
FEW = 9  # values for each operand, where there are more than two


def edges(dtype: DType) -> np.ndarray:
    """The values that are tried in every combination, as an array: first those that matter most."""
    kind = dtypes.as_dtype(dtype)
    if kind == np.bool_:
        return np.array([True, False])
    if dtypes.issubdtype(kind, np.integer):
        return np.array(_integers(kind), kind)
    if dtypes.issubdtype(kind, np.complexfloating):
        reals = (0.0, -0.0, 1.5, -2.0, _tiny(kind), np.inf, -np.inf, np.nan)
        return np.array([complex(x, y) for x in reals for y in reals], kind)
    return np.array(_reals(kind), np.float64).astype(kind)


def _tiny(kind: object) -> float:
    """So small that 1 is the same with it, and without."""
    return float(dtypes.finfo(kind).eps) / 16


def _reals(kind: object) -> list[float]:
    limits = dtypes.finfo(kind)
    most, least, tiny = float(limits.max), float(limits.smallest_normal), _tiny(kind)
    found = [0.0, -0.0, tiny, -tiny, np.nan, np.inf, -np.inf, 1.0, -1.0, most, -most, 4 * least, -4 * least]
    return [*found, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 10.0, 1000.0, -300.0, most**0.5 * 2]


def _integers(kind: DType) -> list[int]:
    limits, bits = np.iinfo(kind), 8 * kind.itemsize
    root = 1 << (bits // 2)
    positive = [0, 1, limits.max, 2, 3, 7, bits - 1, bits, bits + 1, root + 1, limits.max - 1, limits.max // 2 + 1]
    negative = [] if limits.min == 0 else [-1, limits.min, limits.min + 1, -2, -7, -root - 3]
    return list(dict.fromkeys([*positive, *negative]))


def grid(kinds: Sequence[np.dtype]) -> tuple[np.ndarray, ...]:
    """Vectors, one for each dtype, whose elements beside each other are all combinations of edges."""
    values = [edges(kind) for kind in kinds]
    if len(values) > 2:
        values = [one[:FEW] for one in values]
    while np.prod([len(one) for one in values]) > MOST:
        longest = max([len(one) for one in values])
        values = [one[: max(4, len(one) * 3 // 4)] if len(one) == longest else one for one in values]
    rows = np.array(list(product(*[range(len(one)) for one in values])), int)
    return tuple([one[rows[:, place]] for place, one in enumerate(values)])


def themes(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Other contents of an operand, by what they have in common."""
    kind = array.dtype
    if not array.size:
        return
    if kind == np.bool_:
        yield "all true", np.ones_like(array)
        yield "all false", np.zeros_like(array)
    elif dtypes.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        yield "extremes", _filled(array, [limits.max, limits.min, limits.max - 1, 1, limits.min + 1, 0])
        yield "all greatest", np.full_like(array, limits.max)
        yield "all least", np.full_like(array, limits.min)
        yield "ties", _filled(array, [1, 0, 1])
        yield "outside", _filled(array, [-1 if limits.min else 200, 1, 100, 0, limits.max, 2])
    elif dtypes.issubdtype(kind, np.inexact):
        yield "zeros", _filled(array, [-0.0, 0.0, -0.0])
        yield "minus zeros", _filled(array, [-0.0])
        yield "tiny", (array * _scale(kind)).astype(kind)
        yield "ties", _filled(array, [2.0, 1.0, 2.0])
        yield "huge", np.full_like(array, dtypes.finfo(kind).max)
        yield "an infinity", _with(array, np.inf)
        yield "minus infinity", _with(array, -np.inf)
        yield "NaN", _with(array, np.nan)


def _scale(kind: np.dtype) -> np.ndarray:
    return np.asarray(_tiny(kind), np.float32 if kind.kind not in "fc" else None)


def _filled(array: np.ndarray, values: Sequence[object]) -> np.ndarray:
    return np.resize(np.array(values).astype(array.dtype), array.shape)


def _with(array: np.ndarray, value: float) -> np.ndarray:
    """One element of another value."""
    changed = np.array(array)
    changed.reshape(-1)[changed.size // 2] = value
    return changed


Cells = Iterator[tuple[str, Callable[[], None]]]

EVERYWHERE = "all combinations"


def check_edges_of(sample: Sample) -> Cells:
    """Each backend against the sample's reference, and against the reference backend."""
    if not sample.args or sample.axes or carries_program(sample) or sample.leave.__name__ != "_unchanged":
        return
    others = [name for name in sample.tried_on() if name != reference_backend() and _is_lowered(sample, name)]
    names = sample.tried_on() if sample.reference is not None else others
    if not names:
        return
    for theme, other in _cases(sample):
        for name in names:
            allowed = differences(sample.primitive.identity, theme)
            if allowed is not None:
                yield f"{name}, {theme}", partial(_check, other, name, theme, allowed)


def _is_lowered(sample: Sample, name: str) -> bool:
    """Whether a backend, or the reference, has a rule of its own: decomposed by both, its parts are what differs."""
    kinds = [lowering_of(sample.primitive, one) for one in (name, reference_backend())]
    return any([kind != DECOMPOSITION for kind in kinds])


def _cases(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """The sample with other operands, and what these are."""
    everything = pointwise(sample)
    if everything is not None:
        yield f"{EVERYWHERE} of {', '.join([arg.dtype.name for arg in everything.args])}", everything
        return
    for position, arg in enumerate(sample.args):
        for theme, changed in themes(np.asarray(arg)):
            args = (*sample.args[:position], changed, *sample.args[position + 1 :])
            yield f"{theme} in operand {position}", replace(sample, args=args)


def pointwise(sample: Sample) -> Sample | None:
    """All combinations of edges as one sample, where the primitive works element by element; None where it does not."""
    kinds = [np.asarray(arg).dtype for arg in sample.args]
    if len({np.shape(arg) for arg in sample.args} - {()}) > 1 or not any([np.shape(arg) for arg in sample.args]):
        return None
    args = grid(kinds)
    every, length = replace(sample, args=args), len(args[0])
    try:
        results = every.inferred()
    except (TypeError, ValueError, NotImplementedError):
        return None
    if any([one.shape != (length,) for one in results]):
        return None
    return every if _is_local(every, length) else None


def _is_local(every: Sample, length: int) -> bool:
    """Whether some of the elements, in another order, give the same as they do among all of them."""
    some = np.random.default_rng(3).permutation(length)[: length // 2]
    whole = _run(every, reference_backend())
    part = _run(replace(every, args=tuple([arg[some] for arg in every.args])), reference_backend())
    return all([x[some].tobytes() == y.tobytes() or _equal(x[some], y) for x, y in zip(whole, part, strict=True)])


def _equal(x: np.ndarray, y: np.ndarray) -> bool:
    return x.dtype.kind in "fc" and np.array_equal(x, y, equal_nan=True)


def _run(sample: Sample, name: str) -> list[np.ndarray]:
    with use_backend(name):
        return as_numpy(sample.apply(*sample.args))


def _check(sample: Sample, name: str, theme: str, allowed: frozenset[str]) -> None:
    found = _run(sample, name)
    expected = truth_of(sample, found)
    with blaming(lowering_of(sample.primitive, name)):
        if expected is not None:
            _compare(sample, found, expected, allowed, f"{theme}: {name}, the sample's reference")
            return
    if name != reference_backend():
        with blaming(lowering_of(sample.primitive, name), lowering_of(sample.primitive, reference_backend())):
            other = _run(sample, reference_backend())
            _compare(sample, found, other, allowed, f"{theme}: {name}, {reference_backend()}")


def _compare(
    sample: Sample, found: Sequence[np.ndarray], expected: Sequence[np.ndarray], allowed: frozenset[str], names: str
) -> None:
    if EVERYWHERE not in names:
        check_edges(found, expected, sample.tolerance, names, allowed)
        return
    kept = ~np.any([_is_odd(arg) for arg in sample.args], 0) if FINITE in allowed else slice(None)
    rows = [[array[kept] for array in arrays] for arrays in (found, expected, sample.args)]
    check_edges(rows[0], rows[1], sample.tolerance, names, allowed, rows[2])


def _is_odd(array: Array) -> np.ndarray:
    """Where a complex number is not finite, or a part of it minus zero."""
    if array.dtype.kind != "c":
        return np.zeros(array.shape, bool)
    minus = [(part == 0) & np.signbit(part) for part in (array.real, array.imag)]
    return ~np.isfinite(array) | minus[0] | minus[1]


ALL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, "denormal", "huge", "-huge")
ELSEWHERE = (np.nan, 1.0, np.inf, -np.inf, 0.5)  # how denormal and huge numbers are rounded is a backend's own affair
TURNS = 4  # how often the values are turned, until each has been an element of a small operand


def check_special(sample: Sample) -> Cells:
    """Special values among the operands: one operand at a time, then all; compiled, decomposed, mapped, elsewhere."""
    for subject, positions in _positions(sample):
        values = list(_operands(sample, positions))
        yield f"{subject}, compiled", partial(_check_compiled, sample, values)
        if decomposed(sample) is not None:
            yield f"{subject}, decomposed", partial(_check_decomposed, sample, values)
        if "batch" not in sample.without:
            yield f"{subject}, mapped", partial(_check_mapped, sample, values[0])
        elsewhere = list(_operands(sample, positions, ELSEWHERE))
        kinds = [np.asarray(arg).dtype for arg in sample.args]
        allowed: frozenset[str] | None = frozenset()
        if any([kind.kind == "c" for kind in kinds]):
            allowed = differences(sample.primitive.identity, f"special values of {', '.join(map(str, kinds))}")
        for name in sample.tried_on():
            if name != reference_backend() and allowed is not None:
                finite = FINITE in allowed
                yield f"{subject}, on {name}", partial(_check_elsewhere, sample, elsewhere, name, finite)


def _positions(sample: Sample) -> Iterator[tuple[str, tuple[int, ...]]]:
    kinds = [np.asarray(arg).dtype for arg in sample.args]
    sizes = [np.size(arg) for arg in sample.args]
    inexact = [i for i, kind in enumerate(kinds) if dtypes.issubdtype(kind, np.inexact) and sizes[i]]
    for position in inexact:
        yield f"operand {position}", (position,)
    if len(inexact) > 1:
        yield "all operands", tuple(inexact)


def special_values(dtype: np.dtype, values: Sequence[float | str] = ALL) -> np.ndarray:
    """The values as an array of an inexact dtype."""
    limits = dtypes.finfo(dtype)
    named = {"denormal": 8 * float(limits.smallest_subnormal), "huge": float(limits.max), "-huge": -float(limits.max)}
    reals = [named[value] if isinstance(value, str) else value for value in values]
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return np.asarray(reals, np.float64).astype(dtype)
    return np.array([complex(x, y) for x in reals for y in (0.5, x)], dtype)


def _operands(sample: Sample, positions: tuple[int, ...], tried: Sequence[float | str] = ALL) -> Iterator[Arguments]:
    """Arguments with special values at some positions, turned until each value has been somewhere."""
    sizes = [np.size(sample.args[position]) for position in positions]
    count = max([len(special_values(np.asarray(sample.args[position]).dtype, tried)) for position in positions])
    turns = min(TURNS, -(-count // min(sizes)))
    for turn in range(turns):
        args = [np.asarray(arg) for arg in sample.args]
        for place, position in enumerate(positions):
            arg = args[position]
            values = special_values(arg.dtype, tried)
            # Beside each other the operands have different values, so that pairs of them are met.
            start = turn * arg.size + place * 2
            args[position] = np.take(values, np.arange(start, start + arg.size), mode="wrap").reshape(arg.shape)
        yield tuple(args)


def _check_compiled(sample: Sample, values: list[Arguments]) -> None:
    for args in values:
        with use_backend(reference_backend()):
            found, expected = compiled(sample)(*args), sample.apply(*args)
            check_propagation(found, expected, sample.tolerance, "compiled, applied directly")


def _check_decomposed(sample: Sample, values: list[Arguments]) -> None:
    function = decomposed(sample)
    if function is None:
        return
    for args in values:
        with use_backend(reference_backend()):
            found, expected = function(*args), sample.apply(*args)
            check_propagation(found, expected, sample.tolerance, "decomposed, lowered")


def _check_mapped(sample: Sample, args: Arguments) -> None:
    named = len(sample.axes)
    with use_backend(reference_backend()):
        rows = [np.stack([arg, usual], named) for arg, usual in zip(args, sample.args)]
        found = sample.around(tangrad.vmap(sample.apply_one))(*rows)
        loop = [as_numpy(sample.apply(*args)), as_numpy(sample.apply(*sample.args))]
        expected = [np.stack(parts, named) for parts in zip(*loop)]
        check_propagation(found, expected, sample.tolerance, "mapped, loop")


def _check_elsewhere(sample: Sample, values: list[Arguments], name: str, finite: bool) -> None:
    """With `finite`, of functions of complex numbers, only results of numbers that are finite are compared."""
    for args in values:
        with use_backend(name):
            found = as_numpy(sample.apply(*args))
        with use_backend(reference_backend()):
            expected = as_numpy(sample.apply(*args))
        if finite:
            kept = ~np.any([np.broadcast_to(_is_odd(arg), found[0].shape) for arg in args], 0)
            found, expected = [array[kept] for array in found], [array[kept] for array in expected]
        check_propagation(found, expected, sample.tolerance, f"{name}, {reference_backend()}", flushed=True)
