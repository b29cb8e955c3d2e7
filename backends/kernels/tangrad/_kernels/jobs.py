"""Jobs: what a kernel is called with for one equation, whichever backend calls it."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

from tangrad.core import ShapedArray, dtypes

# As in native/kernel.h.
NAMES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = {name: number for number, name in enumerate((*NAMES, "float16", "bfloat16"))}


class Job(NamedTuple):
    """A call of the kernel `name`.

    Attributes:
        plan: integers, whose meaning the kernel states.
        on_numpy: whether it is faster than what NumPy has for it.
    """

    name: str
    plan: tuple[int, ...]
    on_numpy: bool = True


# From the types of an equation's operands, and its parameters, to the job; None for what the kernel does not take.
Describe = Callable[..., Job | None]


def number_of(aval: ShapedArray, among: Container[str]) -> int | None:
    """The number of the dtype, if it is one of those."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return None
    name = "uint8" if aval.dtype == bool else dtypes.dtype_name(aval.dtype)
    return NUMBERS[name] if name in among else None


def is_known(aval: ShapedArray) -> bool:
    """Whether all sizes are numbers."""
    return all([type(size) is int for size in aval.shape])


def around(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """How many elements are before an axis, along it, and behind it."""
    outer = inner = 1
    for size in shape[:axis]:
        outer *= size
    for size in shape[axis + 1 :]:
        inner *= size
    return outer, shape[axis], inner


Params = dict[str, Any]
