"""What a call of a compiled program runs: arrays are unpacked, the program is called, its results are wrapped.

This too is text made here, because a loop over arguments costs as much as a small program: 20 arrays in and 10 out take
2 µs. Programs with as many arguments and results share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._backend_numpy.array import NumpyArray, is_sole_owner, new_array
from tangrad._backend_numpy.quiet import is_reentrant, quiet
from tangrad._backend_numpy.source import text_function
from tangrad.core import ShapedArray, thread


def entry_function(
    program: Callable[..., Any],
    slowly: Callable[[Sequence[Any]], list[Any]],
    arguments: int,
    out_avals: Sequence[ShapedArray],
    donated: Sequence[int],
    owned: Sequence[int],
) -> Callable[[Sequence[Any]], list[Any]]:
    """The function from a sequence of arrays to the list of results.

    Args:
        program: the function of ndarrays.
        slowly: what to call for arguments that are out of the ordinary.
        donated: the positions of the arguments that are deleted.
        owned: the positions of those that the program takes once more, to write over: None where others see their
            memory.
    """
    namespace = {
        "__builtins__": {"AttributeError": AttributeError, "RuntimeError": RuntimeError, "ValueError": ValueError},
        "new": new_array,
        "type": type,
        "NumpyArray": NumpyArray,
        "quiet": quiet,
        "is_reentrant": is_reentrant,
        "is_sole_owner": is_sole_owner,
        "program": program,
        "slowly": slowly,
        "thread": thread,
    }
    namespace |= {f"t{position}": aval for position, aval in enumerate(out_avals)}
    return text_function(_text(arguments, len(out_avals), tuple(donated), tuple(owned)), namespace, "execute")


def _text(arguments: int, results: int, donated: tuple[int, ...], owned: tuple[int, ...]) -> str:
    names = [f"x{position}" for position in range(arguments)]
    buffers = [f"b{position}" for position in range(arguments)]
    outs = [f"r{position}" for position in range(results)]
    target = f"{_tuple(outs)} = " if outs else ""
    lines = ["def execute(arrays):"]
    if not arguments:  # no array says where the results are to be
        lines += ["    if thread.default_device is not None:", "        return slowly(arrays)"]
    lines += ["    try:", f"        {_tuple(names)} = arrays"]
    lines += [f"        {buffer} = {name}.ndarray" for name, buffer in zip(names, buffers)]
    lines += ["    except (AttributeError, ValueError):", "        return slowly(arrays)"]
    lines += _donation(donated, owned)
    call = ", ".join([*buffers, *[f"d{position}" for position in owned]])
    lines += ["    try:", f"        {target}quiet.run(program{', ' if call else ''}{call})"]
    lines += ["    except RuntimeError:", "        if not is_reentrant():", "            raise"]
    lines += [f"        {target}program({call})"]
    for position, name in enumerate(outs):
        lines += [f"    y{position} = new(NumpyArray)", f"    y{position}.aval = t{position}"]
        lines.append(f"    y{position}.ndarray = {name}")
    lines.append(f"    return [{', '.join([f'y{position}' for position in range(results)])}]")
    return "\n".join(lines) + "\n"


def _donation(donated: tuple[int, ...], owned: tuple[int, ...]) -> list[str]:
    """Arguments that are given away lose their contents; then it shows who else knows of them."""
    if not donated:
        return []
    kinds = " and ".join([f"type(x{position}) is NumpyArray" for position in donated])
    lines = [f"    if not ({kinds}):", "        return slowly(arrays)"]
    for position in donated:  # the same array may be given twice
        lines += ["    try:", f"        del x{position}.ndarray", "    except AttributeError:", "        pass"]
    if owned:
        # In a list, and nowhere else: what is counted are references.
        lines.append(f"    given = [{', '.join([f'b{position}' for position in owned])}]")
        lines.append(f"    del {', '.join([f'b{position}' for position in owned])}")
        for place, position in enumerate(owned):
            lines.append(f"    d{position} = given[{place}] if is_sole_owner(given, {place}) else None")
        lines += [f"    b{position} = given[{place}]" for place, position in enumerate(owned)]
    return lines


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)},)" if names else "()"
