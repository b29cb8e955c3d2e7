"""Modules under the names that they had before extension API 1 was final: they import, with a DeprecationWarning.

The modules of the distribution `tangrad-x` are in `tangrad._x`; before, each had a package with a name of its own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_ROOT = "tangrad."

# Old package -> new one, both without `tangrad.`; longer names come first. What stayed public is found before this is
# asked (`tangrad.numpy`); only what was in it and moved gets here (`tangrad.numpy.shapes`).
MOVED = {
    "autodiff": "_autodiff",
    "backends.numpy": "_backend_numpy",
    "backends.xla": "_backend_xla",
    "batching": "_batching",
    "checkpointing": "_custom_rules.checkpoint",
    "collectives": "_collectives",
    "compat.jax": "_compat",
    "compat": "_compat",
    "composition": "_core.composition",
    "conformance": "_conformance",
    "console": "_console",
    "control_flow": "_lax.control_flow",
    "custom_rules": "_custom_rules",
    "debugging": "_debug",
    "diagnostics": "_core.diagnostics",
    "differential_equations": "_scipy.ode",
    "dtypes": "_core.dtypes",
    "example_libraries": "_nn.example_libraries",
    "exporting": "_export",
    "ffi": "_ffi",
    "fft": "_fft",
    "hlo_computations": "_export.hlo_computations",
    "image": "_scipy.image",
    "jacobians": "_custom_rules.jacobians",
    "jitting": "_jit",
    "kernel": "_core.kernel",
    "lax": "_lax",
    "linalg": "_lax.decompositions",
    "masking": "_masking",
    "named_axes": "_collectives.named_axes",
    "nn": "_nn",
    "numpy": "_numpy",
    "ops": "_numpy.ops",
    "pjitting": "_sharding.pjit",
    "pmapping": "_sharding.pmap",
    "processes": "_distributed",
    "profiling": "_debug.profiling",
    "random": "_random",
    "runtime": "_runtime",
    "runtime_checks": "_checkify",
    "scaffold": "_conformance.scaffold",
    "scipy": "_scipy",
    "settings": "_core.settings",
    "shard_mapping": "_sharding.shard_map",
    "shardings": "_sharding",
    "sparse_arrays": "_sparse",
    "symbolic": "_symbolic",
    "tree": "_core.tree",
    "xmapping": "_xmap",
}


def new_name(name: str) -> str | None:
    """Return where the module `name` is today, or None where nothing of that name ever moved.

    >>> new_name("tangrad.jitting.functions"), new_name("tangrad.jit")
    ('tangrad._jit.functions', None)
    """
    parts = name.removeprefix(_ROOT).split(".")
    for length in (2, 1):  # packages of backends have two parts
        package = MOVED.get(".".join(parts[:length]))
        if package is not None and len(parts) >= length:
            return _ROOT + ".".join([package, *parts[length:]])
    return None


class Finder:
    """The last finder of all: answers for modules that no other has."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module that moved."""
        if not name.startswith(_ROOT):
            return None
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
            f"{name} is deprecated since tangrad-core 0.1, and goes with extension API 2: what other distributions may "
            f"use is in the public modules that the page on the extension API lists; the module itself is {new} now",
            DeprecationWarning,
            stacklevel=3,  # the import: the finder before this one asks it
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


def install() -> None:
    """Put the finder behind all others, once."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
