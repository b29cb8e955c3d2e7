"""Docstrings into Markdown: free text, sections (`Args:`, `Raises:`, ...) and examples, as the house writes them.

The sections are those of the Google style. Two things need care. Paragraphs were wrapped by machine in places, so that
a continuation may stand where a name could: the names of the signature decide. And what looks like Markdown and is none
(`x**2`, `<folder>`, `_name`) must come out as it is.
"""

from __future__ import annotations

import enum
import html
import inspect
import re
import textwrap
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any

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


# --- Signatures as the reference shows them ---


MAKERS = ("__init__", "__new__")
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
WIDTH = 92  # of a signature on one line


def signature(name: str, value: Any) -> tuple[list[str], str]:
    """Return the names of the parameters, and the signature as Python shows it, in several lines where it is long."""
    if not callable(value) or isinstance(value, enum.EnumMeta) or is_an_error(value):
        return [], ""
    if isinstance(value, type) and not is_ours(value):
        return [], ""
    if isinstance(value, type) and all(getattr(value, made) is getattr(object, made) for made in MAKERS):
        return [], ""  # takes nothing: users never call it
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return [], ""
    parts = _parameters(found)
    result = _annotation(found.return_annotation)
    arrow = f" -> {result}" if result else ""
    line = f"{name}({', '.join(parts)}){arrow}"
    if len(line) > WIDTH:
        line = "\n".join([f"{name}(", *[f"    {part}," for part in parts], f"){arrow}"])
    return list(found.parameters), line


def is_an_error(value: Any) -> bool:
    """Whether it is a class of errors."""
    return isinstance(value, type) and issubclass(value, BaseException)


def _parameters(found: inspect.Signature) -> list[str]:
    parts: list[str] = []
    kinds = inspect.Parameter
    before: Any = None
    for one in found.parameters.values():
        if one.name.startswith("_"):
            continue  # between parts of the house
        if before is kinds.POSITIONAL_ONLY and one.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
        if one.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_parameter(one))
        before = one.kind
    return [*parts, "/"] if before is kinds.POSITIONAL_ONLY else parts


def _parameter(one: inspect.Parameter) -> str:
    stars = STARS.get(one.kind, "")
    annotation = _annotation(one.annotation)
    text = f"{stars}{one.name}: {annotation}" if annotation else stars + one.name
    if one.default is inspect.Parameter.empty:
        return text
    return f"{text} = {_default(one.default)}" if annotation else f"{text}={_default(one.default)}"


def _annotation(annotation: Any) -> str:
    """The annotation as it was written; nothing for `Any` and `None`, which say nothing."""
    if annotation is inspect.Parameter.empty or annotation is Any:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "" if text in ("Any", "typing.Any", "None") else text.replace("typing.", "")


def _default(value: Any) -> str:
    if isinstance(value, (type, ModuleType)) or inspect.isroutine(value):
        return str(getattr(value, "__name__", value))
    return without_address(value)


def without_address(value: Any) -> str:
    """The `repr`, unless it holds an address, which would change with every build."""
    text = repr(value)
    return "..." if " at 0x" in text else text


def is_ours(value: Any) -> bool:
    """Whether a module of ours defines it."""
    return str(getattr(value, "__module__", "")).startswith("tangrad")
