"""The settings that `tangrad.numpy` reads, and what two of them refuse of operands."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.core import dtypes, get_aval, thread
from tangrad.core.arguments import can_represent_array
from tangrad.core.settings import define_choice

if TYPE_CHECKING:
    from tangrad.typing import Dimensions

# --- The settings that `tangrad.numpy` reads ---


numpy_rank_promotion = define_choice(
    "numpy_rank_promotion", "allow", ("allow", "warn", "raise"), "What broadcasting between different ranks does."
)


# ----------------------------------------------------------------------------------------------------------------------
# What the settings `numpy_rank_promotion` and `numpy_dtype_promotion` refuse of the operands that users mix.


PREPARES_OPERANDS = True  # `written_by_user` asks: functions here are called for others


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array or number, without converting it."""
    aval = value.aval if hasattr(type(value), "aval") else None
    if aval is not None:
        return aval.shape
    if isinstance(value, (np.ndarray, np.generic)):
        return value.shape
    return get_aval(value).shape if can_represent_array(value) else ()


# Functions whose operands are of different ranks as a matter of course: JAX broadcasts these under every setting, too.
_OF_ANY_RANKS = frozenset({"where", "heaviside", "nan_to_num"})


def check_rank_promotion(name: str, shapes: Iterable[Dimensions]) -> None:
    """The setting `numpy_rank_promotion`: whether operands of different ranks are broadcast without being asked."""
    if thread.numpy_rank_promotion == "allow" or len({len(shape) for shape in shapes}) < 2 or name in _OF_ANY_RANKS:
        return
    if not dtypes.written_by_user(name):  # our own functions broadcast as they need to
        return
    listed = " ".join([str(shape) for shape in shapes])
    message = (
        f"operands of different ranks are broadcast in {name}: shapes {listed}. "
        f"The setting numpy_rank_promotion is {thread.numpy_rank_promotion!r}; add dimensions with x[None] or reshape."
    )
    if thread.numpy_rank_promotion == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=dtypes.user_stack_level())


def check_promotion(name: str, *values: object) -> None:
    """What settings refuse, of the operands of a function that hands them on to others: they would let them pass."""
    if thread.numpy_rank_promotion != "allow":
        check_rank_promotion(name, [shape for shape in map(shape_of, values) if shape])
    check_dtypes(name, *values)


def check_dtypes(name: str, *values: object) -> None:
    """As `check_promotion`, of operands that may have any ranks."""
    if thread.numpy_dtype_promotion == "strict":
        dtypes.lattice_result_type(*values, function_name=name)
