"""What `mkdocs build` runs of ours: the pages that are made, links of names in the text to them, the search's index."""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.append(str(Path(__file__).parents[2]))  # `mkdocs serve`, unlike `python -m mkdocs`, does not see the workspace

from tools import metadata
from tools.docs import notebooks, reference, search
from tools.docs.search import inventory
from tools.workspace import ROOT, umbrella

# --- Files of the repository that are pages too, and links to its home ---

PAGES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md"}
PAGES |= {f"contrib/{path.parent.name}.md": str(path.relative_to(ROOT)) for path in ROOT.glob("contrib/*/README.md")}
CITATION = "CITATION.cff"
EDIT = "edit/main/docs/"  # relative to the home: where a code host has a page's editor
# In the footer of every page; those of the home follow.
LINKS = {
    "Roadmap": "roadmap/",
    "Deprecation policy": "roadmap/#what-may-change-and-how",
    "Changelog": "changelog/",
    "Contributing": "contributing/",
    "Security": "security/",
    "Citation": CITATION,
}
HOME = ("Source", "Issues")
LINK = re.compile(r"\[(?P<text>[^]]*)\]\((?!https?:|#)(?P<target>[^)]+)\)")


def links() -> dict[str, str]:
    """Return the links of the footer: words -> an address within the site, or of the home."""
    found = metadata.urls(metadata.home())
    return LINKS | {name: found[name] for name in HOME if name in found}


def _relinked(text: str, source: str) -> str:
    """Return a file's text with its links to files that are pages too as links from the page that it becomes.

    Where it is a file of the repository beside `docs/`, links to no page lead to the project's home.
    """
    own = {file: page for page, file in PAGES.items()}
    here = posixpath.dirname(own.get(source, source.removeprefix("docs/")))

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match["target"]))
        page = own.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
        if target not in own and source not in own:
            return match[0]
        if page is None:
            return metadata.portable(f"[{match['text']}]({target})", metadata.home())
        return f"[{match['text']}]({posixpath.relpath(page, here)})"

    return LINK.sub(link, text)


def page_of_repository(name: str) -> str:
    """Return a file of the repository as a page of the site, whose links lead to pages, or to the home."""
    return _relinked((ROOT / name).read_text(), name)


# --- What mkdocs calls ---

# Sessions are written as Python in the sources: that is what editors and code hosts know.
SESSION = re.compile(r"^(?P<fence> *```)python\n(?P<start> *>>> )", re.MULTILINE)
# A name in code, or what may hold such a name and must stay as it is.
LINKABLE = re.compile(
    r"<a [^>]*>.*?</a>|<pre.*?</pre>|<h\d.*?</h\d>|<code>(?P<name>tangrad\.[\w.]+?)(?:\(\))?</code>", re.DOTALL
)

_searched: dict[str, tuple[str, str]] = {}  # address -> title and HTML of what is not the reference

log = logging.getLogger("mkdocs.hooks.reference")


@cache
def _pages() -> dict[str, str]:
    return reference.pages()


@cache
def _anchors() -> dict[str, str]:
    return reference.anchors()


def on_config(config: Any) -> Any:
    """Put the pages of the reference at the end of the navigation; name the project's home, if it has one."""
    config.nav.append({"Reference": reference.menu()})
    config.extra["links"] = links()
    if metadata.home():
        config.repo_url, config.edit_uri = metadata.home(), EDIT
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages themselves."""
    for path, text in _pages().items():
        files.append(File.generated(config, path, content=text))
    for path, source in PAGES.items():
        files.append(File.generated(config, path, content=page_of_repository(source)))
    files.append(File.generated(config, notebooks.PAGE, content=notebooks.page()))
    for name, text in notebooks.notebooks().items():
        files.append(File.generated(config, f"{notebooks.FOLDER}/{name}", content=text))
    files.append(File.generated(config, CITATION, abs_src_path=str(ROOT / CITATION)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Have sessions coloured as sessions, and links to files of the repository lead to the pages that they are."""
    if page.file.src_uri not in PAGES:
        markdown = _relinked(markdown, f"docs/{page.file.src_uri}")
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

    if page.file.src_uri not in _pages():
        _searched[page.url] = page.title, html
    return LINKABLE.sub(linked, html)


def on_post_build(config: Any) -> None:
    """Write what the search finds, and where each name is described, for the documentation of others."""
    places = {name: place.replace(".md#", "/#") for name, place in _anchors().items()}
    project = umbrella().project
    script = Path(config.site_dir, search.SCRIPT)
    script.parent.mkdir(exist_ok=True)
    script.write_text(search.script(_searched))
    (Path(config.site_dir) / "objects.inv").write_bytes(inventory(project["name"], project["version"], places))
