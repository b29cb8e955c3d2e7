"""What `tangrad doctor` reports of plugins, rules and entry points: set aside, claimed twice, missing, or misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from importlib.util import find_spec

from tangrad._console.explanations import catalogue
from tangrad._console.report import model
from tangrad._console.report.model import Problem, counted
from tangrad._console.report.plugins import all_plugins, load_all
from tangrad._console.report.rules import Square, squares
from tangrad._core.composition.hook_names import GROUPS, RULES
from tangrad.core import rule_table
from tangrad.core.tools import EXTENSION_API, Composition, Plugin, families, rule_kinds
from tangrad.errors import ApiVersionError, PluginConflictError, PluginError

# Groups whose objects state the number of the extension API.
_NUMBERED = (
    "tangrad.primitives",
    "tangrad.rules.",
    "tangrad.rule_kinds",
    "tangrad.transformations",
    "tangrad.backends",
)
# Groups in which one name can have one owner only; rule sets are resolved rule by rule instead.
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


def plugin_problems(composition: Composition) -> Iterator[Problem]:
    """Plugins that are set aside, with the cause; those of one distribution with the same cause together."""
    plugins = all_plugins(composition)
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
        cure = f"pip install --upgrade {distribution}; where that does not help, report it to its author"
        if isinstance(group[0].cause, ApiVersionError):
            cure = f"pip install --upgrade {distribution} tangrad-core: both must be of one extension API"
            cure, denied = f"{cure} (this core: {EXTENSION_API}); until then go without it", distribution
        yield Problem(f"{what}: {cause}", cure, model.deny(denied))


def number_problems(composition: Composition) -> Iterator[Problem]:
    """Distributions that state another number of the extension API than this core's, or two of them."""
    plugins = all_plugins(composition)
    load_all(plugins)
    numbers: dict[str, set[int]] = {}
    for plugin in plugins:
        if plugin.status == "loaded" and plugin.group.startswith(_NUMBERED):
            numbers.setdefault(plugin.distribution, set()).add(plugin.load().api)
    for distribution, stated in sorted(numbers.items()):
        if len(stated) > 1:
            listed = " and ".join(map(str, sorted(stated)))
            what = f"{distribution} states the numbers {listed} of the extension API"
            upgrade = f"pip install --upgrade {distribution}"
            yield Problem(what, "its author should state one in all its plugins; look for a newer version", upgrade)
        elif max(stated) < EXTENSION_API:
            core = f"this core ({EXTENSION_API})"
            what = f"{distribution} was written for extension API {max(stated)}, which {core} takes for the last time"
            yield Problem(what, "look for a newer version", f"pip install --upgrade {distribution}")


def conflicts(composition: Composition) -> Iterator[Problem]:
    """Names that two distributions claim."""
    for group in _SINGLE:
        for name in dict.fromkeys(plugin.name for plugin in composition.entries(group)):
            try:
                composition.find(group, name)
            except PluginConflictError as error:
                yield _conflict(str(error), error.cell, error.claimants)


def _conflict(what: str, cell: str, claimants: Sequence[str]) -> Problem:
    cure = f"choose {' or '.join(claimants)}, or uninstall all but one of them"
    return Problem(what, cure, model.prefer(cell, claimants[0]) if claimants else "")


def rule_problems() -> Iterator[Problem]:
    """Cells of the matrix that two distributions fill, or a broken one; or none, though all are first-party.

    What a third party's primitive or rule kind leaves out is no fault of the installation: `tangrad rules --check`
    finds that.
    """
    cells, _ = squares()  # families that cannot be shown are reported with their plugins
    yield from _rule_conflicts([cell for cell in cells if cell.status == "conflict"])
    missing = [cell for cell in cells if cell.status == "missing" and _is_ours(cell)]
    if missing:
        first = ", ".join(f"{cell.kind}:{cell.primitive.identity}" for cell in missing[:3])
        more = ", ..." if len(missing) > 3 else ""
        what = f"{counted(len(missing), 'cell')} of the rule matrix {'is' if len(missing) == 1 else 'are'} missing"
        upgrade = sorted({owner for cell in missing if (owner := _owner(cell)) is not None})
        cure = "bring the distributions to one version; tangrad rules --holes shows each cell"
        yield Problem(f"{what}: {first}{more}", cure, f"pip install --upgrade {' '.join(upgrade)}")


