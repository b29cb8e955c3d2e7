"""What `mkdocs build` runs of ours: adds the pages of the reference, and links names in the text to them."""

from __future__ import annotations

import logging
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.append(str(Path(__file__).parents[2]))  # `mkdocs serve`, unlike `python -m mkdocs`, does not see the workspace

from tools.docs import extension, reference
from tools.docs.inventory import inventory
from tools.workspace import umbrella

# Sessions are written as Python in the sources: that is what editors and code hosts know.
SESSION = re.compile(r"^(?P<fence> *```)python\n(?P<start> *>>> )", re.MULTILINE)
# A name in code, or what may hold such a name and must stay as it is.
LINKABLE = re.compile(
    r"<a [^>]*>.*?</a>|<pre.*?</pre>|<h\d.*?</h\d>|<code>(?P<name>tangrad\.[\w.]+?)(?:\(\))?</code>", re.DOTALL
)

log = logging.getLogger("mkdocs.hooks.reference")


@cache
def _pages() -> dict[str, str]:
    return reference.pages()


@cache
def _anchors() -> dict[str, str]:
    return reference.anchors()


def on_config(config: Any) -> Any:
    """Put the pages of the reference at the end of the navigation."""
    pages: list[Any] = [{"Overview": "reference/index.md"}]
    pages.append({extension.TITLE: extension.PAGE})
    pages += [{page: reference.source(page)} for page in reference.PAGES]
    config.nav.append({"Reference": pages})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages themselves."""
    for path, text in _pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Have sessions coloured as sessions."""
    return SESSION.sub(r"\g<fence>pycon\n\g<start>", markdown)


def on_page_content(html: str, page: Any, files: Files, **_: Any) -> str:
    """Link `tangrad.grad` to where it is described."""

    def linked(match: re.Match[str]) -> str:
        path, _, anchor = _anchors().get(match["name"] or "", "").partition("#")
        if not path:
            return match[0]
        file = files.get_file_from_path(path)
        if file is None:
            log.warning("%s is described on %s, which is no page", match["name"], path)
            return match[0]
        return f'<a class="name" href="{file.url_relative_to(page.file)}#{anchor}">{match[0]}</a>'

    return LINKABLE.sub(linked, html)


def on_post_build(config: Any) -> None:
    """Write where each name is described, for the documentation of others."""
    places = {name: place.replace(".md#", "/#") for name, place in _anchors().items()}
    project = umbrella().project
    (Path(config.site_dir) / "objects.inv").write_bytes(inventory(project["name"], project["version"], places))
