"""Devices and transfers, as users ask for them: `tangrad.devices`, `device_get`, `block_until_ready`."""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np

from tangrad._core.kernel.array import Array
from tangrad._core.kernel.backend import backend_named, devices_of, loaded_backends, preferred_backend
from tangrad._core.kernel.device import Device
from tangrad._core.kernel.trace import Tracer
from tangrad._core.kernel.transfers import copies_explicitly, read
from tangrad._core.tree.operations import tree_leaves, tree_map

T = TypeVar("T")


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a backend.

    Args:
        backend: its name, or the name of a platform; default: the backend in use.

    Raises BackendError for a name that no installed backend has.

    >>> import tangrad
    >>> tangrad.devices()[0].id
    0
    """
    return list(devices_of(backend_named(backend), backend))


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices that are attached to this process, or to the process given.

    `host_id`: an earlier name of `process_index`. Raises ValueError where both are given.
    """
    if host_id is not None:
        if process_index is not None:
            raise ValueError("local_devices: host_id is an earlier name of process_index; give one of them")
        process_index = host_id
    wanted = process_index_of_this_process(backend) if process_index is None else process_index
    return [device for device in devices_of(backend_named(backend), backend) if device.process_index == wanted]


def device_count(backend: str | None = None) -> int:
    """How many devices there are, in all processes.

    >>> import tangrad
    >>> tangrad.device_count() >= 1
    True
    """
    return len(devices_of(backend_named(backend), backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices are attached to this process."""
    return len(local_devices(backend=backend))


def process_index_of_this_process(backend: str | None = None) -> int:
    """The number of this process among those that compute together, from 0."""
    return backend_named(backend).process_index


def process_count(backend: str | None = None) -> int:
    """How many processes compute together."""
    return len({device.process_index for device in devices_of(backend_named(backend), backend)})


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes that compute together.

    >>> import tangrad
    >>> tangrad.process_index() in tangrad.process_indices()
    True
    """
    return sorted({device.process_index for device in backend_named(backend).devices()})


def default_backend() -> str:
    """The name of the backend that new arrays are made on.

    >>> import tangrad
    >>> tangrad.default_backend() in ("numpy", "xla")
    True
    """
    return preferred_backend().name


@overload
def device_get(x: Array) -> np.ndarray[Any, Any]: ...
@overload
def device_get(x: object) -> Any: ...
@copies_explicitly
def device_get(x: object) -> Any:
    """The arrays of a tree as NumPy arrays, NumPy's scalars included; other leaves, keys and tracers are as they are.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.device_get({"a": np.arange(3)})
    {'a': array([0, 1, 2], dtype=int32)}
    """
    return tree_map(_to_host, x)


def _to_host(leaf: int | np.generic | Array) -> Any:
    if isinstance(leaf, Array):
        if isinstance(leaf, Tracer) or not isinstance(leaf.dtype, np.dtype):
            return leaf
        read(leaf, explicit=True)
        return leaf.to_numpy()
    return np.asarray(leaf) if isinstance(leaf, np.generic) else leaf


def block_until_ready(x: T) -> T:
    """Wait until all arrays of a tree are computed; returns the tree.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.block_until_ready(np.zeros(2))
    Array([0., 0.], dtype=float32)
    """
    for leaf in tree_leaves(x):
        if isinstance(leaf, Array) and not isinstance(leaf, Tracer):
            type(leaf).backend.block_until_ready(leaf)
    return x


def copy_to_host_async(x: T) -> T:
    """Start to copy the arrays of a tree to the host, where the backend can do that beside other work; returns it."""
    for leaf in tree_leaves(x):
        if not isinstance(leaf, Tracer):
            getattr(leaf, "copy_to_host_async", lambda: None)()
    return x


def effects_barrier() -> None:
    """Wait until the side effects of the programs that this thread has started have happened.

    Raises the error of a program that failed, such as CallbackError, once.

    >>> import tangrad
    >>> tangrad.effects_barrier()
    """
    for backend in loaded_backends():
        backend.synchronize()
