"""Donated arguments that cannot be donated: an array that stands among the arguments twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad.jitting.call import Call


def check_not_shared(call: Call, donated: Sequence[bool], arrays: Sequence[Any], name: str) -> None:
    """Raise ValueError if the buffer of a donated argument is that of another argument too."""
    if not any(donated):
        return
    first = {id(array): position for position, array in reversed(list(enumerate(arrays)))}
    for position, array in enumerate(arrays):
        other = first[id(array)]
        if other != position and (donated[position] or donated[other]):
            given = position if donated[position] else other
            raise ValueError(
                f"{name}: argument {call.path(given)} is donated, and its array is both {call.path(other)} and "
                f"{call.path(position)}: what is overwritten as one cannot be read as the other; pass a copy"
            )


def refusing_shared(execute: Callable[[Any], Any], call: Call, name: str) -> Callable[[Any], Any]:
    """A program that first looks whether its donated arguments can be; itself, where there is one argument."""
    donated = call.donated()
    if len(donated) < 2:
        return execute

    def run(arrays: Any) -> Any:
        check_not_shared(call, donated, arrays, name)
        return execute(arrays)

    return run
