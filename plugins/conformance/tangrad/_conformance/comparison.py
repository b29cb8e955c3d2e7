"""How results are compared: shapes and dtypes exactly, numbers within the tolerance of their dtype.

What backends may do otherwise than each other, at the edges of dtypes, has a row with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from tangrad.core import dtypes

if TYPE_CHECKING:
    from tangrad.typing import DType


TOLERANCES = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 3e-5,
    "complex64": 3e-5,
    "float64": 1e-9,
    "complex128": 1e-9,
}


class Mismatch(AssertionError):
    """What a check found; `about`: the kinds of the rules whose fault it is, where that is known."""

    about: tuple[str, ...] = ()


def as_numpy(values: Sequence[object]) -> list[np.ndarray]:
    """Concrete arrays as NumPy's."""
    return [np.asarray(value) for value in values]


def check_same(
    found: Sequence[object], expected: Sequence[object], tolerance: float | None = None, names: str = "found, expected"
) -> None:
    """Raise Mismatch unless two lists of arrays are the same."""
    found, expected = as_numpy(found), as_numpy(expected)
    check_shapes(found, expected, names)
    for position, (x, y) in enumerate(zip(found, expected)):
        what = f"result {position} ({names})"
        near = TOLERANCES.get(x.dtype.name, 0.0)
        check_near(x, y, near if tolerance is None or near == 0.0 else max(tolerance, near), what)


def check_near(x: np.ndarray, y: np.ndarray, tolerance: float, what: str) -> None:
    """Raise Mismatch unless numbers agree."""
    if x.dtype.kind not in "biufc":  # ml_dtypes'
        x, y = x.astype(np.float32), y.astype(np.float32)
    try:
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    except AssertionError as error:
        raise Mismatch(f"{what}: {' '.join(str(error).split())}") from None


def check_propagation(
    found: Sequence[object], expected: Sequence[object], tolerance: float | None, names: str, flushed: bool = False
) -> None:
    """Raise Mismatch unless two lists of arrays have NaN, infinities and the signs of zeros in the same places.

    The other numbers must be near; with `flushed` one side may have zeros in place of denormal numbers.
    """
    for position, (x, y) in enumerate(zip(as_numpy(found), as_numpy(expected), strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            check_shapes([x], [y], names)
        near = max(TOLERANCES.get(x.dtype.name, 0.0), tolerance or 0.0)
        for one, other in zip(_real_parts(x), _real_parts(y), strict=True):
            what = f"result {position} ({names})"
            _check_parts(one, other, near, what)
            if not flushed and one.dtype.kind == "f":
                _check_not_flushed(one, other, np.finfo(one.dtype).tiny, what)


def check_edges(
    found: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    tolerance: float | None,
    names: str,
    allowed: frozenset[str] = frozenset(),
    args: Sequence[np.ndarray] = (),
) -> None:
    """Raise Mismatch unless two lists of arrays agree also in signs of zeros, and relative to how small numbers are.

    With `allowed` things may differ, out of "zeros" and "finite": signs of zeros, and "size": numbers are compared
    relative to the greatest. With `args` the message names the elements of the arguments that a result belongs to.
    """
    check_shapes(found, expected, names)
    zeros = not allowed.isdisjoint(("zeros", "finite"))
    for position, (x, y) in enumerate(zip(found, expected)):
        near = max(TOLERANCES.get(x.dtype.name, 0.0), tolerance or 0.0)
        for one, other in zip(_real_parts(x), _real_parts(y), strict=True):
            if one.dtype.kind != "f":
                wrong = one != other
            else:  # a part of a complex number is rounded as the number is
                least = _least(x.dtype, one, other, "size" in allowed)
                wrong = _differ(one, other, near * _size(y), least * near if least >= 1 else least, zeros)
            if wrong.any():
                place = tuple(np.argwhere(wrong)[0].tolist())
                of = f" of {', '.join([str(arg[place]) for arg in args])}" if args else ""
                raise Mismatch(
                    f"result {position} ({names}): at {list(place)}{of} {one[place]!r} and {other[place]!r}, "
                    f"{int(wrong.sum())} of {wrong.size} differ"
                )


def _least(dtype: DType, x: np.ndarray, y: np.ndarray, by_size: bool) -> float:
    """Below what numbers are not compared: the least normal one, or what is small beside the greatest."""
    if not by_size:
        return float(dtypes.finfo(dtype).smallest_normal)
    finite = [np.abs(z[np.isfinite(z)]).max(initial=0) for z in (x, y)]
    return max(1.0, *map(float, finite))


def _size(array: np.ndarray) -> np.ndarray:
    wide = array.astype(np.clongdouble if array.dtype.kind == "c" else np.longdouble)
    return np.abs(wide)


def _differ(x: np.ndarray, y: np.ndarray, slack: np.ndarray, least: float, zeros: bool) -> np.ndarray:
    """Where numbers are not the same."""
    special = (np.isnan(x) != np.isnan(y)) | ((np.isinf(x) | np.isinf(y)) & (x != y) & ~np.isnan(x) & ~np.isnan(y))
    signs = (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y)) & (not zeros)
    finite = np.isfinite(x) & np.isfinite(y)
    one, other = np.where(finite, x, 0).astype(np.longdouble), np.where(finite, y, 0).astype(np.longdouble)
    return special | signs | (np.abs(one - other) > np.where(np.isfinite(slack), slack, 0) + least)


def check_shapes(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], names: str) -> None:
    """Raise Mismatch unless two lists of arrays have the same shapes and dtypes."""
    if len(found) != len(expected):
        raise Mismatch(f"{names}: {len(found)} results and {len(expected)}")
    for position, (x, y) in enumerate(zip(found, expected)):
        if x.shape != y.shape or x.dtype != y.dtype:
            what = f"{x.dtype.name}{list(x.shape)} and {y.dtype.name}{list(y.shape)}"
            raise Mismatch(f"result {position} ({names}): {what}")


