"""The axes of meshes that are in scope while functions are traced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tangrad.core import thread
from tangrad.sharding import Mesh


class _Around(threading.local):
    """The sharded maps that a thread is tracing in: (mesh, axes)."""

    maps: tuple[tuple[Mesh, tuple[Any, ...]], ...] = ()


_around = _Around()


def _refuse_reverse_mode() -> None:
    raise NotImplementedError(
        "a function is differentiated in reverse (grad, vjp) within a shard_map that checks replication "
        "(check_vma=True, the default): there the gradient with respect to what is the same on all devices is to be "
        "summed over them, which is not done yet. Say shard_map(..., check_vma=False), where derivatives are those of "
        "each device by itself, and sum or average gradients by lax.psum or lax.pmean; or differentiate the function "
        "that shard_map made"
    )


@contextmanager
def axes_in_scope(mesh: Mesh, manual: Sequence[Any], checked: bool = False) -> Iterator[None]:
    """Have collectives find the axes of a mesh that a sharded map is over.

    `checked`: whether a user's function is traced for a map that checks replication: see `_refuse_reverse_mode`.
    """
    environment, maps, guard = thread.axis_environment, _around.maps, thread.reverse_mode_guard
    thread.reverse_mode_guard = _refuse_reverse_mode if checked else None
    thread.axis_environment = (*environment, *[(name, mesh.shape[name]) for name in manual])
    _around.maps = (*maps, (mesh, tuple(manual)))
    try:
        yield
    finally:
        thread.axis_environment, _around.maps, thread.reverse_mode_guard = environment, maps, guard


def check_nesting(mesh: Mesh, manual: Sequence[Any]) -> None:
    """Raise ValueError for a sharded map within one over another mesh, or over an axis that is mapped already."""
    for other, axes in _around.maps:
        if other != mesh:
            raise ValueError(f"shard_map over {mesh} was called within one over {other}: nested maps need one mesh")
        again = [axis for axis in manual if axis in axes]
        if again:
            raise ValueError(
                f"shard_map over the axes {tuple(manual)} was called within one over {axes}: {again[0]!r} is mapped "
                f"already; name the axes of each map: axis_names={{...}}"
            )
