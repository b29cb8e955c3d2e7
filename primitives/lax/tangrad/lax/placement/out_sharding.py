"""The argument `out_sharding` of public functions: how their result lies on devices."""

from __future__ import annotations

from typing import Any

from tangrad.core import as_array, as_sharding


def constrained(x: Any, out_sharding: Any) -> Any:
    """`x`, lying on devices as `out_sharding` says: None (as it may), a sharding, or a partition spec.

    Raises TypeError for what is none of these, ValueError where `x` cannot be cut so.
    """
    if out_sharding is None:
        return x
    sharding = as_sharding(out_sharding, "out_sharding")
    sharding.check_shape(x.aval.shape, "out_sharding: the result")
    return sharding.constrain(as_array(x))
