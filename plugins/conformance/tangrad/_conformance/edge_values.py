"""Values at the edges of a dtype: zeros of both signs, tiny and huge numbers, the least and greatest integers, ties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.core import dtypes

if TYPE_CHECKING:
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


def _tiny(kind: Any) -> float:
    """So small that 1 is the same with it, and without."""
    return float(dtypes.finfo(kind).eps) / 16


def _reals(kind: Any) -> list[float]:
    limits = dtypes.finfo(kind)
    most, least, tiny = float(limits.max), float(limits.smallest_normal), _tiny(kind)
    found = [0.0, -0.0, tiny, -tiny, np.nan, np.inf, -np.inf, 1.0, -1.0, most, -most, 4 * least, -4 * least]
    return [*found, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 10.0, 1000.0, -300.0, most**0.5 * 2]


def _integers(kind: Any) -> list[int]:
    limits, bits = np.iinfo(kind), 8 * kind.itemsize
    root = 1 << (bits // 2)
    positive = [0, 1, limits.max, 2, 3, 7, bits - 1, bits, bits + 1, root + 1, limits.max - 1, limits.max // 2 + 1]
    negative = [] if limits.min == 0 else [-1, limits.min, limits.min + 1, -2, -7, -root - 3]
    return list(dict.fromkeys([*positive, *negative]))


def grid(kinds: Sequence[Any]) -> tuple[Any, ...]:
    """Vectors, one for each dtype, whose elements beside each other are all combinations of edges."""
    values = [edges(kind) for kind in kinds]
    if len(values) > 2:
        values = [one[:FEW] for one in values]
    while np.prod([len(one) for one in values]) > MOST:
        longest = max([len(one) for one in values])
        values = [one[: max(4, len(one) * 3 // 4)] if len(one) == longest else one for one in values]
    rows = np.array(list(product(*[range(len(one)) for one in values])), int)
    return tuple([one[rows[:, place]] for place, one in enumerate(values)])


def themes(array: Any) -> Iterator[tuple[str, Any]]:
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


def _scale(kind: Any) -> Any:
    return np.asarray(_tiny(kind), np.float32 if kind.kind not in "fc" else None)


def _filled(array: Any, values: Sequence[Any]) -> Any:
    return np.resize(np.array(values).astype(array.dtype), array.shape)


def _with(array: Any, value: float) -> Any:
    """One element of another value."""
    changed = np.array(array)
    changed.reshape(-1)[changed.size // 2] = value
    return changed
