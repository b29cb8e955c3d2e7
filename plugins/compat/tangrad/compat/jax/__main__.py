"""Runs a program in which `import jax` means Tangrad: `python -m tangrad.compat.jax program.py`, or `-m module`.

The program's own arguments follow its name.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from tangrad._compat.finder import install

USAGE = "usage: python -m tangrad.compat.jax (program.py | -m module) [arguments of the program]"


def main(arguments: Sequence[str]) -> None:
    """Run what `arguments` name as `__main__`, with the alias installed. Raises SystemExit where they name nothing."""
    named = list(arguments)
    is_module = named[:1] == ["-m"]
    if is_module:
        del named[0]
    if not named or named[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if named else sys.stderr)
        raise SystemExit(0 if named else 2)
    sys.argv = named
    install()
    if is_module:
        runpy.run_module(named[0], run_name="__main__", alter_sys=True)
        return
    # As Python does: the folder of the program comes first, in the place of that of `-m`, the current one.
    sys.path[0] = str(Path(named[0]).resolve().parent)
    runpy.run_path(named[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
