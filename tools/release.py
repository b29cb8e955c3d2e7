"""Releases: versions of distributions, which of each other they require, and the notes of a tag.

    python -m tools.release 0.2.0 tangrad-core   writes a version into the distributions that are named, or into all
    python -m tools.release v0.1.0               prints the changelog's section of a tag

Distributions are released one by one. Each works with those of its own minor release and of the next, as the policy of
the extension API has it (`docs/extension-api.md`): 0.1.4 requires `tangrad-core>=0.1,<0.3`. So a kernel that is newer
by one release is installed under plugins that have not been released again. The notes of a tag are refused where it is
not the version of every distribution, or the changelog has no section of it.
"""

import argparse
import re
from pathlib import Path

from tools.workspace import ROOT, distributions, umbrella

VERSION = re.compile(r'^version = "(\d+)\.(\d+)\.(\d+)"$', re.MULTILINE)
# A requirement of one of ours that states versions: the name with its extras, and the versions.
SIBLING = re.compile(r'"(tangrad(?:-[a-z0-9-]+)?(?:\[[a-z0-9,-]+\])?)([=<>~!][^";]*)"')


def range_of(version: str) -> str:
    """Return the versions of others that a distribution of this version requires.

    >>> range_of("0.1.4")
    '>=0.1,<0.3'
    """
    major, minor = map(int, version.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 2}"


def with_version(text: str, version: str) -> str:
    """Return the text of a `pyproject.toml` in another version, requiring others as that does.

    >>> print(with_version('version = "0.1.0"\\ndependencies = ["tangrad-core>=0.1,<0.3", "numpy>=2"]', "0.2.0"))
    version = "0.2.0"
    dependencies = ["tangrad-core>=0.2,<0.4", "numpy>=2"]
    """
    wanted = range_of(version)
    return SIBLING.sub(lambda match: f'"{match[1]}{wanted}"', VERSION.sub(f'version = "{version}"', text, count=1))


def set_version(version: str, names: set[str], root: Path = ROOT) -> list[Path]:
    """Write a version into the `pyproject.toml` of these distributions (all, for an empty set), and return their paths.

    Raises ValueError for a name that no distribution has.
    """
    parts = {part.name: part for part in [umbrella(root), *distributions(root).values()]}
    if names - parts.keys():
        raise ValueError(f"no such distribution: {', '.join(sorted(names - parts.keys()))}")
    paths = [part.folder / "pyproject.toml" for name, part in parts.items() if not names or name in names]
    for path in paths:
        path.write_text(with_version(path.read_text(), version))
    return paths


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


def main() -> None:
    """Set the version given on the command line, or print the notes of the tag."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("version", help="such as 0.2.0, or a tag such as v0.2.0")
    parser.add_argument("distributions", nargs="*", help="their names; all, if left out")
    options = parser.parse_args()
    if options.version.startswith("v"):
        print(notes(options.version, versions(), (ROOT / "CHANGELOG.md").read_text()), end="")
        return
    for path in set_version(options.version, set(options.distributions)):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
