"""What a sample's reference says that the results are: computed by NumPy in higher precision, then rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._conformance.samples import Sample
from tangrad.core import dtypes

HIGHER = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "float64": np.longdouble,
    "complex64": np.complex128,
    "complex128": np.clongdouble,
}


def truth_of(sample: Sample, like: list[Any]) -> list[Any] | None:
    """The results of the sample's reference, in the dtypes of other results; None where there is none."""
    if sample.reference is None:
        return None
    args = [higher(np.asarray(arg)) for arg in sample.args]
    with np.errstate(all="ignore"):
        found = sample.reference(*args, **sample.params)
        results = tuple(found) if sample.primitive.multiple_results else (found,)
        return [lower(one, other.dtype) for one, other in zip(results, like, strict=True)]


def higher(array: Any) -> np.ndarray:
    """The same numbers in a wider dtype: Python's integers, of any size, in place of integers."""
    if array.dtype == np.bool_:
        return array
    if dtypes.issubdtype(array.dtype, np.integer):
        return array.astype(np.int64 if array.dtype.kind not in "iu" else array.dtype).astype(object)
    wide = HIGHER.get(array.dtype.name)
    return array if wide is None else array.astype(wide)


def lower(values: Any, dtype: np.dtype) -> np.ndarray:
    """Numbers rounded to a dtype; integers wrap around."""
    array = np.asarray(values)
    if not dtypes.issubdtype(dtype, np.integer) or array.dtype != object:
        return array.astype(dtype)
    bits = 8 * dtype.itemsize
    wrapped = [int(value) & ((1 << bits) - 1) for value in array.reshape(-1)]
    unsigned = np.array(wrapped, f"uint{bits}").reshape(array.shape)
    return unsigned.view(dtype)
