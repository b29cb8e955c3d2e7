"""Small arrays on the host: what NumPy computes where the contents of arrays decide the shape of the result.

A backend that compiles would need a program for each shape, and NumPy has a function for what takes many operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.new_arrays import HOST_LIMIT, array_of
from tangrad.core import EVAL_TRACE, Tracer, dtypes, get_backend, thread

if TYPE_CHECKING:
    from tangrad.typing import Value

_KINDS = frozenset("biuf")  # of dtypes whose order is NumPy's
_LONG = 1000  # elements from which on NumPy's stable order takes longer than another


def contents_on_host(x: Value) -> np.ndarray | None:
    """The contents of an array that NumPy may compute with, not to be written to; None: by operations.

    Where results are looked at one by one, or the user said on which device they are to be, there are operations.
    """
    aval = x.aval
    if thread.trace is not EVAL_TRACE or EVAL_TRACE.watched or isinstance(x, Tracer):
        return None
    if aval.dtype.kind not in _KINDS:
        return None
    if thread.default_device is not None or x.backend is not get_backend() or x.committed:
        return None
    if aval.size > HOST_LIMIT and x.device.platform != "cpu":  # whose memory is another
        return None
    return x.to_numpy()


def unique_on_host(
    x: np.ndarray, weak_type: bool, equal_nan: bool, wanted: tuple[bool, bool, bool]
) -> tuple[Value | None, ...]:
    """The different numbers of a vector that is not empty; of equal ones the first, as zeros have signs.

    And, where wanted, where each is first, the positions that rebuild the vector, and the counts.
    """
    kind, length = dtypes.default_int_dtype(), len(x)
    order: Any = x.argsort(kind="stable") if wanted[0] or wanted[1] else None
    quick = length > _LONG and order is None
    ordered = x[order] if order is not None else np.sort(x, kind=None if quick else "stable")
    starts = np.empty(length, bool)
    starts[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    if equal_nan and ordered[-1] != ordered[-1]:  # NaN comes last
        starts[ordered.searchsorted(ordered[-1]) + 1 :] = False
    places = starts.nonzero()[0]
    if quick and x.dtype.kind == "f":  # zeros of both signs came in any order
        zero = int(ordered[places].searchsorted(0))
        if zero < len(places) and ordered[places[zero]] == 0:
            ordered[places[zero]] = x[(x == 0).argmax()]
    first = array_of(order[places].astype(kind)) if wanted[0] else None
    rebuilt = counts = None
    if wanted[1]:
        numbers = np.empty(length, kind)
        numbers[order] = starts.cumsum() - 1
        rebuilt = array_of(numbers)
    if wanted[2]:
        ends = np.append(places[1:], length)
        counts = array_of((ends - places).astype(kind))
    return array_of(ordered[places], weak_type), first, rebuilt, counts
