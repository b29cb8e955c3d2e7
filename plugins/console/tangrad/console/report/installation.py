"""What `tangrad doctor` says of the installation: which distributions in which versions, and whether they fit."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from tangrad.composition import finders
from tangrad.console.report.model import BAD, PLAIN, QUIET, WARNING, Entry, Problem, Table, counted
from tangrad.console.report.plugins import TONES, load_all
from tangrad.console.report.requirements import Requirement, is_met, parse_requirement
from tangrad.console.report.rules import HOLES, Square, squares
from tangrad.core import EXTENSION_API, Composition, Plugin, catalogue
from tangrad.errors import ApiVersionError, PluginConflictError

# Used where it is there, and required by nobody.
_OPTIONAL = ("ml-dtypes",)
# Groups whose objects state the number of the extension API.
_NUMBERED = (
    "tangrad.primitives",
    "tangrad.rules.",
    "tangrad.rule_kinds",
    "tangrad.transformations",
    "tangrad.backends",
)
# Groups in which one name can have one owner only; rule sets are settled rule by rule instead.
_SINGLE = (
    "tangrad.api",
    "tangrad.primitives",
    "tangrad.rule_kinds",
    "tangrad.transformations",
    "tangrad.backends",
    "tangrad.commands",
    "tangrad.array",
    "tangrad.settings",
)


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
    """What a distribution's metadata says that it needs: other distributions, and a version of Python."""
    try:  # by its folder where that is one: of two with the same name, that of the one in use
        read = metadata.Distribution.at(folder) if folder.suffix == ".dist-info" else metadata.distribution(name)
        lines = read.requires or []
        python = read.metadata.get_all("Requires-Python") or [""]
    except Exception:  # metadata that is damaged or gone: discovery says so
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
    plugins = _plugins(composition)
    rows = []
    for one in installed:
        own = [plugin for plugin in plugins if plugin.distribution == one.name]
        counts = {status: sum(plugin.status == status for plugin in own) for status in TONES}
        text = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "brings others"
        tone = BAD if counts["broken"] else WARNING if counts["denied"] else PLAIN
        rows.append([Entry(one.name), Entry(one.version), Entry(text, tone, one.location)])
    return Table("Distributions", ["distribution", "version", "plugins"], rows)


def _plugins(composition: Composition) -> list[Plugin]:
    return [plugin for group in composition.groups() for plugin in composition.entries(group)]


# --- problems -------------------------------------------------------------------------------------------------------


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
                yield Problem(f"{name} is not installed; {needs}", f"pip install '{name}{wanted}'")
            elif not is_met(wanted, version):
                cure = f"pip install '{name}{wanted}', or pip install --upgrade {one.name}"
                yield Problem(f"{name} {version} does not do: {needs}", cure)


def metadata_problems(composition: Composition) -> Iterator[Problem]:
    """Metadata that cannot be read, and distributions that are installed more than once."""
    again = "run `pip uninstall {0}` until nothing is left of it, then install it again"
    for name, problem in composition.index.problems():
        cure = again.format(name) if "not used" in problem else f"pip install --force-reinstall {name}"
        yield Problem(f"{name}: {problem}", cure)
    for name, used, hidden in composition.index.shadowed():
        what = f"{name} is installed twice: {used} is used, {hidden} is hidden by it"
        yield Problem(what, f"{again.format(name)}; or take one of the two folders off PYTHONPATH")


def unseen_entries(composition: Composition) -> Iterator[Problem]:
    """Entry points that importlib.metadata sees and the scan of folders does not, or the other way round."""
    if not composition.looks_everywhere:
        return
    groups = composition.index.groups()
    ours = {(group, name, value, owner) for group in groups for name, value, owner, _ in composition.index.rows(group)}
    theirs = set(finders.entries())
    cure = "delete the folder of the cache of plugins found (below); if it stays so, report it"
    for found, missed, entries in (
        ("importlib.metadata", "tangrad", theirs - ours),
        ("tangrad", "importlib.metadata", ours - theirs),
    ):
        for group, name, value, owner in sorted(entries):
            yield Problem(f"{found} finds {owner}:{group}:{name} ({value}), which {missed} does not find", cure)


