"""`jax.extend.random`: generators of random numbers as objects: the dtypes of their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import tangrad
from tangrad import lax
from tangrad import numpy as jnp
from tangrad._compat.primitives import primitive_called
from tangrad.core import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from tangrad.typing import ArrayLike

_random: ModuleType = tangrad.random
threefry_prng_impl, rbg_prng_impl, unsafe_rbg_prng_impl = (
    _random.key(0, impl=name).dtype for name in ("threefry2x32", "rbg", "unsafe_rbg")
)
threefry2x32_p = primitive_called(__name__, "threefry2x32_p")


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[..., object],
    split: Callable[..., object],
    random_bits: Callable[..., object],
    fold_in: Callable[..., object],
    name: str = "<unnamed>",
    tag: str = "?",
) -> NoReturn:
    """Raises NotImplementedError: there are the three generators above, and none that programs add."""
    raise NotImplementedError(
        f"the generator {name!r} cannot be added: 'jax' is an alias of Tangrad here (tangrad.compat.jax), whose keys "
        "are of 'threefry2x32', 'rbg' or 'unsafe_rbg'"
    )


def seed_with_impl(impl: object, seeds: ArrayLike) -> Array:
    """Keys of a generator of integers: one of a number, an array of keys of an array."""
    make = lambda seed: _random.key(seed, impl=impl)
    for _ in range(jnp.ndim(seeds)):
        make = tangrad.vmap(make)
    return make(seeds)


def random_seed(seeds: ArrayLike, impl: object) -> Array:
    """As `seed_with_impl`."""
    return seed_with_impl(impl, seeds)


def threefry_2x32(keypair: Sequence[ArrayLike], count: ArrayLike) -> Array:
    """The cipher of numbers.

    Args:
        keypair: two words of the key, uint32, in an array (2,) or a sequence.
        count: the numbers, uint32 of any shape; those of the first half are ciphered together with those of the second.

    Returns: the ciphers, of the shape of `count`. Raises TypeError for other dtypes.
    """
    first_key, second_key = (jnp.asarray(word) for word in keypair)
    numbers = jnp.asarray(count)
    if {str(one.dtype) for one in (first_key, second_key, numbers)} != {"uint32"}:
        raise TypeError(
            "threefry_2x32: keypair and count must be uint32, got "
            f"{first_key.dtype}, {second_key.dtype} and {numbers.dtype}"
        )
    flat = numbers.reshape(-1)
    padded = jnp.pad(flat, (0, flat.size % 2))
    first, second = jnp.split(padded, 2)
    keys = [jnp.broadcast_to(word, first.shape) for word in (first_key, second_key)]
    return lax.concatenate(threefry2x32_p.bind(*keys, first, second), 0)[: flat.size].reshape(numbers.shape)