def _rule_conflicts(cells: list[Square]) -> Iterator[Problem]:
    """One problem for all primitives of a family that the same distributions claim for a kind."""
    together: dict[tuple[str, str, tuple[str, ...]], list[tuple[Square, PluginConflictError]]] = {}
    for square in cells:
        try:
            error = rule_table(square.kind).cell(square.primitive).error()
        except Exception:  # resolved meanwhile, or broken: reported as such
            continue
        if isinstance(error, PluginConflictError) and error.claimants:
            key = (square.kind, square.primitive.family, error.claimants)
            together.setdefault(key, []).append((square, error))
    for (kind, family, claimants), found in together.items():
        first = found[0][1]
        if len(found) == 1:
            yield _conflict(str(first), first.cell, claimants)
        else:
            what = f"{len(found)} primitives of family {family!r} have the same conflict, such as: {first}"
            yield _conflict(what, f"{kind}:{family}.*", claimants)


def _owner(cell: Square) -> str | None:
    return catalogue.owner_in(catalogue.FAMILIES, cell.primitive.family)


def _is_ours(cell: Square) -> bool:
    kind = cell.kind
    while _owner(cell) is not None and kind:  # a platform's kind belongs to the owner of the general one
        if catalogue.owner_in(catalogue.RULE_KINDS, kind) is not None:
            return True
        kind = kind.rpartition(".")[0]
    return False


_API = "tangrad.api"
_CLOSE = 0.85  # of two words: one letter too many, too few or wrong in eight
_COMPOSED = (
    "tangrad._core.composition.api"  # where the packages have their `__getattr__` from that take names from entries
)


def entry_problems(composition: Composition) -> Iterator[Problem]:
    """Entries in misspelt groups, for misspelt families, in packages that take no names; rules that no entry names."""
    plugins = [plugin for plugin in all_plugins(composition) if plugin.denial is None]
    known_groups = {*GROUPS, *[plugin.group for plugin in plugins if _is_ours_of_entries(plugin)]}
    known_kinds = {*rule_kinds(), *" ".join(catalogue.RULE_KINDS.values()).split()}
    known_families = {*families(), *" ".join(catalogue.FAMILIES.values()).split()}
    packages = {_package(name) for name in composition.names(_API) if _composes(_package(name))}
    for plugin in plugins:
        kind, family = plugin.group.removeprefix(RULES), plugin.name.partition(".")[0]
        if not plugin.group.startswith(RULES):
            meant = close_to(plugin.group, known_groups)
            if meant is not None:
                yield _misspelt(plugin, f"the group {plugin.group!r}, which is not read", _group(plugin.group, meant))
            elif plugin.group == _API:
                yield from _namespace_problem(plugin, packages)
            continue
        meant = _close_kind(kind, known_kinds)
        if meant is not None:
            edit = _group(plugin.group, RULES + meant)
            yield _misspelt(plugin, f"rules of kind {kind!r}, which has no owner", edit)
        meant = close_to(family, known_families)
        if meant is not None:
            edit = f"write {meant + plugin.name.removeprefix(family)} in place of {plugin.name}"
            yield _misspelt(plugin, f"rules for the family {family!r}, which no distribution ships", edit)
    yield from _rules_without_entry(plugins)


