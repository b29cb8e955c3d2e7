"""Values exchanged between processes, and between arrays over all devices and what one process has of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from tangrad import lax, tree
from tangrad.core import Array, Tracer, dtypes, get_aval, get_backend, put
from tangrad.core.backends import as_sharding
from tangrad.extend.sharding import global_array, local_array
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec
from tangrad.tree_util import flatten_axes, keystr
from tangrad.typing import ArrayLike, PyTree

if TYPE_CHECKING:
    from tangrad.core import Device


DIGEST_WORDS = 4


@overload
def process_allgather(in_tree: ArrayLike, tiled: bool = False) -> np.ndarray: ...
@overload
def process_allgather(in_tree: PyTree, tiled: bool = False) -> PyTree: ...
def process_allgather(in_tree: PyTree, tiled: bool = False) -> PyTree:
    """The arrays that each process has, in all of them.

    Args:
        in_tree: a tree of arrays and numbers, of the same shapes and dtypes in each process; or arrays over the devices
            of several processes.
        tiled: whether they are put together along their first axis, and not along a new one. Arrays over the devices of
            several processes are one array already, and need it.

    Returns:
        the tree, with NumPy arrays.

    Raises ValueError for a process that passes other shapes or dtypes, in all of them.

    >>> from tangrad.experimental.multihost_utils import process_allgather
    >>> process_allgather({"loss": 0.5})
    {'loss': array([0.5], dtype=float32)}
    """
    distributed = [leaf for leaf in tree.leaves(in_tree) if _is_of_several(leaf)]
    if distributed and not tiled:
        raise ValueError(
            f"process_allgather: {distributed[0].aval.str_short()} is on devices of several processes, and gathered as "
            f"the one array that it is: tiled=True"
        )
    _gathered_description("process_allgather", in_tree)
    return tree.map(lambda leaf: _whole(leaf) if _is_of_several(leaf) else _stacked(leaf, tiled), in_tree)


@overload
def broadcast_one_to_all(in_tree: ArrayLike, is_source: bool | None = None) -> np.ndarray: ...
@overload
def broadcast_one_to_all(in_tree: PyTree, is_source: bool | None = None) -> PyTree: ...
def broadcast_one_to_all(in_tree: PyTree, is_source: bool | None = None) -> PyTree:
    """The arrays of one process, in all of them.

    Args:
        in_tree: a tree of arrays and numbers, of the same shapes and dtypes in each process.
        is_source: whether this process is the one, which exactly one has to be; default: process 0.

    Returns:
        the tree of the source, with NumPy arrays of the same bits.

    Raises ValueError for a process that passes other shapes or dtypes, or if there is not one source, in all of them.

    >>> from tangrad.experimental.multihost_utils import broadcast_one_to_all
    >>> broadcast_one_to_all({"step": 7})
    {'step': array(7, dtype=int32)}
    """
    mine = get_backend().process_index == 0 if is_source is None else bool(is_source)
    flags = _gathered_description("broadcast_one_to_all", in_tree, int(mine))
    sources = [number for number, flag in enumerate(flags) if flag]
    if len(sources) != 1:
        raise ValueError(f"broadcast_one_to_all: is_source must be true in one process, and is in {sources}")
    return tree.map(lambda leaf: _sent(_contents(leaf), mine), in_tree)


def assert_equal(in_tree: PyTree, fail_message: str = "") -> None:
    """Check that all processes have the same arrays, to the last bit.

    Args:
        in_tree: a tree of arrays and numbers.
        fail_message: how the error begins.

    Raises AssertionError in all processes where one has others, naming the first leaf and the processes.

    >>> from tangrad.experimental.multihost_utils import assert_equal
    >>> assert_equal({"step": 7})
    """
    leaves = tree.leaves_with_path(in_tree)
    digests = [_digest(_describe(leaf), _contents(leaf).tobytes()) for _, leaf in leaves]
    _compare(_gathered(_digest(str(tree.structure(in_tree)))), f"{fail_message}: the trees".removeprefix(": "))
    for (path, _), digest in zip(leaves, digests, strict=True):
        _compare(_gathered(digest), f"{fail_message}: the values of in_tree{keystr(path)}".removeprefix(": "))


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come to this call.

    Args:
        name: of the place, the same in all of them.

    Raises AssertionError in all processes where one has come to a place of another name.

    >>> from tangrad.experimental.multihost_utils import sync_global_devices
    >>> sync_global_devices("the end of an epoch")
    """
    _compare(_gathered(_digest(name)), f"sync_global_devices({name!r}): the names")


