"""Whether what the matrix calls derived can be: a decomposition is worth what the rules of its parts are.

What a decomposition is made of is known when it has been traced, for types of operands. Here they are guessed: operands
of floating-point numbers and of one shape, no parameters. Where no guess fits, the cell has no problem.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._console.report.model import (
    BAD,
    GOOD,
    MADE,
    QUIET,
    WARNING,
    Entry,
    Key,
    Report,
    Sign,
    Table,
    counted,
    one_line,
)
from tangrad.core import ClosedJaxpr, Jaxpr, Primitive, ShapedArray, composition, decomposition_jaxpr, rule_table
from tangrad.core.caches import register_cache
from tangrad.core.tools import Plugin, families, primitive_set, rule_kinds, sub_jaxprs

if TYPE_CHECKING:
    pass

SHAPES: tuple[tuple[int, ...], ...] = ((2, 2), (2,), ())


def not_derivable(primitive: Primitive, kind: str) -> str:
    """What stands in the way of a rule made of the decomposition; empty where nothing is known to.

    >>> from tangrad._console.report.rules import not_derivable
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
        except Exception:  # whatever a plugin's function raises for a guess
            continue
        return tuple(dict.fromkeys(_applied(program.jaxpr)))
    return ()


register_cache(_parts.cache_clear)


def _applied(jaxpr: Jaxpr | ClosedJaxpr) -> list[Primitive]:
    found = []
    for equation in jaxpr.eqns:
        found.append(equation.primitive)
        for inner in sub_jaxprs(equation.params):
            found += _applied(getattr(inner, "jaxpr", inner))
    return found


# status of a cell -> its letter in the table, its tone, what it means
STATUSES = {
    "rule": ("R", GOOD, "a rule"),
    "general": ("G", GOOD, "the rule of a more general platform"),
    "derived": ("D", MADE, "derived by decomposition"),
    "default": ("d", QUIET, "what the kind does without a rule"),
    "optional": (".", QUIET, "none, and none is needed"),
    "not applicable": ("-", QUIET, "declared not applicable"),
    "denied": ("x", WARNING, "denied by an allow or deny list"),
    "conflict": ("C!", BAD, "two distributions claim it"),
    "broken": ("B!", BAD, "its plugin is set aside"),
    "missing": ("?!", BAD, "missing"),
}
HOLES = ("missing", "broken", "conflict")


class Square(NamedTuple):
    """One cell of the matrix."""

    primitive: Primitive
    kind: str
    status: str
    plugin: Plugin | None
    source: str
    explanation: str
    overridden: tuple[Plugin, ...] = ()


def squares(family: str | None = None, kind: str | None = None) -> tuple[list[Square], list[str]]:
    """Return all cells of the matrix, in order, and the problems of families that cannot be shown."""
    found: list[Square] = []
    problems: list[str] = []
    for name in families() if family is None else (family,):
        try:
            primitives = primitive_set(name).primitives
        except Exception as error:  # a broken plugin, a conflict, an unknown family: each states what to do
            problems.append(one_line(error))
            continue
        for primitive in primitives.values():
            found += [_square(primitive, column) for column in kinds() if kind in (None, column)]
    return found, problems


def kinds() -> list[str]:
    """Return the rule kinds that make columns: those declared, and their refinements by platform; lowerings last."""
    declared = set(rule_kinds())
    for group in composition().groups():
        kind = group.removeprefix("tangrad.rules.")
        if kind != group and any(kind.startswith(general + ".") for general in declared):
            declared.add(kind)
    return sorted(declared, key=lambda kind: (kind.startswith("lower."), kind))


def _square(primitive: Primitive, kind: str) -> Square:
    try:
        cell = rule_table(kind).cell(primitive)
        silent = cell.rule is not None or cell.error is None or cell.status == "optional"
        error = None if silent else cell.error()
    except Exception as raised:  # a report must survive whatever plugins do
        return Square(primitive, kind, "broken", None, "", one_line(raised))
    if cell.status == "derived" and (lacking := not_derivable(primitive, kind)):
        return Square(primitive, kind, "missing", cell.plugin, "", lacking)
    source = _source(primitive.decompose if cell.status == "derived" else cell.rule, cell.plugin)
    explanation = "" if error is None else str(error)
    return Square(primitive, kind, cell.status, cell.plugin, source, explanation, cell.overridden)


def _source(rule: object, plugin: Plugin | None) -> str:
    """Where a rule is written: the object that its plugin names, and the line of the function, as far as it has one."""
    while hasattr(rule, "func"):  # functools.partial
        rule = rule.func
    place = getattr(getattr(rule, "emit", rule), "__code__", None)  # `emit`: rules for NumPy that specialise
    module = getattr(getattr(rule, "emit", rule), "__module__", None)
    written = "" if place is None or module is None else f"{module}, line {place.co_firstlineno}"
    if plugin is None or written.startswith(plugin.value.partition(":")[0] + ","):
        return written
    return f"{plugin.value}, made by {written}" if written else plugin.value


