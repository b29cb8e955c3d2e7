"""A value with the constraint that it lies in a certain way."""

from __future__ import annotations

from typing import Any

from tangrad.core import Array, Tracer, as_array, as_operand
from tangrad.errors import UnexpectedTracerError
from tangrad.shardings.primitives import sharding_constraint_p


def constrained(value: Any, sharding: Any) -> Any:
    """`value`, constrained to lie as a sharding says. Raises ValueError for a shape that it cannot cut."""
    if isinstance(value, Tracer) and not value._trace.alive:
        raise UnexpectedTracerError(value)
    operand = value if isinstance(value, Array) else as_operand(value)
    return as_array(sharding_constraint_p.bind(operand, sharding=sharding))
