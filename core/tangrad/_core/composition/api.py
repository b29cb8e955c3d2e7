"""The public API, composed: gives each public package the `__getattr__` through which its names resolve.

`tangrad.grad`, `tangrad.lax.sin`, `tangrad.numpy.einsum` are entries of the group `tangrad.api`, named without the
leading `tangrad.`; whichever distribution ships them. A name is looked up once, then it is an ordinary global of its
package. What is missing is named together with the distribution to install (`missing_names.py`).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from types import FrameType, ModuleType
from typing import Any

from tangrad._core.composition.hook_names import HOOKS_GROUP
from tangrad._core.composition.missing_names import explanations, install_finder
from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.policy import BY_HAND
from tangrad._core.composition.registry import claim, composition, conflict
from tangrad._core.diagnostics import tracebacks
from tangrad._core.diagnostics.errors import BrokenPluginError, MissingDistributionImportError
from tangrad._core.diagnostics.source_info import callers_of, is_internal
from tangrad._core.diagnostics.tracebacks import api_boundary, with_boundary

GROUP = "tangrad.api"
_ROOT = "tangrad."
_ON_THE_WAY = (__file__, tracebacks.__file__, "<frozen importlib")  # frames between who asks and what answers

# Package -> the names that were put into its globals: a change of the composition takes them out again.
_resolved: dict[str, dict[str, object]] = {}


def public_package(module_name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for the public package `module_name`, which passes its own `__name__`."""
    prefix = (module_name + ".").removeprefix(_ROOT)
    install_finder()
    if not _resolved:
        composition().on_change(_forget)
    resolved = _resolved.setdefault(module_name, {})
    if prefix and _rivals_of(module_name):
        _guard(module_name)

    def __getattr__(name: str) -> object:  # noqa: N807
        if name.startswith("__"):
            if name == "__all__":  # what is denied or broken would stop `from package import *`
                unusable = {one.name for one in composition().entries(GROUP) if one.status in ("denied", "broken")}
                return sorted([inner for inner in _names(prefix) if prefix + inner not in unusable])
            if name == "__version__" and not prefix:
                return own_version()
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        plugin = composition().find(GROUP, prefix + name)
        if plugin is None:
            module = _submodule(module_name, name)
            if module is not None:
                return module
            plugin = _installed_meanwhile(prefix + name)
            if plugin is None:
                raise explanations().missing_name(module_name, name, _names(prefix))
        beside = f"{module_name}.{name}"
        if plugin.value != beside and (plugin.denial is not None or ":" not in plugin.value) and _is_on_disk(beside):
            return _beside_a_module(beside)
        try:
            value = plugin.load()
        except BrokenPluginError:
            module = _submodule(module_name, name)  # which no entry may hide
            if module is None:
                raise
            return module
        if isinstance(value, ModuleType) and value.__name__ != beside and _is_on_disk(beside):
            return _beside_a_module(beside)
        is_whole = plugin.is_object(value)  # or its module is being imported: who knows whether that ends well
        value = with_boundary(value, module_name, name)
        if is_whole:
            resolved[name] = sys.modules[module_name].__dict__[name] = value
        return value

    def __dir__() -> list[str]:  # noqa: N807
        package = sys.modules[module_name].__dict__
        # What the package imported for itself (`os`, `public_package`) is not public.
        own = {n for n, value in package.copy().items() if _belongs(value, module_name) and not n.startswith("_")}
        return sorted({*own, *_names(prefix), *_modules(package.get("__path__", ()))})

    return api_boundary(__getattr__), __dir__


def _beside_a_module(full_name: str) -> object:
    """What users find under the name of a module on disk that an entry claims as well, or that is denied."""
    _guard(full_name)
    return _chosen(full_name, sys._getframe(2))


def _check_name(plugin: Plugin, loaded: object) -> None:
    """Refuse a name that is a package's or a module's: the object would stand in the way of all that is in there."""
    name = _ROOT + plugin.name
    if not isinstance(loaded, ModuleType) and _is_on_disk(name):
        raise ValueError(
            f"tangrad.{plugin.name} is a package or a module, and an entry of that name would hide what is in it: give "
            "the entry another name"
        )


composition().set_check(GROUP, _check_name)


