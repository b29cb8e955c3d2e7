"""What tangrad-scipy is made of. Here: how its public modules are made, which are many and hold no more than names."""

import os
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType

from tangrad.core import public_package


def public_modules(package: str, table: Mapping[str, str]) -> None:
    """Make modules below `package`, which calls this when it is imported: `table` has their names, with what each is.

    There is no file of them. An import of one imports `package` first, and finds it made. `tools/generate_api.py`
    reads the table, which has to be a literal, and writes a stub of each.
    """
    above = sys.modules[package]
    for name, about in table.items():
        full = f"{package}.{name}"
        module = ModuleType(full, f"{about} The names resolve through the entry points of `tangrad.api`.")
        is_package = any(other.startswith(f"{name}.") for other in table)
        module.__spec__ = ModuleSpec(full, None, origin=above.__file__, is_package=is_package)
        module.__file__ = above.__file__
        module.__package__ = full if is_package else full.rpartition(".")[0]
        if is_package:
            module.__path__ = [os.path.join(folder, *name.split(".")) for folder in above.__path__]
        sys.modules[full] = module
        setattr(sys.modules[full.rpartition(".")[0]], full.rpartition(".")[2], module)
        module.__dict__["__getattr__"], module.__dict__["__dir__"] = public_package(full)
