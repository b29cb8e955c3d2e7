"""Renders a report as text for a terminal, as JSON, and as one HTML page that needs nothing beside itself."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib import resources
from textwrap import fill

from tangrad._console.report.model import BAD, GOOD, LINE, Entry, Key, Report, Sign, Table


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


def to_html(report: Report, footer: str = "") -> str:
    """Return the report as a page. `footer` names what wrote it."""
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    body = [_header(report), _tools(report.keys), _links(report.tables)]
    body += [_block(number, table) for number, table in enumerate(report.tables)]
    body.append(f"<footer>{escape(footer)}</footer>" if footer else "")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        f"<title>{escape(report.title)} · Tangrad</title>\n<style>\n{_part('page.css')}</style></head>\n<body><main>\n"
        + "\n".join(part for part in body if part)
        + f"\n</main>\n<script>{script}</script>\n</body></html>"
    )


def _part(name: str) -> str:
    return resources.files("tangrad._console.report").joinpath(name).read_text(encoding="utf-8")


def _header(report: Report) -> str:
    lines = [f"<h1><span>Tangrad</span> {escape(report.title)}</h1>"]
    if report.verdict:
        tone = GOOD if report.succeeded else BAD
        lines.append(f'<p class="verdict {tone}">{escape(report.verdict)}</p>')
    lines += [f"<p>{escape(line)}</p>" for line in report.lines if line]
    return "<header>\n" + "\n".join(lines) + "\n</header>"


def _tools(keys: list[Key]) -> str:
    """The filter, hidden until the script shows that it works, and the legend, which is of use without it."""
    label = "Filter: rows that contain all of these words"
    search = f'<input type="search" placeholder="{label}" aria-label="{label}"><output aria-live="polite">'
    return f'<div class="tools" hidden>{search}</output></div>\n' + "\n".join(map(_key, keys))


def _key(key: Key) -> str:
    signs = "".join(_sign(sign) for sign in key.signs if sign.number != 0)
    return f'<div class="key"><b>{escape(key.title)}</b><div>{signs}</div></div>'


def _sign(sign: Sign) -> str:
    count = "" if sign.number is None else f" <small>{sign.number}</small>"
    return (
        f'<button type="button" aria-pressed="false" data-sign="{escape(sign.text)}">'
        f'<i class="{escape(sign.tone)}">{escape(sign.text)}</i>{escape(sign.meaning)}{count}</button>'
    )


def _links(tables: list[Table]) -> str:
    if len(tables) < 4:
        return ""
    titles = [table.title.removeprefix("family ") for table in tables]
    links = [f'<a href="#t{number}">{escape(title)}</a>' for number, title in enumerate(titles)]
    return "<nav>" + "\n".join(links) + "</nav>"


def _block(number: int, table: Table) -> str:
    columns = "".join(f'<th scope="col">{_breakable(column)}</th>' for column in table.columns)
    rows = "\n".join("<tr>" + "".join(_cells(row, table.matrix)) + "</tr>" for row in table.rows)
    return (
        f'<section class="block{" matrix" if table.matrix else ""}" id="t{number}"><h2>{escape(table.title)}</h2>'
        f"<table><thead><tr>{columns}</tr></thead><tbody>\n{rows}\n</tbody></table></section>"
    )


def _cells(row: list[Entry], matrix: bool) -> list[str]:
    first, *rest = row
    head = f'<th scope="row" class="{escape(first.tone)}"{_title(first)}>{escape(first.text)}</th>'
    return [head, *[_cell(entry, matrix) for entry in rest]]


def _cell(entry: Entry, matrix: bool) -> str:
    signs = f' data-signs="{escape(" ".join(entry.signs))}"' if entry.signs else ""
    text = escape(entry.text)
    if matrix and len(entry.signs) == 2:  # the second one is a detail of the first
        text = f"{escape(entry.signs[0])}<small>{escape(entry.signs[1])}</small>"
    return f'<td class="{escape(entry.tone)}"{signs}{_title(entry)}>{text}</td>'


def _title(entry: Entry) -> str:
    return f' title="{escape(entry.explanation)}"' if entry.explanation else ""


def _breakable(text: str) -> str:
    """Return a dotted name that may be broken after its dots and underscores."""
    return re.sub(r"([._])", r"\1<wbr>", escape(text))
