"""The public API, composed: gives each public package the `__getattr__` through which its names resolve.

`tangrad.grad`, `tangrad.lax.sin`, `tangrad.numpy.einsum` are entries of the group `tangrad.api`, named without the
leading `tangrad.`; whichever distribution ships them. A name is looked up once, then it is an ordinary global of its
package. What is missing is named together with the distribution to install, for attributes and for imports.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from tangrad.composition.plugin import HOOKS_GROUP, Plugin
from tangrad.composition.registry import composition
from tangrad.diagnostics.errors import BrokenPluginError, MissingDistributionError, MissingDistributionImportError
from tangrad.diagnostics.public_boundaries import with_boundary
from tangrad.diagnostics.tracebacks import api_boundary

GROUP = "tangrad.api"
_ROOT = "tangrad."

# Package -> the names that were put into its globals: a change of the composition takes them out again.
_resolved: dict[str, dict[str, Any]] = {}


def public_package(module_name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for the public package `module_name`.

    Args:
        module_name: `tangrad`, or a package below it; a public package passes its own `__name__`.

    Returns:
        Two functions, to be bound to `__getattr__` and `__dir__` in the package's `__init__`.
    """
    prefix = (module_name + ".").removeprefix(_ROOT)
    _install_finder()
    if not _resolved:
        composition().on_change(_forget)
    resolved = _resolved.setdefault(module_name, {})

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name.startswith("__"):
            if name == "__all__":
                return sorted(_usable_names(prefix))
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
                raise _missing(module_name, prefix, name)
        try:
            value = plugin.load()
        except BrokenPluginError:
            module = _submodule(module_name, name)  # which nobody's entry may hide
            if module is None:
                raise
            return module
        value = with_boundary(value, module_name, name)
        resolved[name] = sys.modules[module_name].__dict__[name] = value
        return value

    def __dir__() -> list[str]:  # noqa: N807
        package = sys.modules[module_name].__dict__
        # What the package imported for itself (`os`, `public_package`) is nobody's business.
        own = {name for name, value in package.items() if _belongs(value, module_name) and not name.startswith("_")}
        return sorted({*own, *_names(prefix), *_modules(package.get("__path__", ()))})

    return api_boundary(__getattr__), __dir__


def _check_name(plugin: Plugin, loaded: object) -> None:
    """Refuse a name that is a package's or a module's: the object would stand in the way of all that is in there."""
    name = _ROOT + plugin.name
    path = getattr(sys.modules.get(name.rpartition(".")[0]), "__path__", ())
    if not isinstance(loaded, ModuleType) and PathFinder.find_spec(name, path) is not None:
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
    for module_name, names in _resolved.items():
        module = sys.modules.get(module_name)
        for name, value in list(names.items()):
            if module is not None and module.__dict__.get(name) is value:
                del module.__dict__[name]
        names.clear()


# --- what there is --------------------------------------------------------------------------------------------------


def _belongs(value: object, module_name: str) -> bool:
    """Return whether a global of a public package is part of it: a module below it, or defined in it."""
    if isinstance(value, ModuleType):
        return value.__name__.startswith(module_name + ".")
    return getattr(value, "__module__", module_name) == module_name


def _names(prefix: str) -> set[str]:
    """Return the public names directly in the package that `prefix` names."""
    return {
        name[len(prefix) :]
        for name in composition().names(GROUP)
        if name.startswith(prefix) and "." not in name[len(prefix) :]
    }


def _usable_names(prefix: str) -> set[str]:
    """Return the names for `from package import *`: without what is denied or broken, which would stop it."""
    unusable = {plugin.name for plugin in composition().entries(GROUP) if plugin.status in ("denied", "broken")}
    return {name for name in _names(prefix) if prefix + name not in unusable}


def _modules(path: Sequence[str]) -> set[str]:
    """Return the names of the public modules in the folders of a package."""
    found = set()
    for folder in path:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            stem, extension = os.path.splitext(name)
            if stem.isidentifier() and not stem.startswith("_"):
                if extension == ".py" or (not extension and os.path.isdir(os.path.join(folder, name))):
                    found.add(stem)
    return found


def _submodule(module_name: str, name: str) -> ModuleType | None:
    """Import the module `name` of a package; None if there is none on disk."""
    full_name = f"{module_name}.{name}"
    try:
        return import_module(full_name)
    except ModuleNotFoundError as error:
        if error.name == full_name or isinstance(error, MissingDistributionImportError):
            return None
        raise  # it is there, and what it imports is not


