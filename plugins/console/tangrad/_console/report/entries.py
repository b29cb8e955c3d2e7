"""What `tangrad doctor` says of entry points that are never looked up: most likely they are misspelt.

Nothing fails because of them, so nothing else shows it. What serves something that is not installed is no problem: it
is dormant. So an entry is reported only where it is close to something that there is, or could be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from importlib import import_module
from importlib.util import find_spec

from tangrad._console.explanations import catalogue
from tangrad._console.report import cures
from tangrad._console.report.model import Problem
from tangrad._console.report.plugins import all_plugins
from tangrad._core.composition.hook_names import GROUPS, RULES
from tangrad.core.tools import Composition, Plugin, families, rule_kinds
from tangrad.errors import PluginError

_API = "tangrad.api"
_CLOSE = 0.85  # of two words: one letter too many, too few or wrong in eight
_COMPOSED = (
    "tangrad._core.composition.api"  # where the packages have their `__getattr__` from that take names from entries
)


def entry_problems(composition: Composition) -> Iterator[Problem]:
    """Entries in misspelt groups, for misspelt families, in packages that take no names; rules that no entry names."""
    plugins = [plugin for plugin in all_plugins(composition) if plugin.denial is None]
    known_groups = {*GROUPS, *[plugin.group for plugin in plugins if _is_ours(plugin)]}
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


def _is_ours(plugin: Plugin) -> bool:
    return plugin.distribution == "tangrad-core" or plugin.distribution in catalogue.MODULES


def _group(wrong: str, right: str) -> str:
    return f'write [project.entry-points."{right}"] in place of [project.entry-points."{wrong}"]'


def _misspelt(plugin: Plugin, what: str, edit: str) -> Problem:
    cure = f"in the pyproject.toml of {plugin.distribution} {edit}; until then go without it"
    return Problem(
        f"{plugin.distribution} has {plugin.name!r} ({plugin.value}) in {what}", cure, cures.deny(plugin.identity)
    )


# --- public names ---------------------------------------------------------------------------------------------------


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


# --- rules ----------------------------------------------------------------------------------------------------------


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
                yield Problem(what, cure, cures.deny(plugin.identity))
