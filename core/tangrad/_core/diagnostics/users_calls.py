"""The call that the user's program makes, on the way to what runs now, and what it hands over from the host.

Our own functions write numbers into what they compute, too, which is no copy of the user's. So it is the
user's call that counts for transfer guards, and what is an operand in it.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any, cast

import numpy as np

from tangrad._core.diagnostics.source_info import is_internal

# Parameters that say how something is computed, by the names that they have in all functions: no operands.
_HOW = """
N UPLO axes axis axis1 axis2 axis_size axisa axisb axisc base_dilation batch_axis batch_group_count batch_size
broadcast_dimensions bucket_size column_axis concat_axis count decimals deg destination diff_n dim dimension
dimensions dims edge_order exponent_bits feature_group_count fft_lengths filter_shape in_axis ind in_shape index_dtype
indices_or_sections k kth length lhs_dilation lhs_shape limit_index limit_indices mantissa_bits max_iterations
max_squarings maxiter minlength n n_iter n_max ndim ndmin new_shape new_sizes nfft noverlap nperseg num num_classes
num_keys num_segments offset operand_shape order ord out_axis pad_width padding padding_config permutation
permutation_size precision rank reps reverse rhs_dilation rhs_shape s scatter_dimension series_order shape shapes size
sizes slice_size slice_sizes source spatial_dims split_axis start_dimension stop_dimension stride strides
subset_by_index total_repeat_length unroll window_dilation window_dimensions window_shape window_strides
"""
_NO_OPERANDS = frozenset(_HOW.split())
_FROM_HOST = (int, float, complex, np.generic, np.ndarray)


def _users_call() -> Any:
    """The frame of the function of ours that the user's program calls, on the way here; None where it calls none."""
    called, frame = None, cast(Any, sys._getframe(1))
    while frame is not None and is_internal(frame.f_code.co_filename):
        if frame.f_code.co_name not in ("forwarding_operator", "reflected_operator"):  # of arrays, to the operation
            called = frame
        frame = frame.f_back
    return called


def what_is_copied(put: bool) -> str:
    """What of the user's call is on the host: "operands", "numbers" (positions, or its own), or nothing: "".

    `put`: asked for what is being put on a device, which may be what a function of the user's is handed.

    Modules say by a global name, COPIES_FROM_HOST, which of their functions have numbers: the name of one -> True, as
    for `ones`, or a function of the arguments, which then says all there is to say, as for x[0].
    """
    frame = _users_call()
    if frame is None:
        return ""
    function = _function(frame)
    names, code = (frame.f_globals, frame.f_code) if function is None else (function.__globals__, function.__code__)
    given, usual = _arguments(frame, function)
    if put and "*" in given and frame.f_code.co_flags & inspect.CO_VARARGS:
        return "operands"
    rule = names.get("COPIES_FROM_HOST", {}).get(code.co_name)
    if rule is not None:
        return "numbers" if rule is True or rule(given) else ""
    for name, value in given.items():
        default = usual.get(name, usual)
        says_how = name == "*" or name in _NO_OPERANDS or value is default or type(default) is bool
        if not says_how and is_from_host(value):
            return "operands"
    return ""


def is_from_host(value: Any) -> bool:
    """Whether a value is a number or array on the host, or a list, tuple or dictionary with one in it."""
    if isinstance(value, (list, tuple, dict)):
        return value == [] or any(map(is_from_host, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _FROM_HOST) or getattr(type(value), "backend", 0) is None


def _function(frame: FrameType) -> Any:
    """The function that a boundary stands for, as it is written; None where the frame is of the function itself."""
    found: Any = frame.f_globals.get("_tangrad_function")
    if found is None and "function" in frame.f_code.co_freevars:
        found = frame.f_locals.get("function")
    while _is_ours(inner := getattr(found, "__wrapped__", None)):
        found = inner
    return found if _is_ours(found) else None


def _is_ours(function: Any) -> bool:
    return inspect.isfunction(function) and is_internal(function.__code__.co_filename)


def _arguments(frame: FrameType, function: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a call by the names of the parameters, and what these are where nothing is given."""
    names, starred, others, values = inspect.getargvalues(frame)
    given, rest = {name: values.get(name) for name in names}, values.get(starred or "", ())
    if function is None or hasattr(function, "__wrapped__"):  # of a function of the user's: unknown
        return given | {"*": rest}, {}
    parameters = inspect.signature(function).parameters
    free = [name for name, one in parameters.items() if one.kind <= one.POSITIONAL_OR_KEYWORD][len(names) :]
    given |= dict(zip(free, rest)) | {starred or "*": rest[len(free) :]} | values.get(others or "", {})
    return given, {name: one.default for name, one in parameters.items()}
