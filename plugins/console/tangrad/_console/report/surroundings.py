"""What `tangrad doctor` reports of the surroundings: environment variables, caches on disk, allow and deny lists."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatch
from itertools import chain
from typing import Any, NamedTuple

from tangrad._console import stubs
from tangrad._console.explanations import catalogue
from tangrad._console.report import model
from tangrad._console.report.model import BAD, GOOD, PLAIN, QUIET, WARNING, Entry, Problem, Table, counted
from tangrad._console.report.plugins import all_plugins
from tangrad._console.report.rules import squares
from tangrad.core.settings import usable_settings
from tangrad.core.tools import Composition, cache_folder, is_record

# What is read from the environment by other means than a setting.
_OTHER_VARIABLES = {
    "TANGRAD_ALLOW": "The plugins that may be used; others may not.",
    "TANGRAD_DENY": "Plugins that must not be used.",
    "TANGRAD_PREFER": "Which of two distributions provides what both claim.",
    "TANGRAD_CACHE_DIR": "Where the kernel keeps what it found out about installed plugins; 0: nowhere.",
    "TANGRAD_CUDA_VISIBLE_DEVICES": "The CUDA devices that the XLA backend uses.",
}
# Read by the libraries underneath.
_FOREIGN_VARIABLES = {
    "XLA_FLAGS": "Options of the XLA compiler.",
    "CUDA_VISIBLE_DEVICES": "The CUDA devices that this process sees.",
    "OMP_NUM_THREADS": "How many threads NumPy's linear algebra may use.",
    "OPENBLAS_NUM_THREADS": "How many threads NumPy's linear algebra may use.",
}


class Variable(NamedTuple):
    """An environment variable that is set. `meaning` is None where nothing reads it."""

    name: str
    value: str
    meaning: str | None


def variables(environment: Mapping[str, str]) -> list[Variable]:
    """Return the variables that are set and are ours, or look like ours, or matter to the libraries underneath."""
    known = _known()
    meanings: dict[str, str | None] = {**_FOREIGN_VARIABLES, **known}
    return [
        Variable(name, environment[name], meanings.get(name))
        for name in sorted(environment)
        if name in meanings or name.upper().startswith("TANGRAD_") or get_close_matches(name, known, 1, 0.9)
    ]


def _known() -> dict[str, str]:
    return {setting.environment_variable: setting.doc for setting in usable_settings().values()} | _OTHER_VARIABLES


def variables_table(found: list[Variable]) -> Table:
    """The variables with what they mean."""
    rows = [
        [Entry(name, BAD if meaning is None else PLAIN), Entry(value), Entry(meaning or "read by nothing", QUIET)]
        for name, value, meaning in found
    ]
    return Table("Environment variables", ["variable", "value", "meaning"], rows)


def variable_problems(found: list[Variable]) -> Iterator[Problem]:
    """Variables that are meant for us and that nothing reads: a typing error changes nothing, silently."""
    known = _known()
    for name, value, meaning in found:
        if meaning is None:
            owner = catalogue.owner_in(catalogue.SETTINGS, name.removeprefix("TANGRAD_").lower())
            if owner is not None:
                what = f"environment variable {name} is read by nothing that is installed"
                yield Problem(what, "install what reads it", model.install(owner))
                continue
            (close,) = get_close_matches(name.upper(), known, 1, 0.75) or [""]
            cure = f"{close}={value} is probably meant" if close else f"known are: {', '.join(sorted(known))}"
            line = f"{model.assign(close, value)}; {model.unset(name)}" if close else model.unset(name)
            yield Problem(f"environment variable {name} is read by nothing", cure, line)
    for setting in usable_settings().values():
        if setting.rejected is not None:
            what = f"environment variable {setting.rejected}; the default, {setting.default!r}, is used"
            yield Problem(what, "correct it or leave it out", model.unset(setting.environment_variable))


# --- caches ---


class Cache(NamedTuple):
    """A folder on disk that may be deleted at any time.

    Attributes:
        name: what it keeps. variable: what chooses the folder.
        folder: None where it is switched off.
        state: `off`, `not made yet`, `in order`, or what is wrong.
        files, size: how many files of ours are in it, and their bytes.
        damaged: files that are cut, altered or foreign.
        bound: the bytes that it may take, or None.
    """

    name: str
    variable: str
    folder: str | None
    state: str
    files: int = 0
    size: int = 0
    damaged: tuple[str, ...] = ()
    bound: int | None = None


def caches(environment: Mapping[str, str]) -> list[Cache]:
    """Return the state of each cache."""
    discovery = _examined("plugins found", "TANGRAD_CACHE_DIR", cache_folder(environment), is_record)
    settings = usable_settings()
    setting, bound = settings.get("compilation_cache_dir"), settings.get("compilation_cache_max_size")
    if setting is None or bound is None:  # no installed backend keeps programs
        return [discovery]
    folder = None if setting.value is None else os.path.expanduser(setting.value)
    compiled = _examined("compiled programs", setting.environment_variable, folder, _is_program)
    return [discovery, compiled._replace(bound=bound.value)]


def _examined(name: str, variable: str, folder: str | None, is_own: Callable[[str], bool | None]) -> Cache:
    if folder is None:
        return Cache(name, variable, None, "off")
    if not os.path.exists(folder):
        return Cache(name, variable, folder, "not made yet" if _writable(folder) else "cannot be made")
    files, size, damaged = 0, 0, []
    try:
        for entry in os.scandir(folder):
            whole = is_own(entry.path) if entry.is_file() else None
            if whole is not None:  # what else is kept in the folder is not ours to judge
                files += 1
                size += entry.stat().st_size
                damaged += [] if whole else [entry.path]
    except OSError as error:
        return Cache(name, variable, folder, f"cannot be read: {error.strerror}", files, size)
    return Cache(name, variable, folder, _state(folder), files, size, tuple(sorted(damaged)))


PROGRAMS = "*.xlaexec"  # the XLA backend's files; this room works without it


def _is_program(file: str) -> bool | None:
    return True if fnmatch(os.path.basename(file), PROGRAMS) else None


def _state(folder: str) -> str:
    status = os.stat(folder)
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return "belongs to another user"
    if os.name == "posix" and status.st_mode & 0o022:
        return "can be written to by other users"
    return "in order" if _writable(folder) else "cannot be written to"


def _writable(folder: str) -> bool:
    """Whether a folder can be written to, or made where it is not there yet."""
    while not os.path.exists(folder):
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


_FINE = ("off", "not made yet", "in order")
_CURES = {"can be written to by other users": "what others put there is not to be trusted"}


def caches_table(found: list[Cache]) -> Table:
    """The caches with their state and size."""
    rows = []
    for cache in found:
        tone = GOOD if cache.state == "in order" else QUIET if cache.state in _FINE else WARNING
        size = "" if not cache.files else f"{counted(cache.files, 'file')}, {_amount(cache.size)}"
        rows.append([Entry(cache.name), Entry(cache.folder or ""), Entry(cache.state, tone), Entry(size)])
    return Table("Caches", ["of", "folder", "state", "size"], rows)


def _amount(size: int) -> str:
    return f"{size / 2**20:.1f} MB" if size >= 2**20 else f"{size / 1024:.1f} kB"


def cache_problems(found: list[Cache]) -> Iterator[Problem]:
    """Caches that do not serve: everything works without them, only slower."""
    for cache in found:
        folder, variable = cache.folder or "", cache.variable
        if cache.state not in _FINE:
            cure = _CURES.get(cache.state, f"set {variable} to a folder of your own, or to 0: no cache")
            line = f"chmod go-w {shlex.quote(folder)}" if cache.state in _CURES else model.assign(variable, "0")
            yield Problem(f"the cache folder {folder} ({cache.name}) {cache.state}", cure, line)
        if cache.damaged:
            names = ", ".join(os.path.basename(file) for file in cache.damaged[:3])
            more = ", ..." if len(cache.damaged) > 3 else ""
            what = f"{counted(len(cache.damaged), 'file')} in the cache folder {folder} damaged or foreign, and ignored"
            cure = "delete them: what is needed is written anew"
            yield Problem(f"{what}: {names}{more}", cure, model.delete_files(cache.damaged))
        if cache.bound is not None and cache.size > 1.1 * cache.bound:
            what = f"the cache folder {folder} holds {_amount(cache.size)}, more than its bound of"
            cure = "delete the programs in it: what is needed is compiled anew"
            line = model.delete_matching(folder, PROGRAMS)
            yield Problem(f"{what} {_amount(cache.bound)}", cure, line)


# --- stubs ---


def stub_problems(composition: Composition) -> Iterator[Problem]:
    """Stubs that were written for another composition: type checkers know names that are gone, or miss some."""
    folder = stubs.default_folder()
    if (folder / stubs.NAME).is_dir() and stubs.differing(stubs.stub_files(composition), folder):
        what = f"the stubs in {folder / stubs.NAME} are those of other installed distributions than there are"
        yield Problem(what, "write them anew", "tangrad stubs")


# --- allow and deny lists ---


def decisions(policy: Any) -> list[tuple[str, str]]:
    """Return everything that the user decided about plugins, as source and text."""
    lists = [
        (f"{patterns.source}: {verb}", pattern)
        for verb, patterns in policy.lists()
        for pattern in chain(*_written(patterns))
    ]
    return lists + [("prefer", f"{cell}={distribution}") for cell, distribution in policy.preferences().items()]


def _written(patterns: Any) -> tuple[list[str], list[str]]:
    """Return the patterns of a list that name distributions and plugins, and those that name rules."""
    of_rules = [pattern for pattern in patterns.patterns if len(pattern) == 2]
    others = [pattern for pattern in patterns.patterns if len(pattern) != 2]
    return [*map(":".join, others)], [*map(":".join, of_rules)]


def lists_table(composition: Composition) -> Table:
    """What the user decided about plugins."""
    rows = [[Entry(source), Entry(text)] for source, text in decisions(composition.policy)]
    return Table("Allow and deny lists, preferences", ["from", "what"], rows)


def list_problems(composition: Composition) -> Iterator[Problem]:
    """Patterns that name nothing, and preferences for what is not installed: most likely typing errors."""
    plugins = all_plugins(composition)
    policy, cure = composition.policy, "correct it or leave it out; tangrad plugins lists all"
    for item, what in policy.rejected.items():
        yield Problem(f"{what}; it is ignored", cure, model.leave_out("TANGRAD_PREFER", item))
    nothing: Any = type(policy)()
    written = [(patterns.source, *_written(patterns)) for _, patterns in policy.lists()]
    for source, pattern in [(source, pattern) for source, found, _ in written for pattern in found]:
        only = nothing.extended(deny=[pattern])
        if all(only.denial(plugin) is None for plugin in plugins):
            what = f"{source}: {pattern!r} matches no installed plugin"
            yield Problem(what, cure, model.leave_out(source, pattern))
    of_rules = [(source, pattern) for source, _, found in written for pattern in found]
    rules = squares()[0] if of_rules else []  # to know, all of them have to be loaded
    for source, pattern in of_rules:
        only = nothing.extended(deny=[pattern])
        if all(only.rule_denial(cell.kind, cell.primitive.identity) is None for cell in rules):
            what = f"{source}: {pattern!r} matches no rule"
            yield Problem(what, "correct it or leave it out; tangrad rules lists all", model.leave_out(source, pattern))
    shippers = {plugin.distribution for plugin in plugins}
    for cell, distribution in policy.preferences().items():
        if distribution not in shippers:
            what = f"the preference {cell}={distribution} names a distribution that has no plugins here"
            yield Problem(what, cure, model.leave_out("TANGRAD_PREFER", f"{cell}={distribution}"))
