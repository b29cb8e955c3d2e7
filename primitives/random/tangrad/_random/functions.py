"""Keys: made of seeds, split, folded, and taken apart; and the bits that everything is drawn from."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import tangrad.extend.random as own
from tangrad._random.keys import KeyType, is_key, key_type
from tangrad._random.primitives import (
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
)
from tangrad._random.settings import debug_key_reuse, threefry_partitionable
from tangrad.core import Array, Tracer, as_array, as_operand, dtypes, literal, thread
from tangrad.core.arguments import canonicalize_shape
from tangrad.errors import ArgumentError, TracerIntegerConversionError
from tangrad.extend.lax import add_p, convert_element_type_p
from tangrad.typing import ArrayLike, DTypeLike, Key, Value


def key(seed: ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None) -> Array:
    """A random key, of dtype `key<fry>` or that of another generator, from an integer.

    Args:
        seed: an integer, or an integer array without dimensions.
        impl: the generator: "threefry2x32" (None means it, unless the setting `default_prng_impl` names another), "rbg"
            or "unsafe_rbg". The latter two draw by XLA's `rng_bit_generator`, which is faster on accelerators.
        dtype: the same, by the dtype of its keys, or its name.

    Raises TypeError for a seed that is not an integer, and a dtype that is not one of keys; ArgumentError for a seed
    with dimensions; ValueError for `impl` beside `dtype`.

    >>> import tangrad
    >>> tangrad.random.key(0).dtype
    key<fry>
    """
    kind = _kind("random.key", impl, dtype)
    if not isinstance(seed, (int, np.integer)):
        operand = as_operand(seed)
        if operand.aval.shape:
            raise ArgumentError(
                f"random.key takes one seed, got an array of shape {operand.aval.shape}; use vmap for several keys"
            )
        if not dtypes.issubdtype(operand.aval.dtype, np.integer):
            raise TypeError(f"random.key takes an integer seed, got {operand.aval.str_short()}")
        offset = thread.random_seed_offset
        if offset:
            operand = add_p.bind(operand, as_operand(np.asarray(offset, operand.aval.dtype)))
        return random_seed_p.bind(operand, impl=kind)
    number = int(seed) + thread.random_seed_offset
    if isinstance(seed, np.unsignedinteger) and number >> 63:
        number -= 1 << 64  # the same bits
    return random_seed_p.bind(_seed_literal(number), impl=kind)


def _kind(name: str, impl: str | None, dtype: object) -> KeyType:
    """The generator that one of two arguments names."""
    if dtype is None:
        return key_type(impl)
    if impl is not None:
        raise ValueError(f"{name}: dtype and impl both name a generator; give one of them")
    if isinstance(dtype, str):
        return key_type(dtype)
    if not isinstance(dtype, KeyType):
        raise TypeError(f"{name}: dtype must be one of keys, such as random.key_dtype(), got {dtype!r}")
    return dtype


def _seed_literal(seed: int) -> Value:
    """A Python seed, as JAX takes it: its low 64 bits, or 32 where there are no more."""
    if not -(1 << 63) <= seed < 1 << 63:
        raise OverflowError(f"a seed must fit into 64 bits, got {seed}")
    if thread.enable_x64:
        return literal(seed, np.dtype(np.int64))
    low = seed & 0xFFFFFFFF
    return literal(low - (1 << 32) if low >> 31 else low, np.dtype(np.int32))


def PRNGKey(seed: ArrayLike, *, impl: str | None = None) -> Array:
    """A key as its words, uint32 of shape (2,), or (4,) of other generators than the default; `key` is the newer way.
    With `enable_custom_prng` it is that.

    >>> import tangrad
    >>> tangrad.random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    made = key(seed, impl=impl)
    return made if thread.enable_custom_prng else random_unwrap_p.bind(made)


def as_keys(name: str, value: Value) -> tuple[Any, bool]:
    """An array of keys for keys or for words (old style), and whether they were words."""
    try:
        operand = as_operand(value)
    except TypeError:
        raise _not_keys(name, f"{value!r} of type {type(value).__name__}") from None
    if is_key(operand.aval):
        return operand, False
    kind = key_type()
    if operand.aval.dtype != np.uint32 or operand.aval.shape[-1:] != kind.key_shape:
        raise _not_keys(name, operand.aval.str_short())
    if thread.legacy_prng_key != "allow":
        _warn_of_key_words(name)
    return random_wrap_p.bind(operand, impl=kind), True


def _not_keys(name: str, given: str) -> TypeError:
    """Return the error for a call without a key, which NumPy and others need not pass."""
    return TypeError(
        f"{name} takes random keys (tangrad.random.key(seed)), got {given}; nothing here has a hidden state, so the "
        f"first argument is a key, and a new one each time: key, part = tangrad.random.split(key)"
    )


def _warn_of_key_words(name: str) -> None:
    """Raise ValueError, or warn, by the setting `legacy_prng_key`."""
    message = (
        f"{name} was given a key of the older style, an array of words, and the setting legacy_prng_key is "
        f"{thread.legacy_prng_key!r}: make keys by tangrad.random.key(seed), or wrap the words by "
        f"tangrad.random.wrap_key_data"
    )
    if thread.legacy_prng_key == "error":
        raise ValueError(message)
    warnings.warn(message, UserWarning, stacklevel=dtypes.user_stack_level())