def _real_parts(array: np.ndarray) -> list[np.ndarray]:
    if array.dtype.kind not in "biufc":  # ml_dtypes'
        array = array.astype(np.float32)
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def _check_parts(x: np.ndarray, y: np.ndarray, tolerance: float, what: str) -> None:
    for name, is_special in (
        ("NaN", np.isnan),
        ("an infinity", np.isposinf),
        ("minus infinity", np.isneginf),
        ("minus zero", lambda z: np.signbit(z) & (z == 0)),
    ):
        one, other = [is_special(z) if z.dtype.kind == "f" else np.zeros(z.shape, bool) for z in (x, y)]
        if name == "minus zero":  # of a zero on one side alone the sign means nothing: it was rounded
            both = (x == 0) & (y == 0)
            one, other = one & both, other & both
        if not np.array_equal(one, other):
            place = tuple(np.argwhere(one != other)[0].tolist())
            raise Mismatch(f"{what}: at {list(place)} {x[place]!r} and {y[place]!r}: {name} in one of them alone")
    finite = np.isfinite(x)
    if finite.any():
        check_near(x[finite], y[finite], tolerance, what)


def _check_not_flushed(x: np.ndarray, y: np.ndarray, least: np.floating, what: str) -> None:
    """Numbers below the least normal one are within any tolerance of zero, and not zero."""
    flushed = ((x == 0) != (y == 0)) & (np.maximum(np.abs(x), np.abs(y)) < least)
    if flushed.any():
        place = tuple(np.argwhere(flushed)[0].tolist())
        raise Mismatch(
            f"{what}: at {list(place)} {x[place]!r} and {y[place]!r}: a denormal number in one of them alone"
        )


ZEROS, SIZE, FINITE, LEFT_OUT = "zeros", "size", "finite", "left out"

ORDER = "sums and products in another order overflow elsewhere, and what cancels is rounded otherwise"
EQUAL = "of two zeros that compare equal either may be taken as the greater one"
STARTS = "whether a sum starts at its first element, or at +0, decides on the sign of a sum of zeros"
ALGORITHM = "by another algorithm: zeros, and what is beyond overflow, come out of other steps"
SINGULAR = "of a singular matrix, or of the right sides of zeros, what comes out is as the roundings fall"
DOMAIN = "outside of its domain, or at infinity, a series has no meaning, and backends have different ones"
UNDEFINED = "the operand breaks what the primitive demands: results are not defined"
SAMPLERS = "a sampler that rejects would try for ever"
FILLED = "zeros that are filled in between numbers may be multiplied with a kernel that is not finite, or left out"
ROOTS = "near a root that is no number of the dtype, what is left is as small as the rounding of the terms"
ANNEX = "of complex infinities and NaN, and signs on branch cuts, C99's Annex G is not followed by every backend"