def overrides(cells: list[Square]) -> list[dict[str, Any]]:
    """Return whose rules take the place of whose, for which primitives of which families."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for cell in cells:
        for other in cell.overridden:
            winner = "" if cell.plugin is None else cell.plugin.distribution
            key = (cell.kind, cell.primitive.family, winner, other.distribution)
            found.setdefault(key, []).append(cell.primitive.name)
    words = ("kind", "family", "used", "instead")
    return [dict(zip(words, key, strict=True)) | {"primitives": names} for key, names in sorted(found.items())]


def overrides_table(cells: list[Square]) -> Table:
    """The overrides, with the first primitives of each."""
    rows = []
    for one in overrides(cells):
        *texts, names = one.values()
        more = f" and {len(names) - 3} more" if names[3:] else ""
        rows.append([*map(Entry, texts), Entry(", ".join(names[:3]) + more)])
    return Table("Overrides", ["kind", "family", "used is", "in place of", "for"], rows)


def rules_report(
    family: str | None = None, kind: str | None = None, only_holes: bool = False, distribution: str | None = None
) -> Report:
    """Return the matrix, for all families and kinds or for one.

    Args:
        family: only the primitives of this family.
        kind: only this rule kind.
        only_holes: only the rows in which something is missing, broken or claimed twice.
        distribution: only the rows in which it provides something, be it only what another one overrides.
    """
    cells, problems = squares(family, kind)
    if distribution is not None:
        rows = {cell.primitive for cell in cells if distribution in _providers(cell)}
        cells = [cell for cell in cells if cell.primitive in rows]
    holes = [cell for cell in cells if cell.status in HOLES]
    shown = {cell.primitive for cell in (holes if only_holes else cells)}
    providers = sorted({cell.plugin.distribution for cell in cells if cell.plugin is not None})
    numbers = {distribution: str(number) for number, distribution in enumerate(providers, 1)}
    families = list(dict.fromkeys(cell.primitive.family for cell in cells if cell.primitive in shown))
    tables = [
        _table(name, [c for c in cells if c.primitive.family == name and c.primitive in shown], numbers)
        for name in families
    ]
    counts = {status: sum(cell.status == status for cell in cells) for status in STATUSES}
    lines = [
        f"{len({cell.primitive for cell in cells})} primitives, {len({cell.kind for cell in cells})} rule kinds: "
        + (", ".join(f"{count} {status}" for status, count in counts.items() if count) or "no cells")
        + ".",
        *problems,
    ]
    overrides = overrides_table(cells)
    tables += [overrides] if overrides.rows else []
    data = {"cells": [_facts(cell) for cell in cells if cell.primitive in shown], "problems": problems}
    keys = [
        Key("Cells", [Sign(text, meaning, tone, counts[status]) for status, (text, tone, meaning) in STATUSES.items()]),
        Key("Providers", [Sign(number, name) for name, number in numbers.items()]),
    ]
    verdict = f"{counted(len(holes), 'hole')} in the matrix." if holes else "No hole in the matrix."
    if problems:
        verdict += f" {counted(len(problems), 'family')} cannot be shown.".replace("familys", "families")
    return Report("Rules", lines, tables, data, not holes and not problems, keys, verdict)


def _providers(cell: Square) -> set[str]:
    """The distributions that have something to do with a cell: its rule, one that is overridden, its primitive."""
    shipper = composition().provenance(cell.primitive)
    return {one.distribution for one in (cell.plugin, shipper, *cell.overridden) if one is not None}


def _table(family: str, cells: list[Square], numbers: dict[str, str]) -> Table:
    columns = list(dict.fromkeys(cell.kind for cell in cells))
    rows: dict[Primitive, list[Entry]] = {}
    for cell in cells:
        row = rows.setdefault(cell.primitive, [Entry(cell.primitive.name, explanation=_about(cell.primitive))])
        row.append(_entry(cell, numbers))
    return Table(f"family {family}", ["primitive", *columns], list(rows.values()), matrix=True)


def _about(primitive: Primitive) -> str:
    return f"{primitive.identity}\n{(primitive.documentation or '').strip()}".strip()


def _entry(cell: Square, numbers: dict[str, str]) -> Entry:
    letter, tone, meaning = STATUSES[cell.status]
    parts = [f"{cell.kind} of {cell.primitive.name}: {meaning}"]
    if cell.plugin is not None:
        parts.append(f"from {cell.plugin.distribution} {cell.plugin.version}".strip())
    parts += [f"in place of {other.distribution} {other.version}".strip() for other in cell.overridden]
    parts += [text for text in (cell.source, cell.explanation) if text]
    number = () if cell.plugin is None else (numbers[cell.plugin.distribution],)
    return Entry("".join((letter, *number)), tone, "\n".join(parts), (letter, *number))


def _facts(cell: Square) -> dict[str, Any]:
    return {
        "primitive": cell.primitive.identity,
        "kind": cell.kind,
        "status": cell.status,
        "distribution": None if cell.plugin is None else cell.plugin.distribution,
        "version": None if cell.plugin is None else cell.plugin.version,
        "plugin": None if cell.plugin is None else cell.plugin.identity,
        "source": cell.source,
        "overrides": [other.identity for other in cell.overridden],
        "explanation": cell.explanation,
    }
