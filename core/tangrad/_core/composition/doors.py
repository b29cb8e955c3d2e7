"""Doors: the public module of a distribution that names what others may use of it, loaded name by name.

`tangrad.extend.lax` is such a door, and all that is imported of the distribution `tangrad-lax` from outside. What a
distribution is made of has names with an underscore (`tangrad._lax`), and is its own affair.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from tangrad._core.composition.plugin import FORM


def door(
    module_name: str,
    table: Mapping[str, str],
    renamed: Mapping[str, str] | None = None,
    otherwise: Callable[[str, str], object] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a module whose names are those of inner modules.

    Nothing is loaded before its first use; after it a name is an ordinary global. The stub beside the module is written
    by `python -m tools.generate_api`, from the same table.

    Args:
        module_name: the `__name__` of the module.
        table: inner module -> the names to take from it, separated by blanks: for a package, those of its modules.
        renamed: former name -> the name of today, which it gives with a DeprecationWarning.
        otherwise: called with `module_name` and a name that is in neither; raises AttributeError, or returns its value.
    """
    owners = {name: module for module, names in table.items() for name in names.split()}

    def __getattr__(name: str) -> object:  # noqa: N807
        if renamed and name in renamed:
            new = renamed[name]
            message = f"{module_name}.{name} is deprecated, and goes with extension API 2: write {module_name}.{new}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            name = new
        owner = owners.get(name)
        if owner is None and otherwise is not None:
            return otherwise(module_name, name)
        if owner is None:
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        module = import_module(owner)
        value = getattr(module, name, FORM)
        if value is FORM and hasattr(module, "__path__"):
            value = import_module(f"{owner}.{name}")
        if value is FORM:  # being imported further up: an AttributeError would be taken for one of this module
            raise ImportError(f"{owner}.{name} is not there yet: {owner} is being imported", name=owner)
        sys.modules[module_name].__dict__[name] = value
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted(owners)

    return __getattr__, __dir__