# (primitives, themes, what may differ, why); names are matched as file names are.
TABLE: tuple[tuple[str, str, str, str], ...] = (
    *[
        (f"elementwise.{name}", "*complex*", FINITE, ANNEX)
        for name in (
            *(
                "exp",
                "exp2",
                "log",
                "log2",
                "log10",
                "expm1",
                "log1p",
                "logistic",
                "sqrt",
                "rsqrt",
                "sin",
                "cos",
                "tan",
                "asin",
                "acos",
            ),
            *("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sign", "abs", "integer_pow", "div"),
            *("max", "min"),
        )
    ],
    ("elementwise.pow", "*complex*", LEFT_OUT, ANNEX),
    ("elementwise.sinh", "*complex*", SIZE, "XLA subtracts exponentials, whose difference has no digits left near 0"),
    ("reductions.reduce_m*", "NaN*", LEFT_OUT, "a complex number with a part that is NaN has no place in an order"),
    ("special.lgamma", "*", SIZE, ROOTS),
    ("special.digamma", "*", SIZE, ROOTS),
    ("elementwise.max", "*", ZEROS, EQUAL),
    ("elementwise.min", "*", ZEROS, EQUAL),
    ("elementwise.clamp", "*", ZEROS, EQUAL),
    ("activations.relu*", "*", ZEROS, EQUAL),
    ("*.reduce_m*", "*", ZEROS, EQUAL),
    ("collectives.pm*", "*", ZEROS, EQUAL),
    ("*.cumm*", "*", ZEROS, EQUAL),
    ("windows.*", "*", ZEROS, STARTS),
    ("*sum*", "*", ZEROS, STARTS),
    *[(names, "huge*", LEFT_OUT, ORDER) for names in ("*sum", "*sum_*")],
    ("reductions.*", "*", SIZE, ORDER),
    ("windows.*", "*", SIZE, ORDER),
    ("contractions.*", "*", ZEROS, STARTS),
    ("contractions.*", "*", SIZE, ORDER),
    ("contractions.*", "huge*", LEFT_OUT, ORDER),
    ("contractions.ragged*", "extremes*", LEFT_OUT, UNDEFINED),
    ("contractions.ragged*", "all *", LEFT_OUT, UNDEFINED),
    ("contractions.ragged*", "outside*", LEFT_OUT, UNDEFINED),
    ("contractions.ragged*", "ties in operand 2", LEFT_OUT, UNDEFINED),
    ("windows.*", "huge*", LEFT_OUT, ORDER),
    ("windows.conv*", "*infinity*", LEFT_OUT, FILLED),
    ("windows.conv*", "NaN*", LEFT_OUT, FILLED),
    ("indexing.scatter_mul", "ties*", LEFT_OUT, UNDEFINED),
    ("sorting.search_sorted", "*in operand 0", LEFT_OUT, UNDEFINED),
    *[
        (family, theme, what, ALGORITHM)
        for family in ("linalg.*", "decompositions.*", "systems.*", "fft.*", "solves.*", "activations.softmax")
        for theme, what in (
            ("*", ZEROS),
            ("*", SIZE),
            ("huge*", LEFT_OUT),
            ("*infinity*", LEFT_OUT),
            ("NaN*", LEFT_OUT),
        )
    ],
    *[
        (family, f"{theme} in operand {position}", LEFT_OUT, SINGULAR)
        for family in ("linalg.*", "decompositions.*", "systems.*", "solves.*")
        for theme in ("zeros", "minus zeros", "ties")
        for position in (0, 1)
    ],
    *[("decompositions.lu_pivots*", f"{theme}*", LEFT_OUT, UNDEFINED) for theme in ("extremes", "all", "outside")],
    ("random.*", "huge*", LEFT_OUT, SAMPLERS),
    ("random.*", "*infinity*", LEFT_OUT, SAMPLERS),
    ("random.*", "NaN*", LEFT_OUT, SAMPLERS),
    ("random.*", "tiny*", LEFT_OUT, "what a sampler gives for tiny parameters is huge, and rounded to an integer"),
    ("random.*", "*", ZEROS, ORDER),
    *[
        (f"special.{name}", "*", LEFT_OUT, DOMAIN)
        for name in ("polygamma", "zeta", "igamma*", "random_gamma_grad", "regularized_incomplete_beta")
    ],
)


def differences(identity: str, theme: str) -> frozenset[str] | None:
    """What may differ; None where nothing is compared.

    Out of "zeros": their signs; "size": what is small beside the greatest; "finite": what comes of complex numbers with
    infinities, NaN and minus zeros, and signs of zeros.
    """
    allowed = {what for names, themes, what, _ in TABLE if fnmatchcase(identity, names) and fnmatchcase(theme, themes)}
    return None if LEFT_OUT in allowed else frozenset(allowed)