def plugin_problems(composition: Composition) -> Iterator[Problem]:
    """Plugins that are set aside, with the cause; those of one distribution with the same cause together."""
    plugins = _plugins(composition)
    load_all(plugins)
    broken: dict[tuple[str, str], list[Plugin]] = {}
    for plugin in plugins:
        if plugin.status == "broken":
            cause = f"{type(plugin.cause).__name__}: {plugin.cause}"
            broken.setdefault((plugin.distribution, cause), []).append(plugin)
    for (distribution, cause), group in broken.items():
        first = f"plugin {group[0].identity}"
        what = f"{first} is set aside" if len(group) == 1 else f"{first} and {len(group) - 1} more are set aside"
        denied = group[0].identity if len(group) == 1 else distribution
        cure = f"pip install --upgrade {distribution}, or TANGRAD_DENY='{denied}'"
        if isinstance(group[0].cause, ApiVersionError):
            both = f"pip install --upgrade {distribution} tangrad-core: both must be of one extension API"
            cure = f"{both} (this core: {EXTENSION_API}); until then TANGRAD_DENY='{distribution}'"
        yield Problem(f"{what}: {cause}", cure)


def number_problems(composition: Composition) -> Iterator[Problem]:
    """Distributions that state another number of the extension API than this core's, or two of them."""
    plugins = _plugins(composition)
    load_all(plugins)
    numbers: dict[str, set[int]] = {}
    for plugin in plugins:
        if plugin.status == "loaded" and plugin.group.startswith(_NUMBERED):
            numbers.setdefault(plugin.distribution, set()).add(plugin.load().api)
    for distribution, stated in sorted(numbers.items()):
        if len(stated) > 1:
            listed = " and ".join(map(str, sorted(stated)))
            what = f"{distribution} states the numbers {listed} of the extension API"
            yield Problem(what, f"its author should state one in all its plugins; pip install --upgrade {distribution}")
        elif max(stated) < EXTENSION_API:
            core = f"this core ({EXTENSION_API})"
            what = f"{distribution} was written for extension API {max(stated)}, which {core} takes for the last time"
            yield Problem(what, f"pip install --upgrade {distribution}")


def conflicts(composition: Composition) -> Iterator[Problem]:
    """Names that two distributions claim."""
    for group in _SINGLE:
        for name in dict.fromkeys(plugin.name for plugin in composition.entries(group)):
            try:
                composition.find(group, name)
            except PluginConflictError as error:
                yield Problem(str(error), "TANGRAD_PREFER, as the message says, or uninstall one of them")


def rule_problems() -> Iterator[Problem]:
    """Cells of the matrix that two distributions fill, or a broken one; or nobody, though all is of one house.

    What a third party's primitive or rule kind leaves out is no fault of the installation: `tangrad rules --check`
    finds that.
    """
    cells, _ = squares()  # families that cannot be shown are reported with their plugins
    for status in HOLES:
        holes = [cell for cell in cells if cell.status == status and (status != "missing" or _is_ours(cell))]
        if holes:
            first = ", ".join(f"{cell.kind}:{cell.primitive.identity}" for cell in holes[:3])
            more = ", ..." if len(holes) > 3 else ""
            what = f"{counted(len(holes), 'cell')} of the rule matrix {'is' if len(holes) == 1 else 'are'} {status}"
            cure = "tangrad rules --holes shows each; --json says why and what would fill it"
            yield Problem(f"{what}: {first}{more}", cure)


def _is_ours(cell: Square) -> bool:
    owner = catalogue.distribution_of_family(cell.primitive.family)
    kind = cell.kind
    while owner is not None and kind:  # a platform's kind belongs to the owner of the general one
        if catalogue.distribution_of_rule_kind(kind) is not None:
            return True
        kind = kind.rpartition(".")[0]
    return False


def isolated() -> Iterator[Problem]:
    """Ways of running Python that take away what plugins need."""
    if sys.flags.optimize >= 2:
        yield Problem("python -OO strips docstrings", "use -O: some libraries read them")
