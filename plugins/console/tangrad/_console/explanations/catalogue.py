"""Which first-party distribution ships what: read only to say, in an error, what to install.

The data beside this file is written by `python -m tools.generate_api` from the entry points of all first-party
distributions; CI fails when the two differ. Nothing here is needed while everything that is used is installed.
"""

from __future__ import annotations

from collections.abc import Mapping

from tangrad._console.explanations.catalogue_data import ARRAY_ATTRIBUTES as ARRAY_ATTRIBUTES
from tangrad._console.explanations.catalogue_data import BACKENDS as BACKENDS
from tangrad._console.explanations.catalogue_data import COMMANDS as COMMANDS
from tangrad._console.explanations.catalogue_data import FAMILIES as FAMILIES
from tangrad._console.explanations.catalogue_data import MODULES as MODULES
from tangrad._console.explanations.catalogue_data import PUBLIC
from tangrad._console.explanations.catalogue_data import RULE_KINDS as RULE_KINDS
from tangrad._console.explanations.catalogue_data import SETTING_NAMES as SETTING_NAMES
from tangrad._console.explanations.catalogue_data import SETTINGS as SETTINGS
from tangrad._console.explanations.catalogue_data import USUAL as USUAL

PUBLIC_NAMES = {
    distribution: " ".join([f"{module}.{name}".strip(".") for module in names for name in names[module].split()])
    for distribution, names in PUBLIC.items()
}


def owner_in(table: Mapping[str, str], name: str) -> str | None:
    """Return the distribution that ships `name`, by one of the tables of this module; None if none of ours does.

    >>> from tangrad._console.explanations import catalogue
    >>> catalogue.owner_in(catalogue.RULE_KINDS, "jvp"), catalogue.owner_in(catalogue.FAMILIES, "elementwise")
    ('tangrad-autodiff', 'tangrad-lax')
    """
    for distribution, names in table.items():
        if name in names.split():
            return distribution
    return None


def distribution_of(name: str) -> str | None:
    """Return the distribution that ships the public name `name`, written without the leading `tangrad.`.

    A public module (`numpy`) counts as a name. None if no first-party distribution ships it.

    >>> from tangrad._console.explanations.catalogue import distribution_of
    >>> distribution_of("grad")
    'tangrad-autodiff'
    """
    return owner_in(PUBLIC_NAMES, name) or distribution_of_module(f"tangrad.{name}")


def distribution_of_module(name: str) -> str | None:
    """Return the distribution that ships the module `name`, e.g. `tangrad.numpy`, or None.

    The catalogue knows the top of each distribution's tree: a module below it has the distribution of its nearest
    known package.

    >>> from tangrad._console.explanations.catalogue import distribution_of_module
    >>> distribution_of_module("tangrad.numpy")
    'tangrad-numpy'
    """
    while name.count("."):
        distribution = owner_in(MODULES, name)
        if distribution is not None:
            return _of_most_names(name.partition(".")[2] + ".") or distribution
        name = name.rpartition(".")[0]
    return None


def _of_most_names(prefix: str) -> str | None:
    """The distribution of most public names in a package: who wants `tangrad.export` wants to export.

    The package itself may be of another, which that one requires.
    """
    counts = {
        distribution: sum(name.startswith(prefix) for name in names.split())
        for distribution, names in PUBLIC_NAMES.items()
    }
    most = max(counts, key=lambda distribution: counts[distribution])
    return most if counts[most] else None


def public_names() -> tuple[str, ...]:
    """Return every public name that some first-party distribution ships, sorted."""
    return tuple(sorted(name for names in PUBLIC_NAMES.values() for name in names.split()))