# --- what there is not ----------------------------------------------------------------------------------------------


def _installed_meanwhile(public: str) -> Plugin | None:
    """Return the plugin of a name whose distribution was installed after this process started, as notebooks do."""
    from tangrad.composition import catalogue

    distribution = catalogue.distribution_of(public)
    if distribution is None or composition().index.has_distribution(distribution):
        return None
    return composition().find(GROUP, public) if composition().look_again_for(distribution) else None


def _missing(module_name: str, prefix: str, name: str) -> AttributeError:
    """Return the error for a public name that nothing installed provides."""
    from tangrad.composition import catalogue  # only to explain an error

    public = prefix + name
    error = _not_installed(_ROOT + public, catalogue.distribution_of(public))
    if error is not None:
        return error
    from difflib import get_close_matches

    known = {other[len(prefix) :] for other in catalogue.public_names() if other.startswith(prefix)}
    matches = get_close_matches(name, {other for other in known | _names(prefix) if "." not in other}, n=3)
    hint = f"; did you mean {' or '.join(map(repr, matches))}?" if matches else ""
    return AttributeError(
        f"module {module_name!r} has no attribute {name!r}{hint}{composition().manager.not_asked()}",
        name=name,
        obj=sys.modules.get(module_name),
    )


def _not_installed(what: str, distribution: str | None) -> MissingDistributionError | None:
    """Return the error for what a distribution ships, or None if that is installed, or nobody ships it."""
    if distribution is None or composition().index.has_distribution(distribution):
        return None
    return MissingDistributionError(what, distribution)


def missing_array_attribute(name: str) -> AttributeError:
    """Return the error for an operator, method or property of arrays that nothing installed provides."""
    from tangrad.composition import catalogue

    owner = catalogue.distribution_of_array_attribute(name)
    error = AttributeError(f"an array has no attribute {name!r}", name=name)
    return _not_installed(f"the array attribute {name!r}", owner) or error


def missing_setting(name: str, known: Sequence[str]) -> AttributeError:
    """Return the error for a setting that nothing installed declares; `known`: those that are."""
    from tangrad.composition import catalogue

    error = AttributeError(f"there is no setting {name!r}; the settings are: {', '.join(known)}")
    return _not_installed(f"the setting {name!r}", catalogue.distribution_of_setting(name)) or error


def backends_to_install(name: str | None = None) -> str:
    """Return what an error about a missing backend says of how to get it, or, without a name, any."""
    from tangrad.composition import catalogue

    known = " ".join(catalogue.BACKENDS.values()).split()
    distributions = [one for one, names in catalogue.BACKENDS.items() if name not in known or name in names.split()]
    return f"Install one: pip install {' or '.join(distributions)}"


class MissingDistributionFinder:
    """The last finder on `sys.meta_path`: names the distribution of a first-party module that is not installed.

    It is asked only when no other finder knows the module, so imports that succeed never reach it.
    """

    @classmethod
    def find_spec(
        cls, full_name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise MissingDistributionImportError for a module that the catalogue knows and no other finder has."""
        if not full_name.startswith(_ROOT):
            return None
        for later in sys.meta_path[sys.meta_path.index(cls) + 1 :] if cls in sys.meta_path else ():
            spec = later.find_spec(full_name, path, target)
            if spec is not None:
                return spec
        distributions = _distributions_of_module(full_name)
        if not distributions:
            return None
        error = MissingDistributionImportError(full_name, distributions[0])
        # A `from` import swallows an error that bears the name of the module it tried, and reports one that explains
        # nothing.
        error.name = None
        raise error


def _distributions_of_module(full_name: str) -> list[str]:
    """Return the distributions that would provide a module, or the public name that a `from` import tried as a module.

    Only for the tops of a distribution's tree: below them the distribution is installed, and the module does not exist.
    """
    from tangrad.composition import catalogue

    distributions = [
        distribution
        for distribution, tops in catalogue.MODULES.items()
        if any(top == full_name or top.startswith(full_name + ".") for top in tops.split())
    ]
    if not distributions:
        # `from tangrad import grad` tries the attribute, then a module of that name, and reports only the latter.
        public = full_name.removeprefix(_ROOT)
        owner = catalogue.distribution_of(public) if public in catalogue.public_names() else None
        distributions = [owner] if owner is not None and not composition().index.has_distribution(owner) else []
    return distributions


def _install_finder() -> None:
    if MissingDistributionFinder not in sys.meta_path:
        sys.meta_path.append(MissingDistributionFinder)
