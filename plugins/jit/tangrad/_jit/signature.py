"""Static and donated arguments: how they are declared, checked against the signature, and taken out of a call."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

Hashed = TypeVar("Hashed")

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def signature_of(function: Callable[..., object]) -> inspect.Signature | None:
    """The signature of a function, or None where it has none: some builtins, objects that answer to any attribute."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError, AttributeError):
        return None


def positions(value: object, what: str) -> tuple[int, ...]:
    """`static_argnums` and the like as a tuple of integers. Raises TypeError."""
    if value is None:
        return ()
    value = value.tolist() if isinstance(value, np.ndarray) else value
    items = value if isinstance(value, (tuple, list, set, frozenset, range)) else (value,)
    try:
        return tuple([operator.index(item) for item in items])
    except TypeError:
        raise TypeError(f"{what} must be an integer or a sequence of integers, got {value!r}") from None


def names(value: Any, what: str) -> tuple[str, ...]:
    """`static_argnames` and the like as a tuple of strings. Raises TypeError."""
    if value is None:
        return ()
    items: Iterable[Any] = (value,) if isinstance(value, str) else value
    try:
        found = tuple(items)
    except TypeError:
        found = (value,)
    for item in found:
        if not isinstance(item, str):
            raise TypeError(f"{what} must be a string or a sequence of strings, got {value!r}")
    return found


def infer_other(
    signature: inspect.Signature | None, argnums: object, argnames: object, what: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the arguments declared, checked; one inferred from the other where only one is given."""
    given_positions, given_names = positions(argnums, f"{what}_argnums"), names(argnames, f"{what}_argnames")
    if signature is None:
        return given_positions, given_names
    parameters = list(signature.parameters.values())
    check_positions(parameters, given_positions, f"{what}_argnums")
    check_names(parameters, given_names, f"{what}_argnames")
    if argnums is not None and argnames is not None:
        return given_positions, given_names
    if argnames is None:
        count = len(parameters)
        chosen = [parameters[p] for p in given_positions if -count <= p < count]
        return given_positions, tuple([p.name for p in chosen if p.kind in _BY_NAME])
    by_position = [p.name for p in parameters if p.kind in _POSITIONAL]
    return tuple([by_position.index(name) for name in given_names if name in by_position]), given_names


def check_positions(parameters: Sequence[inspect.Parameter], given: Sequence[int], what: str) -> None:
    """Raise ValueError for a position that the signature does not have."""
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return
    count = len([p for p in parameters if p.kind in _POSITIONAL])
    for position in given:
        if not -count <= position < count:
            raise ValueError(f"{what} has {position}, but the function takes {count} positional arguments")


def check_names(parameters: Sequence[inspect.Parameter], given: Sequence[str], what: str) -> None:
    """Raise ValueError for a name that the signature does not have."""
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return
    valid = [p.name for p in parameters if p.kind in _BY_NAME]
    for name in given:
        if name not in valid:
            raise ValueError(f"{what} has {name!r}, but the function's arguments are {', '.join(valid) or 'none'}")


def check_hashable(value: Hashed, where: str) -> Hashed:
    """Return a static value; raise ValueError naming the argument if it cannot be part of a cache key."""
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"static argument {where} must be hashable, got {value!r} of type {type(value).__name__}; "
            "use a tuple in place of a list, or leave the argument traced"
        ) from None
    return value
