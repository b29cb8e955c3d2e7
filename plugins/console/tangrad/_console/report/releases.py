"""What `tangrad doctor` says of releases: which of Python and the libraries underneath are tested, what does not fit.

The tested releases are those that the metadata of first-party distributions name: versions of Python by classifiers, of
libraries by ranges, whose ends the matrix of tests has run.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

from tangrad._console.report.model import GOOD, PLAIN, WARNING, Entry, Problem, Table
from tangrad._console.report.requirements import is_met, parse_requirement

# Not of ours, but in the same environment, and read by the same jaxlib.
_BESIDE = ("jax",)
_CURE = "bring the two to releases that fit each other"
_PYTHON = "Programming Language :: Python :: 3."


def tested(names: list[str]) -> dict[str, str]:
    """Return what of Python and the libraries underneath is tested, for the distributions of these names.

    A range of versions for each library (`>=0.10,<0.13`), a list of versions for Python.
    """
    found: dict[str, str] = {}
    for name in names:
        if name == "tangrad" or name.startswith("tangrad-"):
            pythons = [line for line in _headers(name, "Classifier") if line.startswith(_PYTHON)]
            if pythons:
                found.setdefault("python", ", ".join(line.rpartition(" ")[2] for line in pythons))
            for requirement in map(parse_requirement, _headers(name, "Requires-Dist")):
                if (
                    requirement is not None
                    and not requirement.name.startswith("tangrad")
                    and "<" in requirement.versions
                ):
                    found.setdefault(requirement.name, requirement.versions)
    return found


def is_tested(name: str, ranges: str, version: str) -> bool:
    """Return whether a found version is among the tested ones.

    >>> is_tested("python", "3.11, 3.12", "3.12.1"), is_tested("jaxlib", ">=0.10,<0.13", "0.13.0")
    (True, False)
    """
    if name == "python":
        return ".".join(version.split(".")[:2]) in ranges.split(", ")
    return is_met(ranges, version)


def facts(names: list[str]) -> dict[str, dict[str, object]]:
    """Return for Python and each library that is there: the version found, the tested ones, and whether it is one."""
    result: dict[str, dict[str, object]] = {}
    for name, ranges in tested(names).items():
        version = platform.python_version() if name == "python" else _version(name)
        if version is not None:
            result[name] = {"found": version, "tested": ranges, "is_tested": is_tested(name, ranges, version)}
    return result


def table(names: list[str]) -> Table:
    """The tested releases, beside those found."""
    rows = []
    for name, fact in facts(names).items():
        state = Entry("tested", GOOD) if fact["is_tested"] else Entry("not tested", WARNING)
        rows.append([Entry(name), Entry(str(fact["found"])), state, Entry(_in_words(name, str(fact["tested"])), PLAIN)])
    return Table("Releases", ["of", "found", "state", "tested are"], rows)


def _in_words(name: str, ranges: str) -> str:
    return ranges if name == "python" else ", ".join(sorted(ranges.split(","), reverse=True))


def problems(names: list[str]) -> Iterator[Problem]:
    """Libraries underneath that do not fit each other: jaxlib and NumPy, jax and jaxlib. pip lets them drift apart."""
    for name in (*tested(names), *_BESIDE):
        version = None if name == "python" else _version(name)
        for line in _headers(name, "Requires-Dist") if version is not None else ():
            requirement = parse_requirement(line)
            found = _version(requirement.name) if requirement is not None else None
            if requirement is not None and found is not None and not is_met(requirement.versions, found):
                needs = f"{name} {version} needs {requirement.name}{requirement.versions}"
                yield Problem(
                    f"{requirement.name} {found} does not do: {needs}", _CURE, _line(name, requirement.name, found)
                )


def _line(name: str, needed: str, found: str) -> str:
    """jax follows jaxlib release by release: it is jax that is brought to what is there, and is used by others."""
    if name == "jax" and needed == "jaxlib":
        return f'pip install "jax=={".".join(found.split(".")[:2])}.*"'
    return f'pip install --upgrade "{name}" "{needed}"'


def _headers(name: str, header: str) -> list[str]:
    try:
        return metadata.distribution(name).metadata.get_all(header) or []
    except Exception:  # not there, or damaged: said elsewhere
        return []


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except Exception:  # not there, or damaged
        return None
