"""Functions of whole arrays that NumPy has in one call: sets, norms, reductions that leave NaN out.

How such rules are written: see `whole.py`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.whole import whole
from tangrad.core import RuleSet, dtypes
from tangrad.extend import numpy

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)

_LONG = 2000  # elements from which on `np.isin` is sooner than a sort and a search
_FLOATS = {dtypes.as_dtype(name) for name in ("float32", "float64")}


@whole(lower, numpy.isin)
def _isin(
    ctx: Lowering, element: Any, test_elements: Any, *_: object, invert: bool = False, **options: Any
) -> Value | None:
    kind = element.dtype
    if kind != test_elements.dtype or kind.kind not in "iuf" or kind.isbuiltin != 1 or type(invert) is not bool:
        return None
    if options.get("method", "auto") == "compare_all" or prod(element.shape) + prod(test_elements.shape) < _LONG:
        return None
    return ctx.call(
        lambda x, others: np.asarray(np.isin(x, others, invert=invert)), element, test_elements, nature=FRESH
    )


def _without_nan(ufunc: Any) -> Any:
    """NumPy's `fmax` and `fmin` prefer numbers to NaN, so that NaN is left where there is nothing else."""

    def build(
        ctx: Lowering,
        a: Value,
        axis: Any = None,
        out: None = None,
        keepdims: Any = False,
        initial: Value | None = None,
        where: Any = None,
    ) -> Value | None:
        if a.dtype not in _FLOATS or out is not None or initial is not None or where is not None:
            return None
        if not (axis is None or type(axis) is int) or not a.shape or 0 in a.shape:
            return None
        return ctx.call(lambda x: ufunc.reduce(x, axis, keepdims=bool(keepdims)), a, nature=FRESH)

    return build


whole(lower, numpy.nanmax)(_without_nan(np.fmax))
whole(lower, numpy.nanmin)(_without_nan(np.fmin))


@whole(lower, numpy.norm)
def _norm(ctx: Lowering, x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value | None:
    """The Euclidean one of all elements, as a product of the vector with itself."""
    if x.dtype not in _FLOATS or ord is not None or axis is not None or keepdims:
        return None
    root = x.dtype.type(0.5)

    def run(x: np.ndarray) -> np.ndarray:
        flat = x.ravel()
        return np.dot(flat, flat) ** root

    return ctx.call(run, x, nature=FRESH)
