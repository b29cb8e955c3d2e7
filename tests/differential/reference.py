"""JAX's results: computed once per program and mode, kept on disk until the program or JAX changes.

Kept because they take a minute to make, and people run these tests again and again while they work on the other side.
"""

import hashlib
import inspect
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy

from tests.unoptimized_jax import UNOPTIMIZED

from . import corpus, runner
from .corpus import Program
from .runner import Leaf, run


class Reference:
    """JAX's results. Jitted where the program allows it: an eager run compiles every operation by itself."""

    def __init__(self, api: Any, folder: Path | None = None) -> None:
        self.api = api
        self.folder = folder
        self.known: dict[tuple[str, str], list[Leaf]] = {}

    def results(self, program: Program, mode: str) -> list[Leaf]:
        """The program's results in a mode."""
        key = program.name, mode
        if key not in self.known:
            self.known[key] = self._kept(program, mode)
        return self.known[key]

    def run(self, program: Program, mode: str, jitted: bool) -> list[Leaf]:
        """Run the program now."""
        with self.api.enable_x64(program.x64):
            return run(self.api, program, mode, jitted, compiler_options=None if program.exact else UNOPTIMIZED)

    def _kept(self, program: Program, mode: str) -> list[Leaf]:
        if self.folder is None:
            return self.run(program, mode, program.jit)
        file = self.folder / f"{program.name}-{mode.replace(' ', '-')}-{self._fingerprint(program)}.npz"
        found = read_leaves(file)
        if found is None:
            found = self.run(program, mode, program.jit)
            write_leaves(file, found)
        return found

    def _fingerprint(self, program: Program) -> str:
        sources = [inspect.getsource(module) for module in (corpus, runner, inspect.getmodule(program.function))]
        text = "\0".join([self.api.__version__, numpy.__version__, *sources])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_leaves(file: Path, leaves: list[Leaf]) -> None:
    """Write results; the bytes of each array, so that dtypes that NumPy does not know come back."""
    described = [[leaf.path, leaf.dtype, list(leaf.value.shape), leaf.weak_type] for leaf in leaves]
    arrays = {f"leaf{number}": numpy.frombuffer(leaf.value.tobytes(), "uint8") for number, leaf in enumerate(leaves)}
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.stem}-{os.getpid()}.part.npz")
    numpy.savez(part, description=numpy.array(json.dumps(described)), **arrays)
    part.replace(file)


def read_leaves(file: Path) -> list[Leaf] | None:
    """Results as written, or None where there are none, or the file is damaged."""
    if not zipfile.is_zipfile(file):  # absent or cut; NumPy's own reader warns from a destructor
        return None
    try:
        with numpy.load(file, allow_pickle=False) as kept:
            described = json.loads(str(kept["description"]))
            return [
                Leaf(path, kept[f"leaf{number}"].view(as_dtype(dtype)).reshape(shape), dtype, weak)
                for number, (path, dtype, shape, weak) in enumerate(described)
            ]
    except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def as_dtype(name: str) -> numpy.dtype:
    """The dtype of a name; those that are not NumPy's own are in ml_dtypes, which came with JAX."""
    try:
        return numpy.dtype(name)
    except TypeError:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))
