"""The functions of NumPy that are called most, on 8 numbers: what an eager call adds to the bare call of NumPy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as onp

from ..measure import Case
from ..sides import Side
from .eager import waiter

Call = Callable[[], Any]

ONE_ARRAY = [
    "sin",
    "cos",
    "tan",
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "sqrt",
    "square",
    "abs",
    "sign",
    "floor",
    "ceil",
    "rint",
    "trunc",
    "round",
    "tanh",
    "sinh",
    "cosh",
    "arctan",
    "arcsin",
    "isnan",
    "isfinite",
    "isinf",
    "negative",
    "reciprocal",
    "degrees",
    "radians",
    "fabs",
    "nan_to_num",
    "sum",
    "prod",
    "mean",
    "max",
    "min",
    "any",
    "all",
    "argmax",
    "argmin",
    "std",
    "var",
    "median",
    "cumsum",
    "cumprod",
    "sort",
    "argsort",
    "nansum",
    "nanmax",
    "nanmean",
    "ptp",
    "count_nonzero",
    "unique",
    "diff",
    "flip",
    "ravel",
    "transpose",
    "squeeze",
    "copy",
    "atleast_2d",
    "zeros_like",
    "ones_like",
    "diag",
    "average",
]
TWO_ARRAYS = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "minimum",
    "arctan2",
    "hypot",
    "greater",
    "less",
    "equal",
    "not_equal",
    "logaddexp",
    "fmod",
    "mod",
    "floor_divide",
    "copysign",
    "dot",
    "inner",
    "outer",
    "vdot",
    "matmul",
    "allclose",
    "array_equal",
    "isclose",
    "append",
    "convolve",
]


def others(np: Any, x: Any, y: Any) -> dict[str, Call]:
    """What takes more than arrays."""
    matrix, turned = np.asarray(onp.ones((2, 4), "float32")), np.asarray(onp.ones((4, 2), "float32"))
    places, mask = np.asarray(onp.arange(8, dtype="int32")), x > 0.3
    both = [x, y]
    return {
        "where": lambda: np.where(mask, x, y),
        "clip": lambda: np.clip(x, 0.2, 0.5),
        "concatenate": lambda: np.concatenate(both),
        "stack": lambda: np.stack(both),
        "hstack": lambda: np.hstack(both),
        "vstack": lambda: np.vstack(both),
        "reshape": lambda: np.reshape(x, (2, 4)),
        "expand_dims": lambda: np.expand_dims(x, 0),
        "broadcast_to": lambda: np.broadcast_to(x, (3, 8)),
        "swapaxes": lambda: np.swapaxes(matrix, 0, 1),
        "moveaxis": lambda: np.moveaxis(matrix, 0, 1),
        "m.T": lambda: matrix.T,
        "zeros": lambda: np.zeros(8),
        "ones": lambda: np.ones(8),
        "full": lambda: np.full(8, 2.0),
        "arange": lambda: np.arange(8),
        "linspace": lambda: np.linspace(0.0, 1.0, 8),
        "eye": lambda: np.eye(3),
        "array of a list": lambda: np.array([1.0, 2.0, 3.0]),
        "astype": lambda: x.astype("int32"),
        "take": lambda: np.take(x, places),
        "x[2]": lambda: x[2],
        "x[2:5]": lambda: x[2:5],
        "x[places]": lambda: x[places],
        "x[mask]": lambda: x[mask],
        "m @ m": lambda: matrix @ turned,
        "tensordot": lambda: np.tensordot(matrix, turned, 1),
        "einsum": lambda: np.einsum("ij,jk->ik", matrix, turned),
        "trace": lambda: np.trace(matrix),
        "triu": lambda: np.triu(matrix),
        "cross": lambda: np.cross(x[:3], y[:3]),
        "norm": lambda: np.linalg.norm(x),
        "roll": lambda: np.roll(x, 2),
        "tile": lambda: np.tile(x, 2),
        "repeat": lambda: np.repeat(x, 2),
        "split": lambda: np.split(x, 2),
        "pad": lambda: np.pad(x, 1),
        "meshgrid": lambda: np.meshgrid(x, x),
        "sum, axis": lambda: np.sum(matrix, axis=0),
        "mean, axis": lambda: np.mean(matrix, axis=1, keepdims=True),
        "sum of a mask": lambda: mask.sum(),
        "logical_and": lambda: np.logical_and(mask, mask),
        "percentile": lambda: np.percentile(x, 30.0),
        "interp": lambda: np.interp(x, x, y),
        "searchsorted": lambda: np.searchsorted(x, y),
        "nonzero": lambda: np.nonzero(mask),
        "isin": lambda: np.isin(places, places),
        "bincount": lambda: np.bincount(places),
    }


def calls(np: Any) -> dict[str, Call]:
    """All calls, by name."""
    x = np.asarray(onp.array([0.1, 0.5, 0.3, 0.7, 0.2, 0.9, 0.4, 0.6], "float32"))
    y = np.asarray(onp.ones(8, "float32"))
    table = {name: partial(getattr(np, name), x) for name in ONE_ARRAY}
    table |= {name: partial(getattr(np, name), x, y) for name in TWO_ARRAYS}
    return table | others(np, x, y)


NAMES = tuple(calls(onp))


def case(name: str, side: Side) -> Case:
    """One call."""
    api = side.api()
    return Case(calls(api.numpy)[name], finish=waiter(api))


PROGRAMS = {f"common: {name}": lambda side, name=name: case(name, side) for name in NAMES}