def own_version() -> str:
    """Return the version of the kernel's distribution, which is the version of Tangrad."""
    distribution = composition().index.distributions().get("tangrad-core")
    return "of no version" if distribution is None else distribution.version


def _forget(plugins: tuple[Plugin, ...] | None) -> None:
    if plugins is not None and all(plugin.group not in (GROUP, HOOKS_GROUP) for plugin in plugins):
        return
    for module_name, names in _resolved.copy().items():
        module = sys.modules.get(module_name)
        for name, value in names.copy().items():
            if module is not None and module.__dict__.get(name) is value:
                del module.__dict__[name]
        names.clear()
        if module_name != "tangrad" and _rivals_of(module_name):
            _guard(module_name)


# --- what there is ---


def _belongs(value: object, module_name: str) -> bool:
    """Return whether a global of a public package is part of it: a module below it, or defined in it."""
    if isinstance(value, ModuleType):
        return value.__name__.startswith(module_name + ".")
    return getattr(value, "__module__", module_name) == module_name


def _names(prefix: str) -> set[str]:
    """Return the public names directly in the package that `prefix` names."""
    inside = [name[len(prefix) :] for name in composition().names(GROUP) if name.startswith(prefix)]
    return {name for name in inside if "." not in name}


def _modules(path: Sequence[str]) -> set[str]:
    """Return the names of the public modules in the folders of a package."""
    entries: list[os.DirEntry[str]] = []
    for folder in path:
        with suppress(OSError):  # it is none, may not be read, or has just gone
            entries += [entry for entry in os.scandir(folder) if entry.is_dir() or entry.name[-3:] == ".py"]
    stems = [entry.name.removesuffix(".py") for entry in entries]
    return {stem for stem in stems if stem.isidentifier() and not stem.startswith("_")}


def _submodule(module_name: str, name: str) -> ModuleType | None:
    """Import the module `name` of a package; None if there is none on disk."""
    full_name = f"{module_name}.{name}"
    try:
        return import_module(full_name)
    except ModuleNotFoundError as error:
        if error.name == full_name or isinstance(error, MissingDistributionImportError):
            return None
        raise  # it is there, and what it imports is not


# --- what there is not ---


def _installed_meanwhile(public: str) -> Plugin | None:
    """Return the plugin of a name whose distribution was installed after this process started, as notebooks do."""
    distribution = explanations().distribution_of(public)
    if distribution is None or composition().index.has_distribution(distribution):
        return None
    return composition().find(GROUP, public) if composition().look_again_for(distribution) else None


# --- modules that entries of others claim ---
# `tangrad.numpy` is a folder on disk, and an entry has that name. Such a cell is a conflict like any other: an error
# that names both, unless one is registered with `override=True` or the user prefers one; what is denied does not count.
# Python puts a module into its package as soon as it is imported, so what users find under the name is a property of
# the package's class, and does not depend on who came first. Our own modules go on finding what they were written for.


def _is_on_disk(full_name: str) -> bool:
    """Return whether there is a module or package of this name below its package's folders."""
    package = sys.modules.get(full_name.rpartition(".")[0])
    return PathFinder.find_spec(full_name, getattr(package, "__path__", ())) is not None


def _guard(full_name: str) -> None:
    """Have users find under the name of a module on disk what the composition has there, however it is imported."""
    package_name, _, name = full_name.rpartition(".")
    package = sys.modules[package_name]
    if type(package) is ModuleType:
        package.__class__ = type("GuardedPackage", (ModuleType,), {})
    if not isinstance(vars(type(package)).get(name), property):
        package.__dict__.pop(name, None)
        found = property(lambda _: _chosen(full_name, sys._getframe(1)), lambda *_: None)  # the import system sets it
        setattr(type(package), name, found)


def _chosen(full_name: str, frame: FrameType | None) -> Any:
    """Return the module that users find under the name of one on disk, asked for from `frame`.

    Raises PluginConflictError where others claim the name, and neither an override nor the user's preference decides.
    """
    files = [frame.f_code.co_filename for frame in callers_of(frame)]
    asker = next((file for file in files if not file.startswith(_ON_THE_WAY)), None)
    rivals = [] if asker is None or is_internal(asker) else _rivals(full_name)
    winner = _winner(full_name, rivals) if rivals else None
    return import_module(full_name) if winner is None else winner.load()


def _rivals_of(full_name: str) -> bool:
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
