"""Modules under the names that they had before extension API 1 was final: they import, with a DeprecationWarning.

The modules of the distribution `tangrad-x` are in `tangrad._x`; before, each had a package with a name of its own.
Distributions state the names that theirs had.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tangrad._core.composition.registry import composition

_ROOT = "tangrad."

# An entry of this group is called as a package was, without `tangrad.`, and its value is the package of today. What
# stayed public is found before this is asked (`tangrad.numpy`); only what was in it and moved gets here
# (`tangrad.numpy.shapes`).
OLD_NAMES_GROUP = "tangrad.old_names"


def new_name(name: str) -> str | None:
    """Return where the module `name` is today, or None where nothing of that name ever moved.

    >>> new_name("tangrad.jitting.functions"), new_name("tangrad.jit")
    ('tangrad._jit.functions', None)
    """
    parts = name.removeprefix(_ROOT).split(".")
    for length in range(min(len(parts), 2), 0, -1):  # packages of backends have two parts
        for plugin in composition().entries(OLD_NAMES_GROUP, ".".join(parts[:length])):
            if plugin.denial is None:
                return ".".join([plugin.value, *parts[length:]])
    return None


def moved_spec(name: str) -> ModuleSpec | None:
    """Return the spec of a module that moved, asked for by a finder; None where it did not."""
    if name == "tangrad.backends":  # the old parent of two packages, itself none
        return _spec(name, ModuleType(name), is_package=True)
    new = new_name(name)
    if new is None:
        return None
    try:
        module = import_module(new)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{new}.".startswith(f"{error.name}."):
            raise  # it is there, and what it imports is not
        return None
    warnings.warn(
        f"{name} is deprecated since tangrad-core 0.1, and goes with extension API 2: what other distributions may use "
        f"is in the public modules that the page on the extension API lists; the module itself is {new} now",
        DeprecationWarning,
        stacklevel=3,  # the import
    )
    if hasattr(module, "__path__"):
        return _spec(name, _package(name, module), is_package=True)
    return _spec(name, module, is_package=False)


def _spec(name: str, module: ModuleType, is_package: bool) -> ModuleSpec:
    loader: Any = _Loader(module)  # importlib's abstract class would be one import more
    return ModuleSpec(name, loader, is_package=is_package)


class _Loader:
    """Gives the module that there is already, and leaves what it knows of itself as it was."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.own_spec = getattr(module, "__spec__", None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        if self.own_spec is not None:
            module.__spec__ = self.own_spec


def _package(name: str, module: ModuleType) -> ModuleType:
    """A package of the old name without a folder, so that what is in it comes through the finder as well."""
    package = ModuleType(name, module.__doc__)

    def __getattr__(attribute: str) -> Any:  # noqa: N807
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        return getattr(module, attribute)

    package.__dict__["__getattr__"] = __getattr__
    return package
