"""The promotion lattice: which dtype two dtypes meet in, over their names alone.

The nodes are the names of the dtypes and three weak types, `i*`, `f*` and `c*`, which stand for a Python `int`, `float`
and `complex`. This file knows neither NumPy nor ml_dtypes, so that the lattice is there before bfloat16 is imported.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from tangrad._core.diagnostics.errors import TypePromotionError

WEAK_INTEGER, WEAK_FLOAT, WEAK_COMPLEX = WEAK = ("i*", "f*", "c*")

NARROW_INTEGERS = ("int1", "uint1", "int2", "uint2", "int4", "uint4")
INTEGERS = NARROW_INTEGERS + ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
_FORMS_OF_FLOAT8 = "e3m4 e4m3 e4m3b11fnuz e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu"
FLOATS8 = tuple([f"float8_{form}" for form in _FORMS_OF_FLOAT8.split()])
NARROW_FLOATS = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", *FLOATS8)
FLOATS = NARROW_FLOATS + ("bfloat16", "float16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
STRONG = ("bool", *INTEGERS, *FLOATS, *COMPLEXES)

# What is directly above each node; a node without a row has nothing above it. Narrow types have none on purpose: a
# program that mixes them with others must name the type that it wants.
_STANDARD = {
    "bool": ("i*",),
    "i*": (*NARROW_INTEGERS, "uint8", "int8"),
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("f*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("f*",),
    "f*": (*NARROW_FLOATS, "bfloat16", "float16", "c*"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "c*": ("complex64",),
    "complex64": ("complex128",),
}
# uint32 with int32 is the one pair of 32-bit types that would meet in a 64-bit one.
_STANDARD_32_BIT = {**_STANDARD, "uint32": ("uint64", "int32")}
_STRICT = {"i*": ("f*", *INTEGERS), "f*": ("c*", *FLOATS), "c*": COMPLEXES}


@cache
def _upper_bounds(x64: bool, strict: bool) -> dict[str, frozenset[str]]:
    """For each node, the nodes at or above it."""
    above = _STRICT if strict else _STANDARD if x64 else _STANDARD_32_BIT
    bounds: dict[str, frozenset[str]] = {}

    def visit(node: str) -> frozenset[str]:
        if node not in bounds:
            bounds[node] = frozenset({node}).union(*[visit(upper) for upper in above.get(node, ())])
        return bounds[node]

    for node in (*STRONG, *WEAK):
        visit(node)
    return bounds


def join(nodes: Collection[str], *, x64: bool, strict: bool) -> str:
    """The least node at or above all `nodes`. Raises TypePromotionError where there is none."""
    bounds = _upper_bounds(x64, strict)
    common = frozenset.intersection(*[bounds[node] for node in nodes])
    least = [node for node in common if common <= bounds[node]]
    if len(least) != 1:
        raise TypePromotionError(_no_common_type(nodes, strict))
    return least[0]


def _no_common_type(nodes: Collection[str], strict: bool) -> str:
    spelled = {"i*": "int (a Python scalar)", "f*": "float (a Python scalar)", "c*": "complex (a Python scalar)"}
    listed = " and ".join(spelled.get(node, node) for node in sorted(set(nodes)))
    if strict:
        return (
            f"{listed} are not promoted to a common dtype while the setting numpy_dtype_promotion is 'strict'. "
            "Convert one of them, as in x.astype(y.dtype), or set it to 'standard'."
        )
    narrow = sorted(set(nodes) & {*NARROW_INTEGERS, *NARROW_FLOATS})
    because = f": {' and '.join(narrow)} is promoted only when asked, lest values widen unseen" if narrow else ""
    return f"{listed} have no common dtype{because}. Convert one of them, as in x.astype('float32')."