def _compare(rows: np.ndarray, what: str) -> None:
    differing = [number for number, row in enumerate(rows) if not np.array_equal(row, rows[0])]
    if differing:
        raise AssertionError(f"{what} of the processes {differing} differ from those of process 0")


# --- descriptions ----------------------------------------------------------------------------------------------------


def _digest(*parts: str | bytes) -> np.ndarray:
    found = hashlib.blake2b(digest_size=4 * DIGEST_WORDS)
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
    return np.frombuffer(found.digest(), np.uint32)


def _gathered_description(function: str, in_tree: object, flag: int = 0) -> Sequence[int]:
    """The flags of all processes. Raises ValueError unless all pass the same tree, shapes and dtypes."""
    described = f"{tree.structure(in_tree)} {[_describe(leaf) for leaf in tree.leaves(in_tree)]}"
    rows = _gathered(np.append(_digest(described), np.uint32(flag)))
    differing = [number for number, row in enumerate(rows) if not np.array_equal(row[:-1], rows[0, :-1])]
    if differing:
        raise ValueError(
            f"{function}: the processes {differing} pass other shapes or dtypes than process 0; this one passes "
            f"{described}"
        )
    return rows[:, -1].tolist()


def _describe(leaf: object) -> str:
    aval = get_aval(leaf)
    return f"{dtypes.dtype_name(aval.dtype)}{list(aval.shape)}"


# --- arrays ----------------------------------------------------------------------------------------------------------


def _is_of_several(leaf: object) -> bool:
    return isinstance(leaf, Array) and not isinstance(leaf, Tracer) and not leaf.is_fully_addressable


def _contents(leaf: object) -> np.ndarray:
    """An array, or number, as a NumPy array of the dtype that it has here. Raises TypeError for typed keys."""
    aval = get_aval(leaf)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise TypeError(
            f"arrays of dtype {aval.dtype} are not exchanged between processes; take their contents, such as "
            f"tangrad.random.key_data(keys)"
        )
    return np.ascontiguousarray(np.asarray(leaf, aval.dtype)).reshape(aval.shape)


def _whole(array: Array) -> np.ndarray:
    sharding = array.sharding
    whole = sharding.resharded((1,) * array.ndim, sharding.device_order)
    return np.array(whole.constrain(array).to_numpy())


def _stacked(leaf: Array, tiled: bool) -> np.ndarray:
    rows = _gathered(_contents(leaf))
    return rows.reshape(-1, *rows.shape[2:]) if tiled and rows.ndim > 1 else rows


def _gathered(row: np.ndarray) -> np.ndarray:
    """The rows of all processes, one below the other."""
    rows, everywhere = _sharded_rows(row)
    return np.array(everywhere.constrain(rows).to_numpy())


