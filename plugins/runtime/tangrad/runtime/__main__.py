"""`python -m tangrad.runtime model.tgr inputs.npz`: run a saved program on the arrays of an archive of NumPy's."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from tangrad._runtime.container import ArtifactError
from tangrad._runtime.loading import LoadedProgram, load
from tangrad.core import dtypes


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit status: 0, or 1 where the file or the inputs are refused."""
    parser = argparse.ArgumentParser(prog="python -m tangrad.runtime", description="Run a saved program.")
    parser.add_argument("program", help="the file that tangrad.runtime.save wrote")
    parser.add_argument("inputs", nargs="?", help="a .npz file with the arguments by name, or arr_0, arr_1, … in order")
    parser.add_argument("-o", "--output", help="the .npz file to write the results to, by name")
    options = parser.parse_args(arguments)
    try:
        program = load(options.program)
        if options.inputs is None and program.names:
            _describe(program)
            return 0
        results = program.run(_inputs(program, options.inputs))
    except (ArtifactError, OSError, TypeError, ValueError) as error:
        print(f"{options.program}: {error}", file=sys.stderr)
        return 1
    if options.output:
        np.savez(options.output, **dict(zip(program.result_names, results)))
    for name, result in zip(program.result_names, results):
        print(f"{name}: {dtypes.dtype_name(result.dtype)}{list(result.shape)}")
        print(np.array2string(result, threshold=20, edgeitems=3))
    return 0


def _describe(program: LoadedProgram) -> None:
    """What the program takes, gives and needs."""
    for title, names, avals in (
        ("takes", program.names, program.in_avals),
        ("gives", program.result_names, program.out_avals),
    ):
        print(title)
        for name, aval in zip(names, avals):
            print(f"  {name}: {dtypes.dtype_name(aval.dtype)}{list(aval.shape)}")
    print("needs")
    for family, distribution, version in program.requirements:
        print(f"  {family}, of {distribution} {version}")


def _inputs(program: LoadedProgram, path: str | None) -> list[np.ndarray]:
    """The arrays of an archive in the order in which the program takes them. Nothing is unpickled."""
    if path is None:
        return []
    with np.load(path, allow_pickle=False) as archive:
        if not hasattr(archive, "files"):
            raise ValueError(f"{path} is no .npz archive")
        by_number = [f"arr_{place}" for place in range(len(program.names))]
        keys = by_number if set(archive.files) == set(by_number) else program.names
        absent = [name for name in keys if name not in archive.files]
        if absent:
            raise ValueError(f"{path} has {archive.files}, but the program takes {list(program.names)}")
        return [archive[name] for name in keys]


if __name__ == "__main__":
    sys.exit(main())
