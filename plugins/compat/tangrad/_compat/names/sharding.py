"""`jax.sharding`: what describes devices and values there, and Tangrad says otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# jaxlib itself calls `make_single_device_sharding` of a module of this name, with devices of its own: it is not here.
__all__ = ["AbstractDevice", "ManualAxisType"]


@dataclass(frozen=True)
class AbstractDevice:
    """What is known of devices that are not there.

    Attributes:
        device_kind: such as "NVIDIA H100 80GB HBM3".
        num_cores: the number of cores, or None.
        platform: such as "gpu"; None: that of the backend.
    """

    device_kind: str
    num_cores: int | None
    platform: str | None = None


@dataclass(frozen=True, init=False)
class ManualAxisType:
    """How a value within `shard_map` differs along axes of its mesh.

    Attributes:
        varying: the axes along which it differs. unreduced: those along which its parts are still to be summed.
        reduced: those along which they were.

    Raises ValueError where an axis is varying, and unreduced or reduced, too.

    >>> ManualAxisType(varying={"x"}).varying
    frozenset({'x'})
    """

    varying: frozenset[Any]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __init__(
        self, *, varying: Iterable[Any] = (), unreduced: Iterable[Any] = (), reduced: Iterable[Any] = ()
    ) -> None:
        for name, axes in (("varying", varying), ("unreduced", unreduced), ("reduced", reduced)):
            object.__setattr__(self, name, frozenset(axes))
        for name in ("unreduced", "reduced"):
            if both := self.varying & getattr(self, name):
                raise ValueError(f"ManualAxisType: the axes {sorted(both, key=str)} cannot be varying and {name}")
