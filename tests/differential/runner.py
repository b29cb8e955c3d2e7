"""Running one program in one mode against one api, and writing down what came out."""

import hashlib
import inspect
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from tests.differential import corpus
from tests.differential.corpus import Program
from tests.unoptimized_jax import UNOPTIMIZED


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of a result: where it was, its value, its dtype's name, whether its type is weak."""

    path: str
    value: numpy.ndarray
    dtype: str
    weak_type: bool


def run(api: Any, program: Program, mode: str, jitted: bool, **options: Any) -> list[Leaf]:
    """The program's results in a mode, through `api.jit` with these options, or eagerly."""
    function, arguments = transformed(api, program, mode)
    arguments = tuple(to_api(api, argument) for argument in arguments)
    return list(leaves((api.jit(function, **options) if jitted else function)(*arguments)))


def transformed(api: Any, program: Program, mode: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The program under the mode's transformations, and the arguments it then takes."""

    def function(*arguments: Any) -> Any:
        return program.function(api, *arguments)

    if mode in ("grad", "vmap of grad"):
        argnums = program.grad if len(program.grad) > 1 else program.grad[0]
        function = api.grad(weighted_sum(api, function), argnums=argnums)
    if mode in ("vmap", "vmap of grad"):
        return api.vmap(function, in_axes=program.in_axes()), program.batched_arguments()
    return function, program.arguments()


def weighted_sum(api: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar of everything inexact that the function gives; uneven weights, so that nothing cancels by symmetry."""

    def scalar(*arguments: Any) -> Any:
        total = 0.0
        for _, leaf in walk(function(*arguments)):
            if str(leaf.dtype).startswith(("float", "complex", "bfloat")):
                total = total + weighted(api, leaf)
        return total

    return scalar


def weighted(api: Any, leaf: Any) -> Any:
    """The sum of the leaf's elements times cosines; of complex ones, the real part of it."""
    count = numpy.prod(leaf.shape, dtype=int)
    weights = numpy.cos(numpy.arange(count) + 0.5).reshape(leaf.shape).astype("float32")
    product = leaf * api.numpy.asarray(weights).astype(leaf.dtype)
    return api.numpy.sum(api.numpy.real(product) if str(leaf.dtype).startswith("complex") else product)


def to_api(api: Any, tree: Any) -> Any:
    """The tree with NumPy arrays made arrays of the api; Python scalars stay what they are."""
    if isinstance(tree, numpy.ndarray):
        return api.numpy.asarray(tree)
    if isinstance(tree, dict):
        return {key: to_api(api, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        made = [to_api(api, value) for value in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)
    return tree


def walk(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves with their paths, None left out; written here so that no side's pytrees judge themselves."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from walk(tree[key], f"{path}[{key!r}]")
    elif isinstance(tree, (list, tuple)):
        for position, value in enumerate(tree):
            yield from walk(value, f"{path}[{position}]")
    elif tree is not None:
        yield path, tree


def leaves(tree: Any) -> Iterator[Leaf]:
    """Each leaf of a result, with the value as NumPy has it."""
    for path, leaf in walk(tree):
        yield Leaf(path, numpy.asarray(leaf), str(leaf.dtype), bool(leaf.aval.weak_type))


# --- JAX's results: computed once per program and mode, kept on disk until the program or JAX changes ---
# Kept because they take a minute to make, and people run these tests again and again while they work on the other
# side.


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
        sources = [
            inspect.getsource(module) for module in (corpus, sys.modules[__name__], inspect.getmodule(program.function))
        ]
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


# --- Holding a result against the reference: structure, shapes, dtypes, weak types, then values ---


# Relative to the larger of element and array scale: sums in another order differ by the scale of their terms.
TOLERANCES = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 4e-3,
    "bfloat16": 2e-2,
}


def differences(program: Program, got: list[Leaf], expected: list[Leaf]) -> list[str]:
    """What differs, in words; empty where the results agree."""
    if [leaf.path for leaf in got] != [leaf.path for leaf in expected]:
        return [f"leaves are {[leaf.path for leaf in got]}, expected {[leaf.path for leaf in expected]}"]
    found = []
    for one, other in zip(got, expected, strict=True):
        found += [f"at {one.path or 'the result'}: {text}" for text in leaf_differences(program, one, other)]
    return found


def leaf_differences(program: Program, got: Leaf, expected: Leaf) -> list[str]:
    """What differs in one leaf."""
    found = []
    if got.dtype != expected.dtype:
        found.append(f"dtype {got.dtype}, expected {expected.dtype}")
    if got.weak_type != expected.weak_type:
        found.append(f"weak_type {got.weak_type}, expected {expected.weak_type}")
    if got.value.shape != expected.value.shape:
        found.append(f"shape {got.value.shape}, expected {expected.value.shape}")
    elif not found and not values_agree(program, got, expected):
        found.append(f"values\n{got.value}\nexpected\n{expected.value}")
    return found


def values_agree(program: Program, got: Leaf, expected: Leaf) -> bool:
    """Equal bits for integers, booleans and exact programs; else within tolerance, NaN equal to NaN."""
    one, other = got.value, expected.value
    tolerance = 0.0 if program.exact else TOLERANCES.get(expected.dtype, 0.0) * program.slack
    if tolerance == 0.0:
        return bool(numpy.array_equal(one, other, equal_nan=expected.dtype in TOLERANCES))
    wide = numpy.complex128 if one.dtype.kind == "c" else numpy.float64
    one, other = one.astype(wide), other.astype(wide)
    finite = numpy.abs(other[numpy.isfinite(other)])
    scale = float(finite.max()) if finite.size else 1.0
    return bool(numpy.allclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True))
