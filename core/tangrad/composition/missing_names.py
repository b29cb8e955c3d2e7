"""What is ours and not installed: the errors for names, modules, settings and backends, with what to install."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from tangrad.composition.registry import composition
from tangrad.diagnostics.errors import (
    MissingDistributionError,
    MissingDistributionImportError,
    usual_distributions,
)

_ROOT = "tangrad."


def missing_name(module_name: str, name: str, installed: set[str]) -> AttributeError:
    """Return the error for a public name that nothing installed provides; `installed`: the others of its package."""
    from tangrad.composition import catalogue  # only to explain an error, as what follows
    from tangrad.composition.name_suggestions import for_module

    prefix = (module_name + ".").removeprefix(_ROOT)
    error = _not_installed(f"{module_name}.{name}", catalogue.distribution_of(prefix + name))
    if error is not None:
        return error
    known = {other[len(prefix) :] for other in catalogue.public_names() if other.startswith(prefix)}
    hint = for_module(module_name, name, {other for other in known | installed if "." not in other})
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


def missing_array_attribute(name: str, known: Callable[[], set[str]], version: int) -> AttributeError:
    """Return the error for an operator, method or property of arrays that nothing installed provides.

    Args:
        name: the attribute.
        known: returns the attributes that plugins provide.
        version: of what `known` returns.
    """
    from tangrad.composition import catalogue
    from tangrad.composition.name_suggestions import for_array

    owner = catalogue.owner_in(catalogue.ARRAY_ATTRIBUTES, name)
    hint = for_array(name, known, version) if owner is None else ""
    error = AttributeError(f"an array has no attribute {name!r}{hint}", name=name)
    return _not_installed(f"the array attribute {name!r}", owner) or error


def missing_setting(name: str, known: Sequence[str]) -> AttributeError:
    """Return the error for a setting that nothing installed declares; `known`: those that are."""
    from tangrad.composition import catalogue

    error = AttributeError(f"there is no setting {name!r}; the settings are: {', '.join(known)}")
    by_prefix = catalogue.owner_in(catalogue.SETTING_NAMES, name.partition("_")[0])
    return _not_installed(f"the setting {name!r}", catalogue.owner_in(catalogue.SETTINGS, name) or by_prefix) or error


def backends_to_install(name: str | None = None) -> str:
    """Return what an error about a missing backend or platform says of how to get it, or, without a name, any.

    Empty where nothing that could be installed brings it.
    """
    from tangrad.composition import catalogue

    has = composition().index.has_distribution
    driver = next((one for one in _DRIVERS if has(one)), None)
    if name in _PLATFORMS and has("tangrad-backend-xla") and driver is not None:
        return f" {driver} is installed and finds no such device: nvidia-smi says whether the system has one"
    owners = {one: owner for owner, backends in catalogue.BACKENDS.items() for one in backends.split()}
    named = [_REQUIREMENTS.get(name, owners.get(name, ""))] if name in _REQUIREMENTS or name in owners else []
    others = [_REQUIREMENTS.get(backend, owner) for backend, owner in owners.items() if not has(owner)]
    return f" Install one: pip install {' or '.join(named or others)}" if named or others else ""


# Backend or platform -> what to install; a backend that is not here is installed as its distribution.
_PLATFORMS = ("cuda", "gpu")
_REQUIREMENTS = {"xla": '"tangrad[xla]"', **dict.fromkeys(_PLATFORMS, '"tangrad[cuda]"')}
_DRIVERS = ("jax-cuda13-plugin", "jax-cuda12-plugin")


def _comes_with_tangrad(distribution: str) -> bool:
    from tangrad.composition import catalogue

    return distribution in catalogue.USUAL["tangrad"].split() and not composition().index.has_distribution("tangrad")


usual_distributions(_comes_with_tangrad)


def owners_first(distributions: Sequence[str], owner: str | None) -> list[str]:
    """Return the claimants of a cell, those first who were there before; see `catalogue.owners_first`."""
    from tangrad.composition import catalogue

    return catalogue.owners_first(distributions, owner)


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
    distributions.sort(key=lambda one: one != catalogue.distribution_of_module(full_name))  # whose the names are, first
    if not distributions:
        # `from tangrad import grad` tries the attribute, then a module of that name, and reports only the latter.
        public = full_name.removeprefix(_ROOT)
        owner = catalogue.distribution_of(public) if public in catalogue.public_names() else None
        distributions = [owner] if owner is not None and not composition().index.has_distribution(owner) else []
    return distributions


def install_finder() -> None:
    """Have imports of what is not installed say so, from now on."""
    if MissingDistributionFinder not in sys.meta_path:
        sys.meta_path.append(MissingDistributionFinder)
