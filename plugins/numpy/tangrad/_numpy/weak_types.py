"""Whether a result is weakly typed: takes the dtype of what it meets, as Python numbers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.operands import V, convert
from tangrad.core import Array, dtypes

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Value


def of_known_type(values: Sequence[ArrayLike], operands: Sequence[Value]) -> Sequence[Value]:
    """What `values` were promoted to, weakly typed only if all of them are, or have no dimensions.

    A weak result takes the dtype of what it meets: that must not happen to what an array of booleans became, because a
    Python number was beside it.
    """
    if not any([made.aval.weak_type for made in operands]):
        return operands
    if all([made.aval.weak_type for made in operands]):
        if not any([made.aval.shape for made in operands]) or all([dtypes.is_weakly_typed(one) for one in values]):
            return operands
    return [strong(made) for made in operands]


def strong(value: V) -> V:
    """An operand not weakly typed."""
    return convert(value, value.aval.dtype) if value.aval.weak_type else value


def strong_if_converted(value: Any, made: Array) -> Value:
    """What was made of `value`, not weakly typed if that is no float: the result of a conversion has its own dtype."""
    return made if dtypes.issubdtype(dtypes.dtype_of(value), np.inexact) else strong(made)