def _sent(contents: np.ndarray, mine: bool) -> np.ndarray:
    """The array of the source. Its bits are added up as integers, to which the other processes add zeros."""
    row = np.zeros(-(-contents.nbytes // 4), np.uint32)
    if mine:
        row.view(np.uint8)[: contents.nbytes] = np.frombuffer(contents.tobytes(), np.uint8)
    rows, everywhere = _sharded_rows(row)
    total = everywhere.constrain(lax.reduce_sum(rows, (0,))).to_numpy()
    return np.frombuffer(total.tobytes()[: contents.nbytes], contents.dtype).reshape(contents.shape).copy()


def _sharded_rows(row: np.ndarray) -> tuple[Array, NamedSharding]:
    """A row of each process as one array over the first device of each; and the sharding by which all have all rows."""
    backend = get_backend()
    first: dict[int, Device] = {}
    for device in backend.devices():
        first.setdefault(device.process_index, device)
    mesh = Mesh(list(first.values()), ("processes",))
    part = put(row[None], device=first[backend.process_index])
    sharding = NamedSharding(mesh, PartitionSpec("processes"))
    aval = part.aval.update(shape=(len(first), *row.shape))
    return backend.assemble(aval, sharding, [part]), NamedSharding(mesh, PartitionSpec())


T = TypeVar("T")


@overload
def host_local_array_to_global_array(local_inputs: ArrayLike, global_mesh: Mesh, pspecs: object) -> Array: ...
@overload
def host_local_array_to_global_array(local_inputs: T, global_mesh: Mesh, pspecs: object) -> T: ...
def host_local_array_to_global_array(local_inputs: PyTree, global_mesh: Mesh, pspecs: object) -> PyTree:
    """Arrays over a mesh of all processes, of what each process has of them.

    Args:
        local_inputs: a tree of arrays that this process can read: what its devices hold, side by side.
        global_mesh: the mesh.
        pspecs: a partition spec, or a tree of them that is a prefix of `local_inputs`.

    Returns:
        the tree, with arrays over the mesh; parts that are on their devices already are not copied.

    Raises ValueError for shapes that the devices of this process cannot share, TypeError for what is no mesh.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.multihost_utils import host_local_array_to_global_array
    >>> mesh = tangrad.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(np.arange(3), mesh, tangrad.P("x"))
    Array([0, 1, 2], dtype=int32)
    """
    return _mapped("host_local_array_to_global_array", global_array, local_inputs, global_mesh, pspecs)


@overload
def global_array_to_host_local_array(global_inputs: ArrayLike, global_mesh: Mesh, pspecs: object) -> Array: ...
@overload
def global_array_to_host_local_array(global_inputs: T, global_mesh: Mesh, pspecs: object) -> T: ...
def global_array_to_host_local_array(global_inputs: PyTree, global_mesh: Mesh, pspecs: object) -> PyTree:
    """What this process has of arrays over a mesh of all processes, as arrays over its own part of the mesh.

    Args:
        global_inputs: a tree of arrays.
        global_mesh: the mesh.
        pspecs: how they are sharded over it, or are to be: a partition spec, or a tree of them that is a prefix of
            `global_inputs`.

    Returns:
        the tree, with arrays that this process can read.

    Raises ValueError for shapes that cannot be cut so, TypeError for what is no mesh.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.multihost_utils import global_array_to_host_local_array
    >>> mesh = tangrad.make_mesh((1,), ("x",))
    >>> global_array_to_host_local_array(np.arange(3), mesh, tangrad.P("x"))
    Array([0, 1, 2], dtype=int32)
    """

    def localised(value: ArrayLike, mesh: Mesh, spec: Any) -> Array:
        return local_array(NamedSharding(mesh, spec).constrain(value), mesh, spec)

    return _mapped("global_array_to_host_local_array", localised, global_inputs, global_mesh, pspecs)


def _mapped(name: str, function: Callable[..., object], inputs: object, mesh: Mesh, pspecs: object) -> PyTree:
    if not isinstance(mesh, Mesh):
        raise TypeError(f"{name}: global_mesh must be a tangrad.sharding.Mesh, got {mesh!r}")
    leaves, structure = tree.flatten(inputs)
    specs = flatten_axes(f"{name} pspecs", structure, pspecs)
    with mesh:
        shardings = [as_sharding(spec, f"{name}: pspecs") for spec in specs]
    return structure.unflatten([
        function(leaf, mesh, sharding.spec) for leaf, sharding in zip(leaves, shardings, strict=True)
    ])  # fmt: skip
