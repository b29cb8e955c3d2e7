"""The settings that `tangrad.random` reads."""

from __future__ import annotations

from tangrad.core import define_choice, define_flag

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
