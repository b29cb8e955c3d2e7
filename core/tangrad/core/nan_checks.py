"""The settings `debug_nans` and `debug_infs`: an error at the operation that makes a NaN or an infinity.

The bottom trace gets a checking version when one of the settings is first turned on; until then it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad.core import dtypes
from tangrad.core.array import Array
from tangrad.core.config import debug_infs, debug_nans, thread
from tangrad.core.trace import EvalTrace, Tracer


def is_checking() -> bool:
    """Whether results are to be checked, in this thread, now."""
    return bool(thread.debug_nans or thread.debug_infs)


is_checking_values = is_checking  # the name under which the kernel hands it on


def bad_value(outs: Sequence[Any]) -> str | None:
    """What the settings forbid and the arrays contain: "nan", "inf", or None."""
    for out in outs:
        if not isinstance(out, Array) or isinstance(out, Tracer) or not dtypes.issubdtype(out.aval.dtype, np.inexact):
            continue
        contents = out.to_numpy()
        if contents.dtype.kind not in "fc":  # bfloat16 and the like
            contents = contents.astype(np.float32)
        if thread.debug_nans and np.isnan(contents).any():
            return "nan"
        if thread.debug_infs and np.isinf(contents).any():
            return "inf"
    return None


def error_for(what: str, where: str) -> FloatingPointError:
    """The error for a value `what` made by `where`."""
    place = thread.source
    at = f", at {place.summarize()}" if place is not None else ""
    return FloatingPointError(f"invalid value ({what}) made by {where}{at}")


_plain = EvalTrace.process_primitive


def _checked(self: EvalTrace, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    out = _plain(self, primitive, args, params)
    if is_checking():
        found = bad_value(out if primitive.multiple_results else (out,))
        if found is not None:
            raise error_for(found, f"primitive {primitive.name!r}")
    return out


def _start_checking(value: Any) -> None:
    if value:
        EvalTrace.process_primitive = _checked  # type: ignore[method-assign]


for _setting in (debug_nans, debug_infs):
    _setting.on_change = _start_checking
    _start_checking(_setting.value)
