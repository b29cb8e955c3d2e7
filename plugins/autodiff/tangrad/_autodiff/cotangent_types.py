"""Cotangents of values whose types have more than shape and dtype: a sharding, say.

A cotangent has the type of its value. Transpose rules need not know: they get operands of plain types, among which
nothing is unclear, and what they return is sharded as the value is, summed over the axes that its type does not record,
and marked as differing along those that it does: what a device is given of a sum is a cotangent of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._autodiff.varying import marked, summed
from tangrad._autodiff.zeros import Linear, linear_placeholders
from tangrad.core import as_operand, get_aval, is_array_value, thread

if TYPE_CHECKING:
    from tangrad.autodiff import Zero
    from tangrad.typing import Value


def with_plain_type(value: Any) -> Value | Zero | Linear:
    """A value, or the placeholder of one, with the plain type."""
    if type(value) is Linear:
        return value if value.aval.infer_types is None else linear_placeholders[value.aval.plain]
    if not is_array_value(value):  # a symbolic zero
        return value
    aval: Any = get_aval(value)
    return value if aval.infer_types is None else aval.as_plain(value)


def with_type_of(cotangent: Value, aval: Any) -> Value | Zero:
    """A cotangent of a value of type `aval`: of just that type, as far as types have more than shape and dtype."""
    value = as_operand(cotangent)
    if thread.typed_axes is not None:
        value = marked(summed(value, aval), aval)
    found: Any = value.aval
    if found is aval or (aval.infer_types is None and found.infer_types is None):
        return value
    if aval.infer_types is None:
        return found.as_plain(value)
    return value if found.infer_types is not None and found.axes == aval.axes else aval.constrain(value)
