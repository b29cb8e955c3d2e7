"""Holding a result against the reference: structure, shapes, dtypes, weak types, then values."""

import numpy

from .corpus import Program
from .runner import Leaf

# Relative to the larger of element and array scale: sums in another order differ by the scale of their terms.
TOLERANCES = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 4e-3,
    "bfloat16": 2e-2,
}


def differences(program: Program, got: list[Leaf], expected: list[Leaf]) -> list[str]:
    """What differs, in words; empty where the results agree."""
    if [leaf.path for leaf in got] != [leaf.path for leaf in expected]:
        return [f"leaves are {[leaf.path for leaf in got]}, expected {[leaf.path for leaf in expected]}"]
    found = []
    for one, other in zip(got, expected, strict=True):
        found += [f"at {one.path or 'the result'}: {text}" for text in leaf_differences(program, one, other)]
    return found


def leaf_differences(program: Program, got: Leaf, expected: Leaf) -> list[str]:
    """What differs in one leaf."""
    found = []
    if got.dtype != expected.dtype:
        found.append(f"dtype {got.dtype}, expected {expected.dtype}")
    if got.weak_type != expected.weak_type:
        found.append(f"weak_type {got.weak_type}, expected {expected.weak_type}")
    if got.value.shape != expected.value.shape:
        found.append(f"shape {got.value.shape}, expected {expected.value.shape}")
    elif not found and not values_agree(program, got, expected):
        found.append(f"values\n{got.value}\nexpected\n{expected.value}")
    return found


def values_agree(program: Program, got: Leaf, expected: Leaf) -> bool:
    """Equal bits for integers, booleans and exact programs; else within tolerance, NaN equal to NaN."""
    one, other = got.value, expected.value
    tolerance = 0.0 if program.exact else TOLERANCES.get(expected.dtype, 0.0) * program.slack
    if tolerance == 0.0:
        return bool(numpy.array_equal(one, other, equal_nan=expected.dtype in TOLERANCES))
    wide = numpy.complex128 if one.dtype.kind == "c" else numpy.float64
    one, other = one.astype(wide), other.astype(wide)
    finite = numpy.abs(other[numpy.isfinite(other)])
    scale = float(finite.max()) if finite.size else 1.0
    return bool(numpy.allclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True))
