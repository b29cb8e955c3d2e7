"""Which first-party distribution ships what: read only to say, in an error, what to install.

The data beside this file is written by `python -m tools.generate_api` from the entry points of all first-party
distributions; CI fails when the two differ. Nothing here is needed while everything that is used is installed.
"""

from __future__ import annotations

from tangrad.composition.catalogue_data import (
    ARRAY_ATTRIBUTES,
    BACKENDS,
    COMMANDS,
    FAMILIES,
    MODULES,
    PUBLIC_NAMES,
    RULE_KINDS,
    SETTINGS,
)

__all__ = [
    "BACKENDS",
    "FAMILIES",
    "MODULES",
    "RULE_KINDS",
    "distribution_of",
    "distribution_of_array_attribute",
    "distribution_of_command",
    "distribution_of_family",
    "distribution_of_module",
    "distribution_of_rule_kind",
    "distribution_of_setting",
    "public_names",
]


def _owner(table: dict[str, str], name: str) -> str | None:
    for distribution, names in table.items():
        if name in names.split():
            return distribution
    return None


def distribution_of(name: str) -> str | None:
    """Return the distribution that ships the public name `name`, written without the leading `tangrad.`.

    A public module (`numpy`) counts as a name. None if no first-party distribution ships it.

    >>> from tangrad.composition.catalogue import distribution_of
    >>> distribution_of("grad")
    'tangrad-autodiff'
    """
    return _owner(PUBLIC_NAMES, name) or distribution_of_module(f"tangrad.{name}")


def distribution_of_module(name: str) -> str | None:
    """Return the distribution that ships the module `name`, e.g. `tangrad.numpy`, or None.

    The catalogue knows the top of each distribution's tree: a module below it has the distribution of its nearest
    known package.

    >>> from tangrad.composition.catalogue import distribution_of_module
    >>> distribution_of_module("tangrad.numpy")
    'tangrad-numpy'
    """
    while name.count("."):
        distribution = _owner(MODULES, name)
        if distribution is not None:
            return distribution
        name = name.rpartition(".")[0]
    return None


def distribution_of_family(family: str) -> str | None:
    """Return the distribution that ships the family of primitives `family`, or None.

    >>> from tangrad.composition.catalogue import distribution_of_family
    >>> distribution_of_family("elementwise")
    'tangrad-lax'
    """
    return _owner(FAMILIES, family)


def distribution_of_rule_kind(kind: str) -> str | None:
    """Return the distribution whose transformation or backend owns the rule kind `kind`, or None.

    >>> from tangrad.composition.catalogue import distribution_of_rule_kind
    >>> distribution_of_rule_kind("jvp")
    'tangrad-autodiff'
    """
    return _owner(RULE_KINDS, kind)


def distribution_of_array_attribute(name: str) -> str | None:
    """Return the distribution that ships the operator, method or property `name` of arrays, or None.

    >>> from tangrad.composition.catalogue import distribution_of_array_attribute
    >>> distribution_of_array_attribute("__add__")
    'tangrad-numpy'
    """
    return _owner(ARRAY_ATTRIBUTES, name)


def distribution_of_command(command: str) -> str | None:
    """Return the distribution that adds the command `tangrad <command>`, or None.

    >>> from tangrad.composition.catalogue import distribution_of_command
    >>> distribution_of_command("new")
    'tangrad-scaffold'
    """
    return _owner(COMMANDS, command)


def distribution_of_setting(name: str) -> str | None:
    """Return the distribution that declares the setting `name`, or None.

    >>> from tangrad.composition.catalogue import distribution_of_setting
    >>> distribution_of_setting("threefry_partitionable")
    'tangrad-random'
    """
    return _owner(SETTINGS, name)


def public_names() -> tuple[str, ...]:
    """Return every public name that some first-party distribution ships, sorted."""
    return tuple(sorted(name for names in PUBLIC_NAMES.values() for name in names.split()))
