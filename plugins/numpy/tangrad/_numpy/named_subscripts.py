"""Subscripts of `einsum` with names of mapped axes in braces: `"{batch,in},{in,out}->{batch,out}"`.

Axes that the result lacks are summed over. Their operands are gathered along them first, so that they become letters,
and the sum is one of products as any other; where the axis is a dimension of whole arrays, that costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import TYPE_CHECKING

from tangrad._numpy.operands import array_operand
from tangrad._numpy.reduced_axes import gathered_along_names
from tangrad.core import Array, thread

if TYPE_CHECKING:
    from tangrad.typing import Value

Term = tuple[str, tuple[str, ...]]  # the letters, and the names in braces


def positional_subscripts(subscripts: str, operands: Sequence[Value]) -> tuple[str, tuple[Array, ...]]:
    """The subscripts with letters in place of the names that are summed over, and the operands gathered along these.

    Raises ValueError for braces that are not closed, a result without operands that have its names, and a name that is
    there twice; NameError for one that no mapped axis in scope has.
    """
    left, arrow, right = subscripts.partition("->")
    terms = _terms(left, subscripts)
    if len(terms) != len(operands):
        raise ValueError(
            f"einsum: subscripts {subscripts!r} have {len(terms)} terms, but there are {len(operands)} operands"
        )
    if not arrow:
        raise ValueError(f"einsum: subscripts with names, {subscripts!r}, must say what the result is: '->...'")
    results = _terms(right, subscripts)
    if len(results) != 1:
        raise ValueError(f"einsum: subscripts {subscripts!r} must have one result")
    ((letters, kept),) = results
    given = [name for _, names in terms for name in names]
    for name in kept:
        if name not in given:
            raise ValueError(f"einsum: the result of {subscripts!r} names {name!r}, and no operand does")
    summed = dict.fromkeys([name for name in given if name not in kept])
    free = iter([letter for letter in ascii_letters if letter not in subscripts])
    fresh = {name: next(free) for name in summed}
    texts, made = [], []
    for position, ((own, names), value) in enumerate(zip(terms, operands, strict=True)):
        along = tuple([name for name in names if name in summed])
        texts.append("".join([fresh[name] for name in along]) + own)
        made.append(gathered_along_names(array_operand("einsum", value, position), along))
    return f"{','.join(texts)}->{letters}", tuple(made)


def _terms(text: str, subscripts: str) -> list[Term]:
    """The terms between commas outside of braces."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth not in (0, 1):
            raise ValueError(f"einsum: the braces of {subscripts!r} do not match")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise ValueError(f"einsum: the braces of {subscripts!r} do not match")
    return [_term(part, subscripts) for part in parts]


def _term(text: str, subscripts: str) -> Term:
    before, brace, rest = text.partition("{")
    inside, _, after = rest.partition("}")
    if "{" in after:
        raise ValueError(f"einsum: a term of {subscripts!r} has braces twice: {text!r}")
    names = tuple([_in_scope(name.strip(), subscripts) for name in inside.split(",") if name.strip()]) if brace else ()
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"einsum: a term of {subscripts!r} names {name!r} twice")
    return before + after, names


def _in_scope(name: str, subscripts: str) -> str:
    scope = dict(thread.axis_environment)
    if name not in scope:
        listed = ", ".join(map(repr, scope)) or "none"
        raise NameError(f"einsum: {subscripts!r} names the mapped axis {name!r}; the named axes in scope are {listed}")
    return name
