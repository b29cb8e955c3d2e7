"""Every module, imported a second time as after an import that failed at its end: `imported_twice.py [PREFIX ...]`.

An exception in a module's body takes the module away again, and leaves what it declared elsewhere: in families, trees,
settings. Each module is tried in a fork of a process that has imported packages alone. Prints what could not be
imported again, and how many were.
"""

import importlib
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator

import tangrad

warnings.simplefilter("error")


def modules(path: list[str], prefix: str) -> Iterator[str]:
    """The names of all modules below a package, its own entry to the command line left out."""
    for found in pkgutil.iter_modules(path, prefix):
        if found.ispkg:
            package = importlib.import_module(found.name)
            yield from modules(list(package.__path__), found.name + ".")
        if not found.name.endswith("__main__"):
            yield found.name


def problem(name: str) -> str | None:
    """What is wrong with the second import, "" if nothing; None where the first needs what is not installed."""
    try:
        importlib.import_module(name)
    except ImportError:
        return None
    del sys.modules[name]
    try:
        importlib.import_module(name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def in_fork(name: str) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, repr(problem(name)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def main(prefixes: list[str]) -> int:
    tried = failed = 0
    for name in [*modules(list(tangrad.__path__), "tangrad.")]:
        if name.startswith(tuple(prefixes or [""])):
            said = in_fork(name)
            tried, failed = tried + (said == "''"), failed + (said not in ("''", "None"))
            if said not in ("''", "None"):
                print(f"{name}: {said}")
    print(f"{tried} modules imported again, {failed} not")
    return min(failed, 1) if tried else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
