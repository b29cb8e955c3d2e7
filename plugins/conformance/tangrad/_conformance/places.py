"""Where a mistake is: the line of a rule that raised, or the rules that a failing check is about."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from types import CodeType
from typing import Any

from tangrad.core import Primitive, rule_table
from tangrad.core.tools import rule_kinds

# What a failing check is about: rule kinds, "lower" for those of all backends. Of others: the kind of that name.
ABOUT = {
    "abstract": ("abstract_eval",),
    "refusals": ("abstract_eval",),
    "dtypes": ("abstract_eval",),
    "jvp": ("jvp",),
    "second": ("jvp",),
    "points": ("jvp",),
    "transpose": ("transpose", "jvp"),
    "batch": ("batch",),
    "usage": ("jvp", "transpose", "batch"),
    "dce": ("dce",),
    "axis_subst": ("axis_subst",),
    "split_axis": ("split_axis", "axis_subst", "batch"),
    "decomposition": ("decompose", "lower"),
    "effects": ("decompose", "jvp", "batch", "lower"),
    "edges": ("lower", "decompose"),
    "special": ("lower", "decompose"),
    "layouts": ("lower",),
    "sizes": ("lower", "decompose"),
    "jit": ("lower",),
    "backends": ("lower",),
}


def place_of(primitive: Primitive, check: str, error: BaseException, about: tuple[str, ...] = ()) -> str:
    """Where to look: the rules of the kinds that it is `about`, where these are known; or `file:line, in function` of
    the innermost frame that is in the primitive's own code, where the error has passed such a frame; otherwise where
    what the check is about is written. Empty where nothing is known.
    """
    written = {kind: list(_codes(rule)) for kind, rule in _rules(primitive)}
    files = {code.co_filename for codes in written.values() for code in codes}
    for frame in () if about else reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in files:
            return f"{_short(frame.filename)}:{frame.lineno}, in {frame.name}"
    kinds = [kind for kind in written if (kind in about if about else _concerns(check, kind))]
    found = [
        f"{kind}: {_short(codes[-1].co_filename)}:{codes[-1].co_firstlineno}"
        for kind in kinds
        if (codes := written[kind])
    ]
    return "; ".join(found)


def _concerns(check: str, kind: str) -> bool:
    return any([kind == one or kind.startswith(one + ".") for one in ABOUT.get(check, (check,))])


def _rules(primitive: Primitive) -> Iterator[tuple[str, Any]]:
    yield "abstract_eval", primitive.abstract_eval
    if primitive.decompose is not None:
        yield "decompose", primitive.decompose
    for kind in rule_kinds():
        cell = rule_table(kind).cell(primitive)
        if cell.status == "rule":
            yield kind, cell.rule


def _codes(rule: Any, depth: int = 4) -> Iterator[CodeType]:
    """The code of a rule; of one that a helper has made, that of the functions which it was made of, too, and last."""
    function = getattr(rule, "emit", getattr(rule, "func", rule))  # rules for NumPy that specialise; partial
    code = getattr(function, "__code__", None)
    if code is not None:
        yield code
    for part in getattr(function, "__closure__", None) or () if depth else ():
        values = part.cell_contents if isinstance(_contents(part), tuple) else (_contents(part),)
        for value in values:
            if callable(value) and not isinstance(value, (type, Primitive)):
                yield from _codes(value, depth - 1)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _short(path: str) -> str:
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive
        return path
    return min(path, relative, key=len)
