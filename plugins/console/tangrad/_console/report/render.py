"""Renders a report as text for a terminal and as JSON; `page.py` makes the HTML page."""

from __future__ import annotations

import json
from textwrap import fill

from tangrad._console.report.model import LINE, Entry, Key, Report, Table


def to_json(report: Report) -> str:
    """Return the report's data as JSON."""
    return json.dumps(report.data, indent=2, sort_keys=False, ensure_ascii=True, default=str)


def to_text(report: Report) -> str:
    """Return the report for a terminal."""
    parts = [report.title, "=" * len(report.title), *([report.verdict] if report.verdict else []), *report.lines]
    parts += [_key_line(key) for key in report.keys]
    for table in report.tables:
        parts += ["", *_table_lines(table)]
    return "\n".join(parts)


def _key_line(key: Key) -> str:
    return f"{key.title}: " + (", ".join(f"{sign.text} {sign.meaning}" for sign in key.signs) or "none") + "."


def _table_lines(table: Table) -> list[str]:
    if table.long:
        return [table.title, "-" * len(table.title), *[line for row in table.rows for line in _item(table, row)]]
    rows = [table.columns, *[[entry.text for entry in row] for row in table.rows]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    rule = "  ".join("-" * width for width in widths)
    return [table.title, lines[0], rule, *lines[1:]] if table.title else [lines[0], rule, *lines[1:]]


def _item(table: Table, row: list[Entry]) -> list[str]:
    first, *rest = row
    lines = [fill(f"- {first.text}", 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)]
    for column, entry in zip(table.columns[1:], rest, strict=True):
        text = f"  {column}: {entry.text}"
        if entry.tone == LINE:
            lines += [f"  {column}:", f"    {entry.text}"] if entry.text else []
        else:
            lines.append(fill(text, 100, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))
    return lines
