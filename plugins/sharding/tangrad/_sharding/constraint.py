"""A value with a sharding constraint."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._sharding.primitives import fully_constrained, sharding_constraint_p
from tangrad.core import EVAL_TRACE, Array, Sharding, Tracer, as_array, as_operand, get_aval, thread
from tangrad.errors import UnexpectedTracerError

NUMBERS = "biufc"  # NumPy's kinds of dtypes whose contents are those of an array's buffer


def constrained(value: Any, sharding: Sharding) -> Array:
    """`value`, constrained to a sharding. Raises ValueError for a shape that it cannot cut."""
    if isinstance(value, Tracer) and not value._trace.alive:
        raise UnexpectedTracerError(value)
    if type(value) is np.ndarray and value.dtype.kind in NUMBERS and thread.trace is EVAL_TRACE:
        sharding.check_shape(value.shape)  # part by part from the host, not as a whole by way of the first device
        return sharding.device_order[0].backend.put(value, get_aval(value), fully_constrained(sharding, value.ndim))
    operand = value if isinstance(value, Array) else as_operand(value)
    return as_array(sharding_constraint_p.bind(operand, sharding=sharding))
