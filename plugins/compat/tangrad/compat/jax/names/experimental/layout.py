"""`jax.experimental.layout`: how arrays lie in memory, which Tangrad leaves to the backend."""

from __future__ import annotations

from typing import NamedTuple

from tangrad.sharding import Sharding


class Format(NamedTuple):
    """A layout and a sharding. No array has one here: it is there for `isinstance`."""

    layout: object
    sharding: Sharding