def close_to(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is probably meant by one that is not known; None where there is none.

    >>> close_to("tangrad.primitive", ["tangrad.primitives", "tangrad.api"])
    'tangrad.primitives'
    >>> close_to("jpv", ["jvp", "batch"]), close_to("jvp", ["jvp"]), close_to("cupy", ["numpy"])
    ('jvp', None, None)
    """
    found: list[tuple[float, str]] = []
    for other in known:
        if word == other:
            return None
        alike = 1.0 if sorted(word) == sorted(other) else SequenceMatcher(None, word, other).ratio()
        if alike >= _CLOSE:
            found.append((alike, other))
    return max(found)[1] if found else None


def _close_kind(kind: str, known: set[str]) -> str | None:
    """As `close_to`, part by part: `lower.cupy` is not meant to be `lower.numpy`, and below a kind there may be any."""
    parts = kind.split(".")
    if any(".".join(parts[:count]) in known for count in range(1, len(parts) + 1)):
        return None
    for other in sorted(known):
        own = other.split(".")
        pairs = list(zip(parts, own, strict=False))
        if len(parts) >= len(own) and all(one == two or close_to(one, [two]) for one, two in pairs):
            return ".".join([*own, *parts[len(own) :]])
    return None


def _is_ours_of_entries(plugin: Plugin) -> bool:
    return plugin.distribution == "tangrad-core" or plugin.distribution in catalogue.MODULES


def _group(wrong: str, right: str) -> str:
    return f'write [project.entry-points."{right}"] in place of [project.entry-points."{wrong}"]'


def _misspelt(plugin: Plugin, what: str, edit: str) -> Problem:
    cure = f"in the pyproject.toml of {plugin.distribution} {edit}; until then go without it"
    return Problem(
        f"{plugin.distribution} has {plugin.name!r} ({plugin.value}) in {what}", cure, model.deny(plugin.identity)
    )


# --- public names ---


def _package(name: str) -> str:
    """The package that a public name is in."""
    return f"tangrad.{name}".rpartition(".")[0]


def _composes(package: str) -> bool:
    """Whether a package is there and takes names from entry points, asking others first or not."""
    try:
        found = None if find_spec(package) is None else import_module(package)
    except ImportError:  # it, or a package above it, is not there
        return False
    hooks = [getattr(found, name, None) for name in ("__getattr__", "__dir__")]
    return any(getattr(hook, "__module__", "") == _COMPOSED for hook in hooks)


def _namespace_problem(plugin: Plugin, packages: set[str]) -> Iterator[Problem]:
    package = _package(plugin.name)
    if package in packages or catalogue.distribution_of_module(package) not in (None, *_installed(package)):
        return  # all is well, or dormant: who ships the package is not installed
    leaf = plugin.name.rpartition(".")[2]
    meant = close_to(package, packages)
    there = f"{package} takes no names from entry points" if _exists(package) else f"there is no package {package}"
    choice = meant or f"a package that does: {', '.join(sorted(packages))}"
    edit = (
        f"write {f'{meant}.{leaf}'.removeprefix('tangrad.')} in place of {plugin.name}" if meant else f"choose {choice}"
    )
    yield _misspelt(plugin, f"the group {plugin.group!r}, but {there}, so it is never found", edit)


def _installed(package: str) -> tuple[str, ...]:
    """The distribution of ours that ships a package, if the package is there."""
    owner = catalogue.distribution_of_module(package)
    return (owner,) if owner is not None and _exists(package) else ()


def _exists(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


# --- rules ---


def _rules_without_entry(plugins: list[Plugin]) -> Iterator[Problem]:
    """Rules in a set that is registered for other families only: they are never found there."""
    named = {(one.distribution, one.group, one.name.partition(".")[0]) for one in plugins}
    for plugin in plugins:
        if not plugin.group.startswith(RULES) or plugin.status != "loaded":
            continue
        try:
            served = plugin.load().families()
        except PluginError:  # denied or set aside meanwhile
            continue
        for family in served:
            if (plugin.distribution, plugin.group, family) not in named:
                what = (
                    f"{plugin.distribution} has rules for the family {family!r} in {plugin.value}, and no entry for it"
                )
                edit = f'write {family} = "{plugin.value}" below [project.entry-points."{plugin.group}"]'
                cure = f"in its pyproject.toml {edit}; until then go without it"
                yield Problem(what, cure, model.deny(plugin.identity))
