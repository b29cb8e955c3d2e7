"""The primitives of the family: the cipher (`ciphers.py`), and seeding, splitting, folding in and drawing bits.

The latter are defined by decomposition, as the generator of the keys has it, which backends compile as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tangrad._random import ciphers, generators
from tangrad._random.ciphers import check_keys, random, random_unwrap_p, random_wrap_p, threefry2x32_p
from tangrad._random.keys import KeyType
from tangrad.core import ShapedArray, dtypes
from tangrad.typing import Value

__all__ = [
    "random",
    "random_bits_p",
    "random_clone_p",
    "random_fold_in_p",
    "random_seed_p",
    "random_split_p",
    "random_unwrap_p",
    "random_wrap_p",
    "threefry2x32_p",
]


# Generator -> the program of each primitive.
PROGRAMS: dict[str, dict[str, Callable[..., Value]]] = {
    "threefry2x32": {
        "seed": ciphers.seed,
        "split": ciphers.split,
        "fold_in": ciphers.fold_in,
        "bits": ciphers.bits,
    },
    "rbg": {
        "seed": generators.seed,
        "split": generators.split,
        "fold_in": generators.fold_in,
        "bits": generators.bits,
    },
    "unsafe_rbg": {
        "seed": generators.seed,
        "split": generators.unsafe_split,
        "fold_in": generators.unsafe_fold_in,
        "bits": generators.bits,
    },
}


def _of_generator(name: str) -> Callable[..., Value]:
    """The program `name` of the generator of the keys that it takes."""

    def program(keys: Value, *others: Value, **params: object) -> Value:
        dtype: Any = keys.aval.dtype
        return PROGRAMS[dtype.implementation][name](keys, *others, **params)

    return program


def _seed(seeds: Value, *, impl: KeyType) -> Value:
    return PROGRAMS[impl.implementation]["seed"](seeds, impl=impl)


def _check_integers(name: str, aval: ShapedArray, argument: str) -> None:
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"{name} takes integers for {argument}, got {aval.str_short()}")


@random.primitive(name="random_seed", weak_type="never", decompose=_seed)
def random_seed_p(seeds: ShapedArray, *, impl: KeyType) -> ShapedArray:
    """A key for each seed."""
    _check_integers("random_seed", seeds, "seeds")
    return ShapedArray(seeds.shape, impl)


@random.primitive(name="random_split", weak_type="never", decompose=_of_generator("split"))
def random_split_p(keys: ShapedArray, *, shape: tuple[int, ...], partitionable: bool) -> ShapedArray:
    """New keys, of the given shape, from each key."""
    check_keys("random_split", keys)
    return ShapedArray((*keys.shape, *shape), keys.dtype)


@random.primitive(name="random_fold_in", weak_type="never", decompose=_of_generator("fold_in"))
def random_fold_in_p(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    """A new key from each key and a number."""
    check_keys("random_fold_in", keys)
    _check_integers("random_fold_in", data, "data")
    if keys.shape and data.shape and keys.shape != data.shape:
        raise ValueError(f"random_fold_in takes keys and data of one shape, got {keys.shape} and {data.shape}")
    return ShapedArray(keys.shape or data.shape, keys.dtype)


@random.primitive(name="random_bits", weak_type="never", decompose=_of_generator("bits"))
def random_bits_p(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...], partitionable: bool) -> ShapedArray:
    """Uniformly distributed bits, an array of the given shape from each key."""
    check_keys("random_bits", keys)
    if bit_width not in ciphers.BIT_WIDTHS:
        raise TypeError(f"random_bits draws 8, 16, 32 or 64 bits, not {bit_width}")
    return ShapedArray((*keys.shape, *shape), ciphers.BIT_WIDTHS[bit_width])


@random.primitive(name="random_clone", weak_type="never", decompose=lambda keys: keys)
def random_clone_p(keys: ShapedArray) -> ShapedArray:
    """The same keys, of which it is meant that they are used again."""
    check_keys("random_clone", keys)
    return keys
