"""The call that the user's program makes, on the way to what runs now, and what it hands over from the host.

Transfer guards ask here. Our own functions write numbers into what they compute, too, which copies nothing that anybody
asked for. So it is the user's call that counts, and what is an operand in it: a number, an array of NumPy.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

from tangrad.diagnostics.source_info import is_internal

# Parameters that say how something is computed, by the names that they have in all functions: no operands.
_NO_OPERANDS = frozenset(
    [
        *("N", "UPLO", "axes", "axis", "axis1", "axis2", "axis_size", "axisa", "axisb", "axisc", "base_dilation"),
        *("batch_axis", "batch_group_count", "batch_size", "broadcast_dimensions", "bucket_size", "column_axis"),
        *("concat_axis", "count", "decimals", "deg", "destination", "diff_n", "dim", "dimension", "dimensions"),
        *("dims", "edge_order", "exponent_bits", "feature_group_count", "fft_lengths", "filter_shape"),
        *("in_axis", "ind", "in_shape", "index_dtype", "indices_or_sections", "k", "kth", "length", "lhs_dilation"),
        *("lhs_shape", "limit_index", "limit_indices", "mantissa_bits", "max_iterations", "max_squarings"),
        *("maxiter", "minlength", "n", "n_iter", "n_max", "ndim", "ndmin", "new_shape", "new_sizes", "nfft"),
        *("noverlap", "nperseg", "num", "num_classes", "num_keys", "num_segments", "offset", "operand_shape", "order"),
        *("ord", "out_axis", "pad_width", "padding", "padding_config", "permutation", "permutation_size", "precision"),
        *("rank", "reps", "reverse", "rhs_dilation", "rhs_shape", "scatter_dimension", "series_order", "shape"),
        *("shapes", "size", "sizes", "slice_size", "slice_sizes", "source", "spatial_dims"),
        *("split_axis", "start_dimension", "stop_dimension", "stride", "strides", "subset_by_index"),
        *("total_repeat_length", "unroll", "window_dilation", "window_dimensions", "window_shape"),
        *("window_strides"),
    ]
)
_FROM_HOST = (int, float, complex, np.generic, np.ndarray)
_FORWARDING = ("forwarding_operator", "reflected_operator")  # of arrays, to the operation
_REST, _OTHERS = 0x4, 0x8  # flags of code objects: *args, **kwargs


def users_call() -> FrameType | None:
    """The frame of the function of ours that the user's program calls, on the way here; None where it calls none."""
    called: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        if frame.f_code.co_name not in _FORWARDING:
            called = frame
        frame = frame.f_back
    return called


def hands_on(frame: FrameType) -> bool:
    """Whether a call is of what we made of a function of the user's, which is handed the arguments."""
    function = _function(frame)
    return bool(frame.f_code.co_flags & _REST) and (function is None or hasattr(function, "__wrapped__"))


def copies_from_host(frame: FrameType) -> str:
    """What of a call is on the host: "operands", "numbers" (positions, or its own), or nothing: "".

    Modules say by a global name, COPIES_FROM_HOST, which of their functions have numbers: the name of one -> True, as
    for `ones`, or a function of the arguments, which then says all there is to say, as for x[0].
    """
    function = _function(frame)
    names, code = (frame.f_globals, frame.f_code) if function is None else (function.__globals__, function.__code__)
    rules: Mapping[str, Any] = names.get("COPIES_FROM_HOST", {})
    given = dict(_arguments(frame, function))
    rule = rules.get(code.co_name)
    if rule is not None:
        return "numbers" if rule is True or rule(given) else ""
    usual = _usual(function)
    found = [name for name, value in given.items() if is_from_host(value) and not _says_how(name, value, usual)]
    return "operands" if found else ""


def is_from_host(value: Any) -> bool:
    """Whether a value is a number or array on the host, or a list, tuple or dictionary with one in it."""
    if isinstance(value, (list, tuple)):
        return value == [] or any(map(is_from_host, value))
    if isinstance(value, dict):
        return any(map(is_from_host, value.values()))
    return isinstance(value, _FROM_HOST) or getattr(type(value), "backend", 0) is None


def _says_how(name: str, value: Any, usual: Mapping[str, Any]) -> bool:
    """Whether an argument is no operand: by its name, or a flag, or what stands there where nothing is given."""
    default = usual.get(name, usual)
    return name in _NO_OPERANDS or name.startswith("*") or value is default or type(default) is bool


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


def _arguments(frame: FrameType, function: Any) -> Iterator[tuple[str, Any]]:
    """The arguments of a call by the names of the parameters; with a star those that go on to functions of users."""
    code, given = frame.f_code, frame.f_locals
    names = list(code.co_varnames)
    own = [names.pop(0) for _ in range(code.co_argcount + code.co_kwonlyargcount)]
    starred = names[0] if code.co_flags & _REST else ""
    rest = given.get(names.pop(0), ()) if code.co_flags & _REST else ()
    others = given.get(names.pop(0), {}) if code.co_flags & _OTHERS else {}
    for name in own:
        yield name, given.get(name)
    if function is None or hasattr(function, "__wrapped__"):
        yield from (("*rest", rest), ("*others", others))
        return
    parameters = inspect.signature(function).parameters
    free = [name for name, one in parameters.items() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    free = free[code.co_argcount :]
    yield from zip(free, rest)
    yield starred, rest[len(free) :]
    yield from others.items()


def _usual(function: Any) -> dict[str, Any]:
    """What a function's parameters are where nothing is given."""
    if function is None:
        return {}
    return {name: one.default for name, one in inspect.signature(function).parameters.items()}
