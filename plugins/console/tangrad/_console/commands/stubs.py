"""The command `tangrad stubs`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tangrad._console.stubs import NAME, default_folder, differing, stub_files, write
from tangrad.core import composition


def main(arguments: list[str]) -> int:
    """Write stubs, so that type checkers know the names that other distributions add."""
    parser = argparse.ArgumentParser(prog="tangrad stubs", description=main.__doc__)
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="a folder of packages; this Python's if left out")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with status 1 if something differs")
    options = parser.parse_args(arguments)
    folder, files = options.into or default_folder(), stub_files(composition())
    try:
        changed = differing(files, folder)
        if not options.check:
            write(files, folder)
    except OSError as error:
        print(f"tangrad stubs: {error}", file=sys.stderr)
        return 2
    for path in changed:
        print(f"{'differs' if options.check else 'written' if path in files else 'deleted'}: {folder / path}")
    if not changed:
        print(f"{folder / NAME}: nothing to change" if files else "no plugin adds a name: no stubs are needed")
    return 1 if changed and options.check else 0
