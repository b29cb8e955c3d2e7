"""Versions of distributions, and which of each other they require: `python -m tools.versions 0.2.0 tangrad-core`.

Distributions are released one by one. Each works with those of its own minor release and of the next, as the policy of
the extension API has it (`docs/extension-api.md`): 0.1.4 requires `tangrad-core>=0.1,<0.3`. So a kernel that is newer
by one release is installed under plugins that have not been released again.
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


def main() -> None:
    """Set the version given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("distributions", nargs="*", help="their names; all, if left out")
    options = parser.parse_args()
    for path in set_version(options.version, set(options.distributions)):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
