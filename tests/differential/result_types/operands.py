"""The operands that calls are tried with: arrays of every dtype, numbers of Python and of NumPy, and weakly typed ones.

Weakly typed arrays with dimensions are left out: they come of broadcasting a number only, and whether a formula keeps
that hangs, in JAX, on whether its constants are written as integers.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy

NARROW = "bool int8 int16 int32 uint8 uint32 float16 bfloat16 float32 complex64"
WIDE = "int64 uint64 float64 complex128"
WEAK = {
    "0-d int weak": ("int32", "int64"),
    "0-d float weak": ("float32", "float64"),
    "0-d complex weak": ("complex64", "complex128"),
}
NUMBERS: dict[str, Any] = {
    "True": True,
    "2": 2,
    ".5": 0.5,
    "1j": 1j,
    "numpy.bool": numpy.bool_(True),
    "numpy.int8": numpy.int8(2),
    "numpy.int64": numpy.int64(2),
    "numpy.uint32": numpy.uint32(2),
    "numpy.float16": numpy.float16(0.5),
    "numpy.float32": numpy.float32(0.5),
    "numpy.float64": numpy.float64(0.5),
    "numpy.array(f64)": numpy.array(0.5),
    "numpy.array(i64)": numpy.array(2),
}
ONE = [*NARROW.split(), "0-d int8", "0-d bfloat16", "0-d float32", *WEAK, *NUMBERS]
# Of functions of two operands: the first, and what stands beside it.
PAIRED = (
    *("bool", "int8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64", "0-d float32"),
    *("0-d float weak", "True", "2", ".5", "1j", "numpy.int8", "numpy.float32", "numpy.float64"),
)
BESIDE = ("int8", "bfloat16", "complex64", "2", ".5")
SHAPES = {"v": (3,), "w": (3,), "m": (3, 3), "t": (2, 3, 4)}
NAMED = re.compile(r"(?<![\w.'])([xyvwmtkB]|key)(?![\w'(])")


def cases(call: str, x64: bool) -> Iterator[dict[str, str]]:
    """What stands for each name in a call: a kind of operand by name."""
    named = set(NAMED.findall(call))
    arrays = NARROW.split() + (WIDE.split() if x64 else [])
    if "y" in named:
        yield from ({"x": kind, "y": other, "v": _array_of(kind)} for kind in PAIRED for other in BESIDE)
    elif "x" in named and named & SHAPES.keys():
        yield from ({"x": kind, "v": other} for kind in ONE for other in ("int32", "bfloat16", "float32"))
        yield from ({"x": ".5", "v": kind} for kind in arrays)
    elif "x" in named:
        yield from ({"x": kind} for kind in ONE)
    elif named & SHAPES.keys() or "v.dtype" in call:
        yield from ({"v": kind} for kind in arrays)
    else:
        yield {}


def _array_of(kind: str) -> str:
    return kind if kind in NARROW.split() else "float32"


def dtype_of(kind: str, x64: bool) -> str:
    """The dtype of a kind of array, weak ones by setting."""
    return WEAK[kind][x64] if kind in WEAK else kind.removeprefix("0-d ")


def contents(shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    """Numbers from 0 to 2 in any dtype; matrices can be inverted, and are positive definite."""
    size = int(numpy.prod(shape))
    found = (numpy.arange(size) % 3).reshape(shape).astype("float64")
    if shape == SHAPES["m"]:
        found = numpy.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    if dtype == "bfloat16":
        import ml_dtypes

        return found.astype(ml_dtypes.bfloat16)
    return found.astype(dtype)
