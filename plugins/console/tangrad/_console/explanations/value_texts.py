"""What is known of a tracer, in words: values where they are at hand, types where they are large, or not there.

It is read in a debugger and printed in the middle of a transformation: it never raises, whatever state values are in,
and is never long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.dtypes import ExtendedDType

if TYPE_CHECKING:
    from tangrad.core import ShapedArray, Tracer

SMALL = 12  # elements of an array that is shown
DEEP = 3  # transformations within each other that are shown
LONG = 400  # characters


def tracer_text(tracer: Tracer, depth: int = 0) -> str:
    """The class with what is known: `JVPTracer(primal=6.0, tangent=1.0)`; with its type, where no value has that."""
    name = type(tracer).__name__
    try:
        known = tracer.known()
        brief = f"{name}<{tracer.aval.str_short()}>"
        if not known or depth >= DEEP:
            return brief
        inside = ", ".join([f"{key}={value_text(value, depth + 1)}" for key, value in known.items()])
        text = f"{name if _has_type(known, tracer.aval) else brief}({inside})"
        return text if len(text) <= LONG else brief
    except Exception:  # it is half made, or its values are gone
        return name


def value_text(value: Any, depth: int = 0) -> str:
    """An array as its number, its few elements with their type, or its type alone."""
    if hasattr(type(value), "known"):
        return tracer_text(value, depth)
    if isinstance(value, tuple):
        return f"({', '.join([value_text(item, depth) for item in value])})"
    aval = getattr(value, "aval", None)
    if aval is None:
        return _cut(" ".join(repr(value).split()))
    if not hasattr(value, "to_numpy") and not hasattr(value, "ndarray"):
        return repr(value)  # a symbolic zero
    short = str(aval.str_short())
    if isinstance(aval.dtype, ExtendedDType) or not all([type(n) is int for n in aval.shape]) or aval.size > SMALL:
        return short
    try:
        contents = value.ndarray if hasattr(value, "ndarray") else value.to_numpy()
    except Exception:  # deleted, or never computed: the device's errors are raised where the array is used
        return short
    if not aval.shape:
        return str(contents[()])
    text = np.array2string(np.asarray(contents), threshold=SMALL, separator=", ")
    return f"{' '.join(text.split())}:{short}"


def _has_type(known: Mapping[str, object], aval: ShapedArray) -> bool:
    """Whether a known value has the tracer's type, so that this need not be written."""
    return any([getattr(value, "aval", None) is aval for value in known.values()])


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
