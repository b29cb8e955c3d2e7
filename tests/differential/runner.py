"""Running one program in one mode against one api, and writing down what came out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from .corpus import Program


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
