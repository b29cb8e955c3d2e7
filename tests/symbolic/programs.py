"""Functions of the tables of expressions as programs of symbolic sizes, and those that are none, with the reason."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy

import tangrad as api
import tangrad.numpy as np
from tangrad.core import ShapedArray
from tangrad.export import SymbolicScope, symbolic_shape
from tests.numpy import (
    expressions_arrays,
    expressions_numbers,
    expressions_ufuncs,
)
from tests.numpy.support import host_values
from tests.symbolic.expressions_lax import LAX

HOST = host_values()
# The sizes of the arrays in the tables, as variables, and two other sizes for each.
VARIABLES = {2: "a", 3: "b", 4: "c", 8: "d"}
CONSTRAINTS = ("a >= 2", "b >= 3", "c >= 4", "d >= 8")
SIZES = ({2: 2, 3: 3, 4: 4, 8: 8}, {2: 3, 3: 5, 4: 4, 8: 9})
NUMPY = [
    *expressions_arrays.EXPRESSIONS,
    *expressions_ufuncs.OTHERS,
    *expressions_ufuncs.GENERATED,
    *expressions_numbers.OTHERS,
    *expressions_numbers.GENERATED,
    *expressions_numbers.FOURIER,
]

# Why a function is no program of symbolic sizes, whatever its arguments.
FIXED_NUMBER = "the number of its results, or of its steps, is a size"
FIXED_PLACES = "which elements it takes is decided from their positions as numbers"
ORDER_OF_SIZES = "which operand is the longer one decides what is computed"
LENGTHS = "StableHLO's fft has lengths that are numbers, and its expressions transform all axes"
HALVES = "it halves its operand until little is left: the number of steps is a size"
REASONS = {
    "np.fft.rfft2": LENGTHS,
    "np.fft.rfftn": LENGTHS,
    "lax.associative_scan(lax.add, g)": HALVES,
    "api.random.permutation(api.random.key(0), v)": FIXED_NUMBER,
    "np.polyint": FIXED_NUMBER,
    "np.unstack": FIXED_NUMBER,
    "np.polyval": FIXED_NUMBER,
    "np.poly": FIXED_NUMBER,
    "np.delete": FIXED_PLACES,
    "np.insert": FIXED_PLACES,
    "np.fill_diagonal": FIXED_PLACES,
    "np.tril_indices_from": FIXED_PLACES,
    "np.triu_indices_from": FIXED_PLACES,
    "np.diag_indices_from": FIXED_PLACES,
    "np.convolve": ORDER_OF_SIZES,
    "np.correlate": ORDER_OF_SIZES,
    "np.polysub": ORDER_OF_SIZES,
    "np.polymul": ORDER_OF_SIZES,
    "np.polydiv": ORDER_OF_SIZES,
    "np.polyder": FIXED_NUMBER,
}


def arrays_of(expression: str) -> list[str]:
    """The names of the arrays in an expression."""
    return [name for name in HOST if re.search(r"(?<![\w.'])" + name + r"(?![\w'(=])", expression)]


def function_of(expression: str) -> str | None:
    """The function that an expression is about, `np.sum`; None where it is about no single one."""
    match = re.match(r"(np(?:\.\w+)+)\(", expression)
    return match[1] if match else expression if expression in LAX else None


def program(expression: str, names: Sequence[str]) -> Callable[..., list[Any]]:
    """The expression as a function of the arrays in it, which returns the arrays of its value."""
    known = {"np": np, "numpy": numpy, "api": api, "lax": api.lax, "w": np.asarray(2.0), "W": np.asarray(3)}

    def run(*arrays: Any) -> list[Any]:
        value = eval(expression, {**known, **dict(zip(names, arrays, strict=True))})
        return [leaf for leaf in api.tree.leaves(value) if hasattr(leaf, "aval")]

    return run


def symbolic_types(names: Sequence[str]) -> list[Any]:
    """The types of arrays of the tables, with variables for sizes."""
    scope = SymbolicScope(CONSTRAINTS)
    return [
        ShapedArray(
            symbolic_shape(", ".join([VARIABLES.get(size, str(size)) for size in HOST[name].shape]), scope=scope),
            HOST[name].dtype,
        )
        for name in names
    ]


def arrays_at(names: Sequence[str], sizes: dict[int, int]) -> list[Any]:
    """The arrays of the tables, repeated or cut to other sizes."""
    return [
        numpy.resize(HOST[name], tuple([sizes.get(size, size) for size in HOST[name].shape])).astype(HOST[name].dtype)
        for name in names
    ]


def expressions_by_function() -> dict[str, list[str]]:
    """Function -> the expressions of the tables that are about it, have arrays, and give some."""
    found: dict[str, list[str]] = {}
    for expression in dict.fromkeys(NUMPY + LAX):
        names = arrays_of(expression)
        function = function_of(expression)
        if not names or function is None:
            continue
        try:
            jaxpr = api.make_jaxpr(program(expression, names))(*[HOST[name] for name in names])
        except Exception:  # it looks at its contents: no program of any sizes
            continue
        if jaxpr.out_avals:
            found.setdefault(function, []).append(expression)
    return found
