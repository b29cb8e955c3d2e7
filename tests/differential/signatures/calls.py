"""Two signatures held against each other: what a caller of the one cannot write for the other."""

import enum
import inspect
import math
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import Any

import numpy

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature, None where Python knows none (functions in C)."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def refused(theirs: inspect.Signature, ours: inspect.Signature) -> Iterator[str]:
    """What calls of `theirs` say that `ours` does not understand, argument by argument.

    "x": no such keyword; "x by position": it is another one's place, or nobody's; "x=": another default; "x missing": it
    may be left out there, and not here; "*args", "**kwargs": there may be any more.
    """
    positional = [item for item in ours.parameters.values() if item.kind in POSITIONAL]
    kinds = {item.kind for item in ours.parameters.values()}
    any_position, any_name = Parameter.VAR_POSITIONAL in kinds, Parameter.VAR_KEYWORD in kinds
    their_positions = 0
    for name, wanted in theirs.parameters.items():
        found = ours.parameters.get(name)
        if wanted.kind is Parameter.VAR_POSITIONAL:
            if not any_position:
                yield f"*{name}"
            continue
        if wanted.kind is Parameter.VAR_KEYWORD:
            if not any_name:
                yield f"**{name}"
            continue
        place = None
        if wanted.kind in POSITIONAL:
            place = positional[their_positions] if their_positions < len(positional) else None
            their_positions += 1
        if wanted.kind in NAMED and not any_name and (found is None or found.kind not in NAMED):
            yield name
        elif wanted.kind in POSITIONAL and place is None and not any_position:
            yield f"{name} by position"
        elif wanted.kind is Parameter.POSITIONAL_OR_KEYWORD and place is not None and place.name != name:
            yield f"{name} by position"
        stands_for = found if found is not None and found.kind in (*POSITIONAL, *NAMED) else place
        if wanted.default is not Parameter.empty and stands_for is not None:
            if stands_for.default is Parameter.empty:
                yield f"{name} missing"
            elif not same_default(wanted.default, stands_for.default):
                yield f"{name}="
    for name, item in ours.parameters.items():
        if item.default is Parameter.empty and item.kind is Parameter.KEYWORD_ONLY and name not in theirs.parameters:
            yield f"{name} missing"
    if not any(item.kind is Parameter.VAR_POSITIONAL for item in theirs.parameters.values()):
        for item in positional[their_positions:]:
            if item.default is Parameter.empty and item.name not in theirs.parameters:
                yield f"{item.name} missing"


def same_default(theirs: Any, ours: Any) -> bool:
    """Whether leaving the argument out means the same, as far as the two values tell.

    A marker that stands for "nothing was said" tells nothing, so it is equal to all.
    """
    if is_marker(theirs) or is_marker(ours):
        return True
    if isinstance(theirs, enum.Enum) and isinstance(ours, enum.Enum):
        return theirs.name == ours.name
    if isinstance(theirs, float) and isinstance(ours, float) and math.isnan(theirs):
        return math.isnan(ours)
    if type(theirs) is type(ours) and not callable(theirs):
        return repr(theirs) == repr(ours)
    if is_number(theirs) and is_number(ours):
        return bool(theirs == ours)
    if (one := as_dtype(theirs)) is not None and (other := as_dtype(ours)) is not None:
        return one == other
    if callable(theirs) and callable(ours):
        return name_of(theirs) == name_of(ours)
    return False


def is_marker(value: Any) -> bool:
    """Whether it is one of the objects that only say that an argument was left out."""
    words = ("unspecified", "deprecated", "sentinel", "notgiven", "not_given", "unset", "novalue")
    kind = type(value).__name__.lower().lstrip("_")
    return type(value) is object or any(kind.startswith(word) for word in words)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, numpy.number)) and not isinstance(value, bool)


def as_dtype(value: Any) -> numpy.dtype | None:
    """The dtype that a default names: by a type, an object or a string."""
    if value is None:
        return None
    try:
        return numpy.dtype(getattr(value, "dtype", value))
    except TypeError:
        return None


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))
