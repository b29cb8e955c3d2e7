"""The index of the site's search: every public name with the module that it is of, and every part of every page.

It is a script, not JSON: pages that are opened as files may load scripts and nothing else. A row is
`[title, module, address, text, other words]`; the theme's `search.js` says what a query finds.
"""

from __future__ import annotations

import json
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

from tools.docs import reference
from tools.docs.docstrings import plain

SYNONYMS = Path(__file__).with_name("synonyms.toml")
SCRIPT = "search/index.js"
Row = tuple[str, str, str, str, str]

_HEADINGS = ("h1", "h2", "h3")


def synonyms() -> dict[str, list[str]]:
    """Return words that people type, each with what they should find: dotted names, or parts of pages."""
    return tomllib.loads(SYNONYMS.read_text())["finds"]


def script(pages: Mapping[str, tuple[str, str]]) -> str:
    """Return the index as a script.

    Args:
        pages: address within the site -> the page's title and its HTML; those of the reference are left out.
    """
    words = _other_words()
    rows = list(_names(words))
    for address, (title, html) in pages.items():
        rows += _parts(title, address, html, words)
    return f"found(\n{json.dumps(rows, ensure_ascii=False, separators=(',', ':'))}\n);\n"


def _other_words() -> dict[str, str]:
    """Return for each target of the table of synonyms the words that lead to it."""
    words: dict[str, list[str]] = {}
    for word, targets in synonyms().items():
        for target in targets:
            words.setdefault(target, []).append(word)
    return {target: " ".join(sorted(found)) for target, found in words.items()}


def _names(words: Mapping[str, str]) -> Iterator[Row]:
    """Yield the public names, each once for each module that has it; aliases say of what."""
    packages = reference.packages()
    first = reference.first_places(packages)
    for package in packages.values():
        page = reference.source(package.name).removesuffix(".md") + "/"
        about = plain(reference.about_package(package))
        yield package.name, "", f"{page}#{package.name}", about, words.get(package.name, "")
        for name in package.names():
            place = first.get(id(name.value), name)
            text = plain(reference.about(name)) if place is name else f"The same as {place.full}."
            yield name.name, package.name, f"{page}#{name.full}", text, words.get(name.full, "")


def _parts(title: str, address: str, html: str, words: Mapping[str, str]) -> Iterator[Row]:
    """Yield the parts of a page, from heading to heading; the first is the page."""
    for number, (heading, anchor, text) in enumerate(Parts(html).found):
        place = f"{address}#{anchor}" if number else address
        yield heading, "" if heading == title else title, place, text, words.get(place, "")


class Parts(HTMLParser):
    """The headings of a page, each with its anchor and the text that follows it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self._heading: list[str] | None = None  # while one is being read
        self._title, self._anchor, self._text = "", "", list[str]()
        self._skipped = False
        self.feed(html)
        self._end()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """A heading ends the part before it; the sign that links to a heading is none of its text."""
        values = dict(attributes)
        if tag in _HEADINGS:
            self._end()
            self._heading, self._anchor = [], values.get("id") or ""
        self._skipped = tag == "a" and "headerlink" in (values.get("class") or "")

    def handle_endtag(self, tag: str) -> None:
        """What follows a heading is its text."""
        self._skipped = False
        if tag in _HEADINGS and self._heading is not None:
            self._title, self._heading = _in_a_line(self._heading), None

    def handle_data(self, data: str) -> None:
        """Text, of the heading or of what follows it."""
        if not self._skipped:
            (self._text if self._heading is None else self._heading).append(data)

    def _end(self) -> None:
        if self._title:
            self.found.append((self._title, self._anchor, _in_a_line(self._text)))
        self._title, self._anchor, self._text = "", "", []


def _in_a_line(pieces: list[str]) -> str:
    return " ".join("".join(pieces).split())


# --- `objects.inv`: where each public name is described, for intersphinx in the documentation of others ---


HEADER = "# Sphinx inventory version 2\n# Project: {project}\n# Version: {version}\n"
HEADER += "# The remainder of this file is compressed using zlib.\n"


def inventory(project: str, version: str, places: Mapping[str, str]) -> bytes:
    """Return the file, of dotted name -> address within the site, such as `reference/lax/#tangrad.lax.sin`."""
    lines = [f"{name} py:obj 1 {address} -\n" for name, address in sorted(places.items())]
    return HEADER.format(project=project, version=version).encode() + zlib.compress("".join(lines).encode(), 9)
