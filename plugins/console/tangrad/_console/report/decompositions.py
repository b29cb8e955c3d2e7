"""Whether what the matrix calls derived can be: a decomposition is worth what the rules of its parts are.

What a decomposition is made of is known when it has been traced, for types of operands. Here they are guessed: operands
of floating-point numbers and of one shape, no parameters. Where no guess fits nothing is said against the cell.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

from tangrad.core import Primitive, ShapedArray, decomposition_jaxpr, rule_table
from tangrad.core.caches import register_cache
from tangrad.core.tools import sub_jaxprs

SHAPES: tuple[tuple[int, ...], ...] = ((2, 2), (2,), ())


def not_derivable(primitive: Primitive, kind: str) -> str:
    """What stands in the way of a rule made of the decomposition; empty where nothing is known to.

    >>> from tangrad._console.report.decompositions import not_derivable
    >>> from tangrad.core import find_primitive
    >>> not_derivable(find_primitive("reductions.cumsum"), "jvp")
    ''
    """
    for part in _parts(primitive):
        cell = rule_table(kind).cell(part)
        if cell.rule is None and cell.status not in ("optional", "not applicable"):
            return f"made of its decomposition, which applies {part.identity}: that has no rule of this kind"
        inner = not_derivable(part, kind) if cell.status == "derived" else ""
        if inner:
            return f"made of its decomposition, which applies {part.identity}, {inner}"
    return ""


@lru_cache(maxsize=1024)
def _parts(primitive: Primitive) -> tuple[Primitive, ...]:
    """The primitives that a decomposition applies, as far as it can be traced without an example."""
    try:
        parameters = inspect.signature(primitive.abstract_eval).parameters.values()
    except (TypeError, ValueError):
        return ()
    operands = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for shape in SHAPES:
        try:
            program = decomposition_jaxpr(primitive, [ShapedArray(shape, "float32")] * len(operands), {})
        except Exception:  # whatever a plugin's function says to a guess
            continue
        return tuple(dict.fromkeys(_applied(program.jaxpr)))
    return ()


register_cache(_parts.cache_clear)


def _applied(jaxpr: Any) -> list[Primitive]:
    found = []
    for equation in jaxpr.eqns:
        found.append(equation.primitive)
        for inner in sub_jaxprs(equation.params):
            found += _applied(getattr(inner, "jaxpr", inner))
    return found
