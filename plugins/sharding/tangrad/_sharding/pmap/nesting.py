"""Whether a function is being traced for the examples of a `pmap`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tangrad._sharding.shard_map.scope import is_within_map
from tangrad.core import thread


class _Depth(threading.local):
    """How many parallel maps a thread is tracing within."""

    count = 0


_depth = _Depth()


@contextmanager
def inside_pmap() -> Iterator[None]:
    """Have maps within know that there is one around them."""
    _depth.count += 1
    try:
        yield
    finally:
        _depth.count -= 1


def runs_nowhere() -> bool:
    """Whether a function is being traced for its program alone, as by `xla_computation`: devices need not be there."""
    return ("devices", "none") in thread.overrides


def is_inside() -> bool:
    """Whether there is one, or a sharded map: the devices are taken, so examples are computed together on each."""
    return _depth.count > 0 or is_within_map()
