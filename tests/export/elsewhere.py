"""Reads all exported programs of a folder, calls them, and compares: `python -m tests.export.elsewhere FOLDER BACKEND`.

This process makes no program of its own: whatever the programs call was registered because they were read.
"""

import json
import sys
from pathlib import Path

import numpy

import tangrad
from tangrad import export


def write(folder: Path, name: str, program: export.Exported, args, expected, cotangents=None, derivatives=()) -> None:
    """Put a program into a folder, with its arguments and what it returns for them, and maybe its derivative's."""
    arrays = {f"argument{number}": numpy.asarray(one) for number, one in enumerate(args)}
    arrays |= {f"expected{number}": numpy.asarray(one) for number, one in enumerate(tangrad.tree.leaves(expected))}
    if cotangents is not None:
        arrays |= {f"cotangent{number}": numpy.asarray(one) for number, one in enumerate(cotangents)}
        arrays |= {f"derivative{number}": numpy.asarray(one) for number, one in enumerate(derivatives)}
    (folder / f"{name}.exported").write_bytes(program.serialize(vjp_order=int(cotangents is not None)))
    numpy.savez(folder / f"{name}.npz", **arrays)


def numbered(arrays, word: str) -> list[numpy.ndarray]:
    return [arrays[f"{word}{number}"] for number in range(len(arrays)) if f"{word}{number}" in arrays]


def check(file: Path) -> None:
    """Raise AssertionError unless a program returns what was written beside it."""
    program = export.deserialize(file.read_bytes())
    with numpy.load(file.with_suffix(".npz")) as loaded:
        arrays = dict(loaded)
    args = numbered(arrays, "argument")
    compare(program.call(*args), numbered(arrays, "expected"))
    if program.has_vjp():
        compare(program.vjp().call(*args, *numbered(arrays, "cotangent")), numbered(arrays, "derivative"))


def compare(found, expected) -> None:
    found = [numpy.asarray(one) for one in tangrad.tree.leaves(found)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if other.dtype.kind in "biuV":
            numpy.testing.assert_array_equal(one, other)
        else:
            precise = other.dtype.itemsize >= 8 and other.dtype != "complex64"
            scale = numpy.abs(other[numpy.isfinite(other)]).max(initial=1)
            numpy.testing.assert_allclose(
                one, other, rtol=1e-9 if precise else 2e-4, atol=(1e-11 if precise else 2e-5) * scale
            )


def main(folder: str, backend: str) -> None:
    """Print, as JSON, the number of programs, and what is wrong with those that fail."""
    files, problems = sorted(Path(folder).glob("*.exported")), {}
    with tangrad.use_backend(backend), tangrad.enable_x64(True):
        for file in files:
            try:
                check(file)
            except Exception as error:
                problems[file.stem] = f"{type(error).__name__}: {error}"[:500]
    print(json.dumps({"count": len(files), "problems": problems}))


if __name__ == "__main__":
    main(*sys.argv[1:])
