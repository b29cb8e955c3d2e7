"""Donated arguments: which a program takes over, and which it cannot."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from tangrad._jit.call import Call, Traced
from tangrad.core import dce_jaxpr, dtypes
from tangrad.core.programs import usable_donations

if TYPE_CHECKING:
    from tangrad.typing import Value

_USER = 6  # frames up to who called the jitted function


def taken_over(call: Call, traced: Traced, keep_unused: bool) -> tuple[bool, ...]:
    """For each leaf of the arguments, whether the program overwrites it.

    Warns of donated ones that it uses, and whose buffer no result can take over: none has their size. Those that it
    does not use are not handed on to it.
    """
    given = (*[False] * len(traced.outer), *call.donated())
    if not any(given):
        return call.donated()
    jaxpr, used = dce_jaxpr(traced.jaxpr.jaxpr, [True] * len(traced.jaxpr.out_avals), instantiate=keep_unused)
    donated = list(compress(given, used))
    places = [position - len(traced.outer) for position in compress(range(len(given)), used)]
    usable = dict(zip(places, usable_donations(jaxpr, donated), strict=True))
    useless = [place for place, give in zip(places, donated, strict=True) if give and not usable[place]]
    if useless:
        _warn_of(call, useless)
    return tuple([usable.get(place, False) for place in range(len(call.leaves))])


def _warn_of(call: Call, useless: Sequence[int]) -> None:
    which = ", ".join([f"{call.path(place)}: {_long_name(call.leaves[place].aval)}" for place in useless])
    text = f"Some donated buffers were not usable, since no result has their size: {which}"
    warnings.warn(text, UserWarning, stacklevel=_USER)


def _long_name(aval: Any) -> str:
    return f"{dtypes.dtype_name(aval.dtype)}[{','.join(map(str, aval.shape))}]"


def check_not_shared(path: Callable[[int], str], donated: Sequence[bool], arrays: Sequence[Value], name: str) -> None:
    """Raise ValueError if the buffer of an argument that is overwritten is that of another argument too.

    `path`: what the argument at a position is called.
    """
    if not any(donated):
        return
    first = {id(array): position for position, array in reversed(list(enumerate(arrays)))}
    for position, array in enumerate(arrays):
        other = first[id(array)]
        if other != position and (donated[position] or donated[other]):
            given = position if donated[position] else other
            raise ValueError(
                f"{name}: argument {path(given)} is donated, and its array is both {path(other)} and "
                f"{path(position)}: what is overwritten as one cannot be read as the other; pass a copy"
            )


def refusing_shared(
    execute: Callable[[Any], Any], call: Call, donated: Sequence[bool], name: str
) -> Callable[[Any], Any]:
    """A program that first looks whether arguments that it overwrites stand there once; itself, where it need not."""
    if len(donated) < 2:
        return execute

    def run(arrays: Any) -> Any:
        check_not_shared(call.path, donated, arrays, name)
        return execute(arrays)

    return run
