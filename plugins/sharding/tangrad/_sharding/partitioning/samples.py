"""Samples of functions that say how they are divided, for the conformance kit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.partitioning.functions import custom_partitioning, custom_partitioning_p
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import find_primitive

if TYPE_CHECKING:
    from tangrad.core import Array


def samples() -> list[Sample]:
    """One of two arguments and two results."""
    function = custom_partitioning(_waves)
    function.def_partition(_partition, sharding_rule="i j, i j -> i j, i j")
    args = (draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64", seed=1))
    args, params = recorded(custom_partitioning_p, lambda: function(*args))
    by_call = "how a function is divided is compared by identity: each call has its own"
    return [Sample(custom_partitioning_p, args, params, without={"params": by_call, "pickle": by_call})]


def _bind(name: str, *operands: object) -> Array:
    return find_primitive(f"elementwise.{name}").bind(*operands)


def _waves(x: object, y: object) -> tuple[Array, Array]:
    product = _bind("mul", _bind("sin", x), y)
    return product, _bind("cos", product)


def _partition(mesh: object, args: Any, result: object) -> Any:
    sharding = args[0].sharding
    return mesh, _waves, (sharding, sharding), (sharding, sharding)
