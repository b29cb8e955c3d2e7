"""`experimental.serialize_executable`: JAX's names for compiled programs as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._export.compiled.loaded import LoadedCompiled
from tangrad._export.compiled.reading import load_compiled
from tangrad._export.compiled.writing import serialize_compiled

if TYPE_CHECKING:
    from tangrad.core import Device
    from tangrad.tree_util import PyTreeDef


def serialize(compiled: Any) -> tuple[bytes, Any, Any]:
    """A compiled program as bytes, and the structures of its arguments and results, which the bytes hold too.

    See `export.serialize_compiled` for what is refused.

    >>> import tangrad
    >>> from tangrad.experimental import serialize_executable
    >>> data, in_tree, out_tree = serialize_executable.serialize(tangrad.jit(lambda x: [x]).lower(1.5).compile())
    >>> float(serialize_executable.deserialize_and_load(data, in_tree, out_tree, trusted=True)(1.5)[0])
    1.5
    """
    return serialize_compiled(compiled), compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | None = None,
    execution_devices: Sequence[Device] | None = None,
    *,
    trusted: bool = False,
) -> LoadedCompiled:
    """Make the bytes of `serialize` ready to run. `load_compiled` does the same without the structures.

    Args:
        serialized, in_tree, out_tree: what `serialize` returned.
        backend: the name of the backend that it must be of; None: any.
        execution_devices: None: programs run on one device, the default one of their backend.
        trusted: see `load_compiled`.

    Raises:
        ValueError, PermissionError: as `load_compiled`; also for other structures, and for another backend.
        NotImplementedError: for execution_devices.

    >>> import tangrad
    >>> from tangrad.experimental import serialize_executable
    >>> data, in_tree, out_tree = serialize_executable.serialize(tangrad.jit(lambda x: [x]).lower(1.5).compile())
    >>> float(serialize_executable.deserialize_and_load(data, in_tree, out_tree, trusted=True)(1.5)[0])
    1.5
    """
    if execution_devices is not None:
        raise NotImplementedError("deserialize_and_load: execution_devices; programs are for the default device")
    loaded = load_compiled(serialized, trusted=trusted)
    if (loaded.in_tree, loaded.out_tree) != (in_tree, out_tree):
        raise ValueError(f"the program takes {loaded.in_tree} and returns {loaded.out_tree}, not as given")
    if backend not in (None, loaded.backend):
        raise ValueError(f"the program is of the backend {loaded.backend!r}, not of {backend!r}")
    return loaded
