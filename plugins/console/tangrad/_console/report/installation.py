"""What is reported of the installation: which distributions in which versions, whether they fit, and what is tested."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import tangrad
from tangrad._console.report import model
from tangrad._console.report.model import BAD, GOOD, PLAIN, QUIET, WARNING, Entry, Problem, Table, counted
from tangrad._console.report.plugins import TONES, all_plugins
from tangrad._console.report.requirements import Requirement, is_met, normal_name, parse_requirement
from tangrad.core import api_boundary
from tangrad.core.tools import EXTENSION_API, Composition, cache_folder

# Used where it is installed, and not required.
_OPTIONAL = ("ml-dtypes",)


class Installed(NamedTuple):
    """An installed distribution that has plugins, or brings those that have: its name, version, and what it needs."""

    name: str
    version: str
    location: str
    requirements: list[Requirement]
    python: str


def distributions(composition: Composition) -> list[Installed]:
    """Return the distributions with plugins, and `tangrad` itself, which has none of its own."""
    found = {one.name: one for one in composition.index.distributions().values()}
    names = dict.fromkeys([*(["tangrad"] if composition.index.has_distribution("tangrad") else []), *sorted(found)])
    result = []
    for name in names:
        version, location = (found[name].version, found[name].location) if name in found else (_version(name) or "", "")
        result.append(Installed(name, version, location, *_declared(name, Path(location).parent)))
    return result


def _declared(name: str, folder: Path) -> tuple[list[Requirement], str]:
    """What a distribution needs by its metadata: other distributions, and a version of Python."""
    try:  # by its folder where that is one: of two with the same name, that of the one in use
        read = metadata.Distribution.at(folder) if folder.suffix == ".dist-info" else metadata.distribution(name)
        lines = read.requires or []
        python = read.metadata.get_all("Requires-Python") or [""]
    except Exception:  # metadata that is damaged or gone: discovery reports it
        return [], ""
    return [found for found in map(parse_requirement, lines) if found is not None], python[0]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except Exception:  # not there, or damaged
        return None


def versions(installed: list[Installed]) -> dict[str, str]:
    """Return the versions of Python, the libraries underneath, and everything with plugins."""
    found = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "extension API": str(EXTENSION_API),
    }
    libraries = {requirement.name for one in installed for requirement in one.requirements} | {*_OPTIONAL}
    for name in (*sorted(libraries - {one.name for one in installed}), *[one.name for one in installed]):
        version = _version(name)
        if version is not None:
            found[name] = version
    return found | {one.name: one.version for one in installed}


def versions_table(installed: list[Installed]) -> Table:
    """Python and the libraries underneath, with who needs which versions of them."""
    ours = {one.name for one in installed}
    needs: dict[str, list[str]] = {"python": [f"{one.name} {one.python}" for one in installed if one.python]}
    for one in installed:
        for requirement in one.requirements:
            if requirement.name not in ours:
                needs.setdefault(requirement.name, []).append(f"{one.name} {requirement.versions}".strip())
    wrong = {problem.what.partition(" ")[0] for problem in requirement_problems(installed)}
    rows = []
    for name, version in versions(installed).items():
        if name not in ours:
            needed = needs.get(name, [])
            tone = BAD if name in wrong else PLAIN
            rows.append([Entry(name, tone), Entry(version, tone), Entry(_shortened(needed), QUIET, "\n".join(needed))])
    return Table("Versions", ["what", "version", "needed by"], rows)


def _shortened(needed: list[str]) -> str:
    """Many distributions need the same: they are counted."""
    by_versions: dict[str, list[str]] = {}
    for line in needed:
        name, _, wanted = line.partition(" ")
        by_versions.setdefault(wanted, []).append(name)
    return ", ".join(
        f"{names[0] if len(names) == 1 else counted(len(names), 'distribution')} {wanted}".strip()
        for wanted, names in by_versions.items()
    )


def distributions_table(composition: Composition, installed: list[Installed]) -> Table:
    """Everything that has plugins, with the state of those."""
    plugins = all_plugins(composition)
    rows = []
    for one in installed:
        own = [plugin for plugin in plugins if plugin.distribution == one.name]
        counts = {status: sum(plugin.status == status for plugin in own) for status in TONES}
        text = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "brings others"
        tone = BAD if counts["broken"] else WARNING if counts["denied"] else PLAIN
        rows.append([Entry(one.name), Entry(one.version), Entry(text, tone, one.location)])
    return Table("Distributions", ["distribution", "version", "plugins"], rows)


# --- problems ---


def requirement_problems(installed: list[Installed]) -> Iterator[Problem]:
    """What distributions need and do not find. pip installs what fits, and lets it drift apart afterwards."""
    python = platform.python_version()
    for one in installed:
        if one.python and not is_met(one.python, python):
            cure = f"run {one.name} on a Python that is {one.python}, or install a version of it for Python {python}"
            yield Problem(f"python {python} does not do for {one.name} {one.version}, which needs {one.python}", cure)
        for name, wanted in one.requirements:
            version = _version(name)
            needs = f"{one.name} {one.version} needs {name}{wanted}"
            if version is None:
                yield Problem(f"{name} is not installed; {needs}", "install it", model.install(name + wanted))
            elif not is_met(wanted, version):
                cure = f"install a version that does, or pip install --upgrade {one.name}"
                yield Problem(f"{name} {version} does not do: {needs}", cure, model.install(name + wanted))


def metadata_problems(composition: Composition) -> Iterator[Problem]:
    """Metadata that cannot be read, and distributions that are installed more than once."""
    for name, problem in composition.index.problems():
        folder, is_left, _ = problem.partition(" is what another version of it left")
        if is_left:
            yield Problem(f"{name}: {problem}", "delete what is left", model.delete(folder))
        else:
            yield Problem(f"{name}: {problem}", "install it anew", f"pip install --force-reinstall {name}")
    for name, folder in nameless(composition):
        what = f"{name}: {folder}{os.sep}METADATA states no name, and pip and importlib.metadata do not know it"
        yield Problem(what, "install it anew", f"pip install --force-reinstall {name}")
    for name, used, hidden in composition.index.shadowed():
        what = f"{name} is installed twice: {used} is used, {hidden} is hidden by it"
        cure = f"take one of the two folders off PYTHONPATH, or pip uninstall {name} until one is left"
        yield Problem(what, cure, model.off_path(str(Path(hidden).parent.parent)))


def nameless(composition: Composition) -> list[tuple[str, str]]:
    """Return distributions of ours whose metadata states no name, each with its folder, which does."""
    found = []
    for name, one in sorted(composition.index.distributions().items()):
        folder = Path(one.location).parent
        if folder.suffix == ".dist-info" and not _stated_name(folder / "METADATA"):
            found.append((name, str(folder)))
    return found


def _stated_name(file: Path) -> str:
    """The name in a METADATA file; empty where it states none, or is not there."""
    try:
        headers = file.read_text(errors="replace").partition("\n\n")[0]
    except OSError:
        return ""
    return next((line[5:].strip() for line in headers.splitlines() if line.lower().startswith("name:")), "")


def unseen_entries(composition: Composition) -> Iterator[Problem]:
    """Entry points that importlib.metadata sees and the scan of folders does not, or the other way round."""
    if not composition.looks_everywhere:
        return
    groups = composition.index.groups()
    ours = {(group, name, value, owner) for group in groups for name, value, owner, _ in composition.index.rows(group)}
    reported = {name for name, _ in nameless(composition)} | {name for name, *_ in composition.index.problems()}
    theirs, unread = _seen_by_python()
    for name, error in sorted(unread.items()):
        if name not in reported:
            what = f"{name}: its entry points cannot be read: {error}"
            yield Problem(what, "install it anew", f"pip install --force-reinstall {name}")
    reported |= unread.keys()
    ours, theirs = [{one for one in seen if one[3] not in reported} for seen in (ours, theirs)]  # reported apart
    folder = cache_folder(os.environ)
    cure = "delete the cache of the plugins found; if it stays so, report it"
    line = "" if folder is None else model.delete(folder)
    for found, missed, entries in (
        ("importlib.metadata", "tangrad", theirs - ours),
        ("tangrad", "importlib.metadata", ours - theirs),
    ):
        for group, name, value, owner in sorted(entries):
            yield Problem(f"{found} finds {owner}:{group}:{name} ({value}), which {missed} does not find", cure, line)


def _seen_by_python() -> tuple[set[tuple[str, str, str, str]], dict[str, str]]:
    """`(group, entry name, value, distribution)` of each entry point of ours, as importlib.metadata sees them.

    And, by name of a distribution, why its entry points cannot be read.
    """
    seen: set[str] = set()
    entries, unread = set(), {}
    for distribution in metadata.distributions():
        stated = distribution.metadata  # what has no name gives None, or KeyError from Python 3.14 on
        name = normal_name(stated["Name"] or "") if "Name" in stated else ""
        if name and name not in seen:
            seen.add(name)
            try:
                ours = [entry for entry in distribution.entry_points if entry.group.startswith("tangrad.")]
                entries |= {(entry.group, entry.name, entry.value, name) for entry in ours}
            except Exception as error:  # whatever importlib.metadata makes of a damaged file
                unread[name] = f"{type(error).__name__}: {error}"
    return entries, unread


def isolated() -> Iterator[Problem]:
    """Ways of running Python that take away what plugins need."""
    if sys.flags.optimize >= 2:
        yield Problem("python -OO strips docstrings", "use -O: some libraries read them")


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


def release_facts(names: list[str]) -> dict[str, dict[str, object]]:
    """Return for Python and each library that is there: the version found, the tested ones, and whether it is one."""
    result: dict[str, dict[str, object]] = {}
    for name, ranges in tested(names).items():
        version = platform.python_version() if name == "python" else _version(name)
        if version is not None:
            result[name] = {"found": version, "tested": ranges, "is_tested": is_tested(name, ranges, version)}
    return result


def releases_table(names: list[str]) -> Table:
    """The tested releases, beside those found."""
    rows = []
    for name, fact in release_facts(names).items():
        state = Entry("tested", GOOD) if fact["is_tested"] else Entry("not tested", WARNING)
        rows.append([Entry(name), Entry(str(fact["found"])), state, Entry(_in_words(name, str(fact["tested"])), PLAIN)])
    return Table("Releases", ["of", "found", "state", "tested are"], rows)


def _in_words(name: str, ranges: str) -> str:
    return ranges if name == "python" else ", ".join(sorted(ranges.split(","), reverse=True))


def release_problems(names: list[str]) -> Iterator[Problem]:
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
    except Exception:  # not there, or damaged: reported elsewhere
        return []


# What results depend on, where it is installed.
LIBRARIES = ("tangrad", "tangrad-core", "numpy", "ml-dtypes", "jaxlib")


@api_boundary
def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions and devices that a bug report needs; `tangrad doctor` prints more.

    Args:
        return_string: whether the text is returned, and not printed.

    >>> import tangrad
    >>> text = tangrad.print_environment_info(return_string=True)
    >>> [line.partition(":")[0] for line in text.splitlines() if line.startswith(("numpy", "python"))]
    ['numpy', 'python']
    """
    rows = [*[(name, _version_in_words(name)) for name in LIBRARIES], ("python", sys.version.replace("\n", " "))]
    rows.append(("backend", tangrad.default_backend()))
    rows.append(("devices", ", ".join([str(device) for device in tangrad.devices()])))
    rows.append(("platform", platform.platform()))
    text = "\n".join([f"{name}: {value}" for name, value in rows])
    if return_string:
        return text
    print(text)
    return None


def _version_in_words(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
