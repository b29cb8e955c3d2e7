"""Loading this package by its path, under the name `benchmarks`, from a process that was not started in the repository.

The path of imports stays as it is: a folder of tests on it would hide packages (`tests/numpy` hides NumPy).
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

NAME = "benchmarks"
FOLDER = Path(__file__).resolve().parent


def load_package() -> ModuleType:
    """The package as `sys.modules['benchmarks']`; its modules are then imported as `benchmarks.worker` and so on."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    spec = importlib.util.spec_from_file_location(
        NAME, FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec is not None and spec.loader is not None
    package = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return package


def command(python: str, module: str, *arguments: str) -> list[str]:
    """The command that runs `main(*arguments)` of one of the package's modules in a new process."""
    code = (
        "import importlib, runpy, sys; "
        f"runpy.run_path({str(FOLDER / 'loading.py')!r})['load_package'](); "
        f"importlib.import_module({NAME + '.' + module!r}).main(*sys.argv[1:])"
    )
    return [python, "-c", code, *arguments]
