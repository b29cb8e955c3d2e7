"""What the site has of the repository: its files that are pages too, and links to its home where one is named."""

from __future__ import annotations

import re

from tools import metadata
from tools.workspace import ROOT

PAGES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md"}
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


def page_of_repository(name: str) -> str:
    """Return a file of the repository as a page of the site, whose links lead to pages, or to the home."""
    own = {source: page for page, source in PAGES.items()}

    def link(match: re.Match[str]) -> str:
        target = match["target"]
        page = own.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
        return f"[{match['text']}]({page})" if page else metadata.portable(match[0], metadata.home())

    return LINK.sub(link, (ROOT / name).read_text())
