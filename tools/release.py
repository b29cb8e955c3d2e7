"""What a release says: `python -m tools.release v0.1.0` prints the changelog's section of a tag, or fails.

It fails where the tag is not the version of every distribution, or the changelog has no section of it.
"""

import re
import sys

from tools.workspace import ROOT, distributions, umbrella


def versions() -> dict[str, str]:
    """Return the version of every distribution, the umbrella included."""
    return {part.name: part.project["version"] for part in (umbrella(), *distributions().values())}


def section(changelog: str, version: str) -> str:
    """Return what a changelog says of a version, without its title.

    >>> section("## 0.2.0 (2026-01-01)\\n\\nNew.\\n\\n## 0.1.0\\n\\nFirst.\\n", "0.2.0")
    'New.\\n'
    """
    found = re.search(rf"^## {re.escape(version)}(?= |$).*?\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if found is None or not found[1].strip():
        raise ValueError(f"the changelog has no section {version}: run `make changelog`")
    return found[1].strip() + "\n"


def notes(tag: str, named: dict[str, str], changelog: str) -> str:
    """Return the notes of a release from its tag, the versions of the distributions and the changelog."""
    version = tag.removeprefix("v")
    others = {name: own for name, own in named.items() if own != version}
    if others:
        raise ValueError(f"the tag {tag} is not the version of {others}")
    return section(changelog, version)


if __name__ == "__main__":
    print(notes(sys.argv[1], versions(), (ROOT / "CHANGELOG.md").read_text()), end="")
