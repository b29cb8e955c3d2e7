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

    "x": no such keyword; "x by position": its place is another one's, or no one's; "x=": another default; "x missing":
    it may be left out there, and not here; "*args", "**kwargs": there may be any more. Keyword-only arguments whose
    names begin with an underscore are private.
    """
    own = list(ours.parameters.values())
    places = iter([item for item in own if item.kind in POSITIONAL])
    kinds = {item.kind for item in own}
    for name, wanted in theirs.parameters.items():
        if wanted.kind is Parameter.VAR_POSITIONAL:
            yield from [f"*{name}"] if wanted.kind not in kinds else []
        elif wanted.kind is Parameter.VAR_KEYWORD:
            yield from [f"**{name}"] if wanted.kind not in kinds else []
        elif not (name.startswith("_") and wanted.kind is Parameter.KEYWORD_ONLY):
            place = next(places, None) if wanted.kind in POSITIONAL else None
            yield from _refused_argument(wanted, place, ours.parameters.get(name), kinds)
    taken = {item.name for item in theirs.parameters.values()}
    for item in [item for item in own if item.kind is Parameter.KEYWORD_ONLY] + list(places):
        if item.default is Parameter.empty and item.name not in taken:
            yield f"{item.name} missing"


def _refused_argument(
    wanted: Parameter, place: Parameter | None, named: Parameter | None, kinds: set[Any]
) -> Iterator[str]:
    """The same for one argument; `place`: what is at its position here, `named`: what has its name."""
    by_name = named is not None and named.kind in NAMED
    if wanted.kind in NAMED and not by_name and Parameter.VAR_KEYWORD not in kinds:
        yield wanted.name
    elif wanted.kind in POSITIONAL and place is None:
        yield from [f"{wanted.name} by position"] if Parameter.VAR_POSITIONAL not in kinds else []
    elif wanted.kind is Parameter.POSITIONAL_OR_KEYWORD and place is not None and place.name != wanted.name:
        yield f"{wanted.name} by position"
    found = named if named is not None and named.kind in (*POSITIONAL, *NAMED) else place
    if found is not None and wanted.default is not Parameter.empty:
        if found.default is Parameter.empty:
            yield f"{wanted.name} missing"
        elif not same_default(wanted.default, found.default):
            yield f"{wanted.name}="


def same_default(theirs: Any, ours: Any) -> bool:
    """Whether leaving the argument out means the same, as far as the two values show.

    A marker that stands for "nothing was said" shows nothing, so it is equal to all.
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
    words = ("unspecified", "notspecified", "deprecated", "sentinel", "notgiven", "unset", "nodefault", "novalue")
    kind = type(value).__name__.lower().replace("_", "")
    return type(value) is object or kind.startswith(words)


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
