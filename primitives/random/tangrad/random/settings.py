"""The settings that `tangrad.random` reads."""

from __future__ import annotations

from tangrad.core import define_flag

threefry_partitionable = define_flag(
    "threefry_partitionable",
    "Random bits as JAX draws them today; False: the older stream.",
    default=True,
    changes_results=True,
)
