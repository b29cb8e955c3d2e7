"""The settings that `tangrad.random` reads."""

from __future__ import annotations

from tangrad.core.settings import define_choice, define_flag, define_setting

threefry_partitionable = define_flag(
    "threefry_partitionable",
    "Random bits as JAX draws them today; False: the older stream.",
    default=True,
    changes_results=True,
)

default_prng_impl = define_choice(
    "default_prng_impl",
    "threefry2x32",
    ("threefry2x32", "rbg", "unsafe_rbg"),
    "The generator of random keys that are made without naming one.",
)

enable_custom_prng = define_flag(
    "enable_custom_prng", "Have random.PRNGKey return typed keys, as random.key does.", changes_results=True
)


debug_key_reuse = define_flag(
    "debug_key_reuse",
    "Raise KeyReuseError where a random key is used a second time.",
    changes_results=True,
)


def _check_integer(value: float) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("expected an integer")
    return value


random_seed_offset = define_setting(
    "random_seed_offset",
    0,
    "An integer that is added to every seed of random.key and random.PRNGKey.",
    parse=int,
    check=_check_integer,
    changes_results=True,
)

WHAT_WORDS_DO = ("allow", "warn", "error")
legacy_prng_key = define_choice(
    "legacy_prng_key",
    "allow",
    WHAT_WORDS_DO,
    "What becomes of keys of the older style, which are words, where keys are asked for: 'allow', 'warn' or 'error'.",
)
