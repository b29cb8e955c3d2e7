"""Samples of foreign functions, for the conformance kit."""

from __future__ import annotations

from ctypes import c_float
from typing import Any

import numpy as np

from tangrad._ffi import frames
from tangrad._ffi.calls import ffi_call, ffi_call_p
from tangrad._ffi.frames import buffer, handler
from tangrad._ffi.targets import register_ffi_target
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import ShapedArray

_seen: list[object] = []


@handler
def _scale(frame: Any) -> None:
    """Operands of another shape than the declared result are left alone: a handler cannot refuse them in Python."""
    factor = c_float.from_address(frames.ScalarAttribute.from_address(frame.attrs.attrs[0]).value).value
    source, result = buffer(frame.args, 0, c_float), buffer(frame.rets, 0, c_float)
    _seen.append(source.copy())
    if source.shape == result.shape:
        with np.errstate(all="ignore"):  # huge numbers overflow
            result[...] = source * np.float32(factor)


def _take() -> list[object]:
    """The operands of the calls since the last time."""
    seen = list(_seen)
    _seen.clear()
    return seen


DECLARED = "the shapes and dtypes of the results are declared for these operands"


def samples() -> list[Sample]:
    """All of them."""
    register_ffi_target("tangrad.samples.scale", _scale)
    x = draw(2, 3)
    return [
        *[_sample(x, method) for method in ("sequential", "expand_dims", "broadcast_all")],
        _sample(x, "sequential", has_side_effect=True),
        _sample(x, "broadcast_all", input_output_aliases={0: 0}),
        _sample(x, "broadcast_all", input_layouts=[(1, 0)], output_layouts=(1, 0)),
    ]


def _sample(x: np.ndarray, method: str, **options: Any) -> Sample:
    call = ffi_call("tangrad.samples.scale", ShapedArray(x.shape, x.dtype), vmap_method=method, **options)
    _, params = recorded(ffi_call_p, lambda: call(x, factor=np.float32(3)))
    observe = _take if options.get("has_side_effect") else None
    without = dict.fromkeys(("sizes", "dtypes"), DECLARED)
    return Sample(ffi_call_p, (x,), params, derivatives=0, without=without, observe=observe)