def one_key(name: str, value: Value) -> Array:
    """A single key. Raises ValueError for an array of several."""
    found, _ = as_keys(name, value)
    if found.aval.shape:
        raise ValueError(f"{name} takes one key, got an array of keys of shape {found.aval.shape}; use vmap")
    return found


def stated_shape(name: str, shape: Sequence[int], argument: str = "shape") -> tuple[int, ...]:
    """A shape that was asked for. Raises TypeError for what is none; a size that is traced is named as such."""
    try:
        return canonicalize_shape(shape)
    except TypeError:
        for size in shape if isinstance(shape, (tuple, list)) else (shape,):
            if isinstance(size, Tracer) and size.concrete() is None:
                raise TracerIntegerConversionError(size, f"the argument {argument} of {name}") from None
        raise


def split(key: Key, num: int | Sequence[int] = 2) -> Array:
    """New keys, independent of each other and of `key`, which must not be used again.

    Args:
        key: a key.
        num: how many, or the shape of the array of new keys.

    >>> import tangrad
    >>> first, second = tangrad.random.split(tangrad.random.key(0))
    """
    found, words = as_keys("random.split", key)
    if found.aval.shape:
        raise ValueError(f"random.split takes one key, got an array of keys of shape {found.aval.shape}; use vmap")
    shape: Any = num
    if not isinstance(num, (tuple, list, Tracer)) and hasattr(type(num), "__index__"):
        shape = (operator.index(shape),)
    made = stated_shape("random.split", shape, "num")
    out = random_split_p.bind(found, shape=made, partitionable=threefry_partitionable.value)
    return random_unwrap_p.bind(out) if words else out


def fold_in(key: Key, data: ArrayLike) -> Array:
    """A new key from a key and an integer, such as the number of a step.

    Of an array of integers the low 32 bits count; a Python number must be one of them. Floats lose their fraction.
    Raises OverflowError for a Python number that is negative or has more bits.

    >>> import tangrad
    >>> key = tangrad.random.fold_in(tangrad.random.key(0), 3)
    """
    found, words = as_keys("random.fold_in", key)
    if found.aval.shape:
        raise ValueError(f"random.fold_in takes one key, got an array of keys of shape {found.aval.shape}; use vmap")
    if isinstance(data, (int, float)):
        if not 0 <= int(data) <= 0xFFFFFFFF:
            raise OverflowError(f"random.fold_in takes a number from 0 to 2**32 - 1, got {data}")
        operand: Value = literal(int(data), np.dtype(np.uint32))
    elif isinstance(data, np.integer):
        operand = literal(int(data) & 0xFFFFFFFF, np.dtype(np.uint32))
    else:
        operand = as_operand(data)
        if operand.aval.shape:
            raise TypeError(f"random.fold_in takes one number, got an array of shape {operand.aval.shape}; use vmap")
        if operand.aval.dtype.kind not in "iuc":  # of which primitives take no bits
            operand = convert_element_type_p.bind(operand, new_dtype=np.dtype(np.uint32), weak_type=False)
    out = random_fold_in_p.bind(found, operand)
    return random_unwrap_p.bind(out) if words else out


def key_data(keys: Key) -> Array:
    """The words of keys: uint32, with a last dimension more.

    >>> import tangrad
    >>> tangrad.random.key_data(tangrad.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    found, words = as_keys("random.key_data", keys)
    return as_array(keys) if words else random_unwrap_p.bind(found)


def wrap_key_data(key_bits_array: ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None) -> Array:
    """Keys of their words.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.random.wrap_key_data(np.array([0, 7], "uint32")).dtype
    key<fry>
    """
    return random_wrap_p.bind(as_operand(key_bits_array), impl=_kind("random.wrap_key_data", impl, dtype))


def key_impl(keys: Key) -> str:
    """The name of the generator of keys.

    >>> import tangrad
    >>> tangrad.random.key_impl(tangrad.random.key(0))
    'threefry2x32'
    """
    found, _ = as_keys("random.key_impl", keys)
    kind: KeyType = found.aval.dtype
    return kind.implementation


def key_dtype(impl_spec: Any = None) -> KeyType:
    """The dtype of the keys of a generator.

    >>> import tangrad
    >>> tangrad.random.key_dtype()
    key<fry>
    """
    return key_type(impl_spec)


def clone(key: Key) -> Key:
    """The same key again, for where its reuse is meant: `debug_key_reuse` takes it for a new one.

    >>> import tangrad
    >>> key = tangrad.random.key(0)
    >>> bool(tangrad.random.uniform(key) == tangrad.random.uniform(tangrad.random.clone(key)))
    True
    """
    found, words = as_keys("random.clone", key)
    return as_array(key) if words else random_clone_p.bind(found)


def draw_bits(name: str, key: Value, shape: Sequence[int], bit_width: int) -> Array:
    """Bits for the function `name`: an unsigned integer of `bit_width` for each element."""
    return random_bits_p.bind(
        one_key(name, key),
        bit_width=bit_width,
        shape=stated_shape(name, shape),
        partitionable=threefry_partitionable.value,
    )


def _follow_keys(value: object) -> None:
    """Load what follows keys once the setting is on: it is not needed before."""
    if value:
        own.follow_keys()


debug_key_reuse.on_change(_follow_keys)
