"""What `tangrad doctor` says of plugins and rules: those set aside, those claimed twice, those that are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tangrad._console.explanations import catalogue
from tangrad._console.report import cures
from tangrad._console.report.model import Problem, counted
from tangrad._console.report.plugins import all_plugins, load_all
from tangrad._console.report.rules import Square, squares
from tangrad.core import rule_table
from tangrad.core.tools import EXTENSION_API, Composition, Plugin
from tangrad.errors import ApiVersionError, PluginConflictError

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
        yield Problem(f"{what}: {cause}", cure, cures.deny(denied))


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
    return Problem(what, cure, cures.prefer(cell, claimants[0]) if claimants else "")


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
