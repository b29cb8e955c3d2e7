"""The argument `out_sharding` of public functions: how their result lies on devices."""

from __future__ import annotations

from typing import Any

from tangrad import lax


def constrained(x: Any, out_sharding: Any) -> Any:
    """`x`, lying on devices as `out_sharding` says: None (as it may), a sharding, or a partition spec.

    Shardings are another distribution's, which a program without them need not have: its function is found by name.
    """
    return x if out_sharding is None else lax.with_sharding_constraint(x, out_sharding)
