"""Every module, imported a second time as after an import that failed at its end: `imported_twice.py [PREFIX ...]`.

An exception in a module's body takes the module away again, and leaves what it declared elsewhere: in families, trees,
settings. Each module is tried in a fork of a process that has imported packages alone. Prints what could not be
imported again, and how many were.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import tangrad

warnings.simplefilter("error")


def modules(folders: list[str]) -> Iterator[str]:
    """The names of all modules below the folders of the package, its own entry to the command line left out."""
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if parts[-1] == "__init__":
                importlib.import_module(name)
            if name != "tangrad" and parts[-1] != "__main__":
                yield name


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
    for name in [*modules(list(tangrad.__path__))]:
        if name.startswith(tuple(prefixes or [""])):
            said = in_fork(name)
            tried, failed = tried + (said == "''"), failed + (said not in ("''", "None"))
            if said not in ("''", "None"):
                print(f"{name}: {said}")
    print(f"{tried} modules imported again, {failed} not")
    return min(failed, 1) if tried else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
