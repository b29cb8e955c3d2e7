"""Public modules that entries of others claim: `tangrad.numpy` is a folder on disk, and an entry has that name.

Such a cell is a conflict like any other: an error that names both, unless one is registered with `override=True` or
the user prefers one; what is denied does not count. Python puts a module into its package as soon as it is imported,
it, so what users find under the name is a property of the package's class, and does not depend on who came first. Our
own modules go on finding what they were written for.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from importlib.machinery import PathFinder
from types import FrameType, ModuleType
from typing import Any

from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.policy import BY_HAND
from tangrad._core.composition.registry import claim, composition, conflict
from tangrad._core.diagnostics.errors import BrokenPluginError
from tangrad._core.diagnostics.source_info import is_internal

GROUP = "tangrad.api"
_ROOT = "tangrad."
_ON_THE_WAY = (__file__, "<frozen importlib")  # frames between who asks and what answers


def is_on_disk(full_name: str) -> bool:
    """Return whether there is a module or package of this name below its package's folders."""
    package = sys.modules.get(full_name.rpartition(".")[0])
    return PathFinder.find_spec(full_name, getattr(package, "__path__", ())) is not None


def guard(full_name: str) -> None:
    """Have users find under the name of a module on disk what the composition says, however it is imported."""
    package_name, _, name = full_name.rpartition(".")
    package = sys.modules[package_name]
    if type(package) is ModuleType:
        package.__class__ = type("GuardedPackage", (ModuleType,), {})
    if not isinstance(vars(type(package)).get(name), property):
        package.__dict__.pop(name, None)
        found = property(lambda _: chosen(full_name, sys._getframe(1)), lambda *_: None)  # the import system sets it
        setattr(type(package), name, found)


def chosen(full_name: str, frame: FrameType | None) -> Any:
    """Return the module that users find under the name of one on disk, asked for from `frame`.

    Raises PluginConflictError where others claim the name, and neither an override nor the user's preference decides.
    """
    while frame is not None and frame.f_code.co_filename.startswith(_ON_THE_WAY):
        frame = frame.f_back
    rivals = [] if frame is None or is_internal(frame.f_code.co_filename) else _rivals(full_name)
    winner = _winner(full_name, rivals) if rivals else None
    return import_module(full_name) if winner is None else winner.load()


def rivals_of(full_name: str) -> bool:
    """Return whether some entry that is not denied claims the name of a module on disk; nothing is imported."""
    entries = composition().entries(GROUP, full_name.removeprefix(_ROOT))
    return any(plugin.denial is None and plugin.value != full_name for plugin in entries)


def _rivals(full_name: str) -> list[Plugin]:
    """The plugins whose object is another module."""
    plugins = composition().manager.contributions(GROUP, full_name.removeprefix(_ROOT))
    return [one for one in plugins if one.denial is None and one.value != full_name and _is_module(one)]


def _is_module(plugin: Plugin) -> bool:
    try:
        return ":" not in plugin.value or isinstance(plugin.load(), ModuleType)
    except BrokenPluginError:  # an object that is no module, which would hide this one: it has warned
        return False


def _winner(full_name: str, rivals: list[Plugin]) -> Plugin | None:
    """Who has the name; None: the module on disk."""
    name = full_name.removeprefix(_ROOT)
    owner = _owner(name)
    found = composition().choice(GROUP, name, rivals)
    if found is not None:
        return found
    if composition().policy.blocks(owner) is not None and len(rivals) == 1:
        return rivals[0]
    if composition().policy.preferred(GROUP, name) == owner:
        return None
    raise conflict(GROUP, name, [(owner, f"{owner} (the module {full_name})"), *map(claim, rivals)])


def _owner(name: str) -> str:
    """The distribution of most public names in a package: who wants `tangrad.export` wants to export.

    The package itself may be of another, which that one requires.
    """
    inside = [one for one in composition().entries(GROUP) if one.name.startswith(f"{name}.")]
    owners = Counter([one.distribution for one in inside if one.distribution != BY_HAND])
    return max(owners, key=owners.__getitem__, default=f"the distribution of the module {_ROOT}{name}")
