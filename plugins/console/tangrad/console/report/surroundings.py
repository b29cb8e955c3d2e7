"""What `tangrad doctor` says of the surroundings: environment variables, caches on disk, allow and deny lists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from tangrad.console.report.model import BAD, GOOD, PLAIN, QUIET, WARNING, Entry, Problem, Table, counted
from tangrad.console.report.rules import squares
from tangrad.core import Composition, cache_folder, catalogue, is_whole_record, usable_settings

# What is read from the environment by other means than a setting.
_OTHER_VARIABLES = {
    "TANGRAD_ALLOW": "The plugins that may be used; others may not.",
    "TANGRAD_DENY": "Plugins that must not be used.",
    "TANGRAD_PREFER": "Which of two distributions provides what both claim.",
    "TANGRAD_CACHE_DIR": "Where the kernel keeps what it found out about installed plugins; 0: nowhere.",
    "TANGRAD_CUDA_VISIBLE_DEVICES": "The CUDA devices that the XLA backend uses.",
}
# Read by what lies underneath.
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
    """Return the variables that are set and are ours, or look like ours, or matter to what lies underneath."""
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
            owner = catalogue.distribution_of_setting(name.removeprefix("TANGRAD_").lower())
            if owner is not None:
                yield Problem(
                    f"environment variable {name} is read by nothing that is installed", f"pip install {owner}"
                )
                continue
            (close,) = get_close_matches(name.upper(), known, 1, 0.75) or [""]
            cure = f"{close}={value} is probably meant" if close else f"known are: {', '.join(sorted(known))}"
            yield Problem(f"environment variable {name} is read by nothing", cure)
    for setting in usable_settings().values():
        if setting.rejected is not None:
            what = f"environment variable {setting.rejected}; the default, {setting.default!r}, is used"
            yield Problem(what, f"correct it, or unset {setting.environment_variable}")


# --- caches ---------------------------------------------------------------------------------------------------------


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
    discovery = _examined("plugins found", "TANGRAD_CACHE_DIR", cache_folder(environment), is_whole_record)
    settings = usable_settings()
    setting, bound = settings.get("compilation_cache_dir"), settings.get("compilation_cache_max_size")
    if setting is None or bound is None:  # no installed backend keeps programs
        return [discovery]
    folder = None if setting.value is None else os.path.expanduser(setting.value)
    compiled = _examined("compiled programs", setting.environment_variable, folder, None)
    return [discovery, compiled._replace(bound=bound.value)]


def _examined(name: str, variable: str, folder: str | None, is_whole: Any) -> Cache:
    if folder is None:
        return Cache(name, variable, None, "off")
    if not os.path.exists(folder):
        return Cache(name, variable, folder, "not made yet" if _writable(folder) else "cannot be made")
    files, size, damaged = 0, 0, []
    try:
        for entry in os.scandir(folder):
            if entry.is_file():
                files += 1
                size += entry.stat().st_size
                if is_whole is not None and entry.name.endswith(".txt") and not is_whole(entry.path):
                    damaged.append(entry.path)
    except OSError as error:
        return Cache(name, variable, folder, f"cannot be read: {error.strerror}", files, size)
    return Cache(name, variable, folder, _state(folder), files, size, tuple(sorted(damaged)))


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
_CURES = {
    "can be written to by other users": "chmod go-w {0}: what others put there is not to be trusted",
    "belongs to another user": "set {1} to a folder of your own",
}


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
            cure = _CURES.get(cache.state, "set {1} to a folder that can be written to, or to 0").format(
                folder, variable
            )
            yield Problem(f"the cache folder {folder} ({cache.name}) {cache.state}", cure)
        if cache.damaged:
            names = ", ".join(os.path.basename(file) for file in cache.damaged[:3])
            more = ", ..." if len(cache.damaged) > 3 else ""
            what = f"{counted(len(cache.damaged), 'file')} in the cache folder {folder} damaged or foreign, and ignored"
            yield Problem(f"{what}: {names}{more}", f"delete the folder {folder}: it is made anew")
        if cache.bound is not None and cache.size > 1.1 * cache.bound:
            what = f"the cache folder {folder} holds {_amount(cache.size)}, more than its bound of"
            yield Problem(
                f"{what} {_amount(cache.bound)}", f"delete what is not ours in {folder}, or choose another one"
            )


# --- allow and deny lists -------------------------------------------------------------------------------------------


def lists_table(composition: Composition) -> Table:
    """What the user decided about plugins."""
    rows = [[Entry(source), Entry(text)] for source, text in composition.policy.described()]
    return Table("Allow and deny lists, preferences", ["from", "what"], rows)


def list_problems(composition: Composition) -> Iterator[Problem]:
    """Patterns that name nothing, and preferences for what is not installed: most likely typing errors."""
    plugins = [plugin for group in composition.groups() for plugin in composition.entries(group)]
    policy, cure = composition.policy, "correct it or leave it out; tangrad plugins lists all"
    for rejected in policy.rejected:
        yield Problem(f"{rejected}; it is ignored", "correct it or leave it out")
    for source, pattern in policy.unmatched(plugins):
        yield Problem(f"{source}: {pattern!r} matches no installed plugin", cure)
    if policy.has_rule_patterns():
        rules = [(cell.kind, cell.primitive.identity) for cell in squares()[0]]
        for source, pattern in policy.unmatched_rules(rules):
            yield Problem(f"{source}: {pattern!r} matches no rule", "correct it or leave it out; see tangrad rules")
    shippers = {plugin.distribution for plugin in plugins}
    for cell, distribution in policy.preferences().items():
        if distribution not in shippers:
            yield Problem(f"the preference {cell}={distribution} names a distribution that has no plugins here", cure)
