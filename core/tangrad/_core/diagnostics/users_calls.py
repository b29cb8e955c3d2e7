"""The call that the user's program makes, on the way to what runs now: who wrote an operation, and on what.

Settings that refuse what users may not have meant (operands of different ranks or dtypes) are about the calls that they
write. Our own functions, and the rules that run under transformations, broadcast and promote inside as they need to. So
a function that is about to raise asks here first; that costs nothing where nothing is refused.

Our own functions write numbers into what they compute, too, which is no copy of the user's. So it is the
user's call that counts for transfer guards, and what is an operand in it.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

import numpy as np

from tangrad._core.diagnostics.source_info import callers_of, is_internal

# --- who wrote an operation ------------------------------------------------------------------------------------------

# Public names of one operation beside the one that its messages have.
_ALIASES = {
    "divide": ("true_divide",),
    "remainder": ("mod",),
    "power": ("pow",),
    "absolute": ("abs",),
    "concatenate": ("concat",),
}


def written_by_user(function_name: str) -> bool:
    """Whether the user's program calls the public function `function_name` itself.

    It also does where a transformation calls what the user handed to it, as in `vmap(numpy.add)(x, y)`. It does not
    where one of our functions names `function_name`, or uses an operator.
    """
    name = function_name.rpartition(".")[2]
    names = {name, *_ALIASES.get(name, ())}
    by_operator, file = False, ""
    for frame in callers_of(sys._getframe(1)):
        code = frame.f_code
        if not is_internal(code.co_filename):
            return True
        own = code.co_name.strip("_")
        if code.co_name.endswith("operator") or (code.co_name.startswith("__") and own not in ("call", "getattr")):
            by_operator = True
        elif frame.f_globals.get("PREPARES_OPERANDS", False) is True:  # of a module that does so for all functions
            pass
        elif own.startswith(name) and file in ("", code.co_filename):
            file = code.co_filename  # the function itself; those of its name in other modules may call it
        elif by_operator or not names.isdisjoint(code.co_names):
            return False
    return True


# --- what it hands over from the host -------------------------------------------------------------------------------

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


def _users_call() -> FrameType | None:
    """The frame of the function of ours that the user's program calls, on the way here; None where it calls none."""
    called = None
    for frame in callers_of(sys._getframe(1)):
        if not is_internal(frame.f_code.co_filename):
            break
        if frame.f_code.co_name not in ("forwarding_operator", "reflected_operator"):  # of arrays, to the operation
            called = frame
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
