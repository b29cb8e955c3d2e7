"""Docstrings into Markdown: free text, sections (`Args:`, `Raises:`, ...) and examples, as the house writes them.

The sections are those of the Google style. Two things need care. Paragraphs were wrapped by machine in places, so that
a continuation may stand where a name could: the names of the signature decide. And what looks like Markdown and is none
(`x**2`, `<folder>`, `_name`) must come out as it is.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Collection, Iterator

SECTION = re.compile(
    r"(?P<title>Args|Arguments|Attributes|Members|Returns|Raises|Yields)(?P<when> \([^)]*\))?:(?P<rest>.*)"
)
TITLES = {"Args": "Arguments"}
ITEM = re.compile(r"(?P<names>[*\w.]+(?:, [*\w.]+)*):(?: (?P<text>.*))?$")
CODE_SPAN = re.compile(r"(`+)(?:.+?)\1", re.DOTALL)
SPECIAL = re.compile(r"[\\*_\[\]<>#]")
LISTED = ("Args", "Arguments", "Attributes", "Members", "Raises")


def to_markdown(docstring: str, parameters: Collection[str] = ()) -> str:
    """Return a docstring as Markdown.

    Args:
        docstring: without common indentation, as `inspect.getdoc` returns it.
        parameters: the names in the signature; empty: any word may be a name.
    """
    return "\n\n".join(_part(part, parameters) for part in _parts(docstring.splitlines())) + "\n"


def summary(docstring: str) -> str:
    """Return the first paragraph of a docstring, on one line, as Markdown."""
    return escape(" ".join(docstring.split("\n\n")[0].split()))


def escape(text: str) -> str:
    """Return text with what Markdown or HTML would read as markup escaped, except in `code`.

    >>> escape("x**2 of `x**2`")
    'x\\\\*\\\\*2 of `x**2`'
    """
    parts, end = [], 0
    for span in CODE_SPAN.finditer(text):
        parts += [_escape_plain(text[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*parts, _escape_plain(text[end:])])


def plain(text: str) -> str:
    """Return a line of Markdown without its markup.

    >>> plain("the \\\\*sum\\\\* of `x**2`, &lt;text&gt;")
    'the *sum* of x**2, <text>'
    """
    return html.unescape(re.sub(r"\\([\\*_\[\]<>#])", r"\1", text)).replace("`", "")


def _escape_plain(text: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        return {"<": "&lt;", ">": "&gt;"}.get(match[0], "\\" + match[0])

    return SPECIAL.sub(escaped, text)


def _parts(lines: list[str]) -> Iterator[list[str]]:
    """Yield paragraphs, examples and sections: a section goes on over blank lines as long as lines are indented."""
    part: list[str] = []
    for index, line in enumerate(lines):
        if SECTION.match(line) and part and not _is_example(part):
            yield part
            part = []
        following = next((other for other in lines[index + 1 :] if other.strip()), "")
        if line.strip() or (part and _goes_on(part, following)):
            part.append(line)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _goes_on(part: list[str], following: str) -> bool:
    if _is_example(part):
        return following.startswith((">>>", "..."))
    return following.startswith(" ") and (bool(SECTION.match(part[0])) or part[0].startswith("    "))


def _is_example(part: list[str]) -> bool:
    return part[0].startswith(">>>")


def _part(lines: list[str], parameters: Collection[str]) -> str:
    section = SECTION.match(lines[0])
    if _is_example(lines):
        return "\n".join(["```pycon", *lines, "```"])
    if section:
        return _section(section, textwrap.dedent("\n".join(lines[1:])).splitlines(), parameters)
    if all(line.startswith("    ") or not line for line in lines):
        return "\n".join(lines)  # an indented block is code to Markdown, too
    if re.match(r"- |\d+\. ", lines[0].lstrip()):
        return "\n".join(escape(line) for line in lines)
    return escape("\n".join(line.lstrip() for line in lines))


def _section(section: re.Match[str], lines: list[str], parameters: Collection[str]) -> str:
    title = f"**{TITLES.get(section['title'], section['title'])}**{section['when'] or ''}"
    first = section["rest"].strip()
    known = parameters if section["title"] in TITLES else ()
    items = _items(lines, known, section["title"] == "Raises") if section["title"] in LISTED else []
    if first or not items:
        return f"{title}: " + escape("\n".join([first, *lines]).strip())
    written = [f"- {names}: {_indented(text)}" if names else f"- {_indented(text)}" for names, text in items]
    return f"{title}\n{{: .section }}\n\n" + "\n".join(written)


def _indented(text: str) -> str:
    return textwrap.indent(escape(text), "    ").lstrip()


def _items(lines: list[str], parameters: Collection[str], classes: bool) -> list[tuple[str, str]]:
    """Return names and text of each item of a section, whose names may be `classes`. Empty for a section of text."""
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        match = None if line.startswith(" ") else ITEM.match(line)
        if match and _are_names(match["names"].split(", "), parameters, classes):
            names = ", ".join(f"`{name.lstrip('*')}`" for name in match["names"].split(", "))
            items.append((names, [match["text"] or ""]))
        elif not items:
            return []
        else:
            items[-1][1].append(line.strip())
    return [(names, "\n".join(text).strip()) for names, text in items]


def _are_names(names: list[str], parameters: Collection[str], classes: bool) -> bool:
    if classes:
        return all(name[:1].isupper() for name in names)
    return not parameters or all(name.lstrip("*") in parameters for name in names)
