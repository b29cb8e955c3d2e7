"""`with_sharding_constraint`, and how trees of shardings are read."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from tangrad import tree
from tangrad._sharding.propagation import ShardingTypeError
from tangrad.core import Array, Sharding, get_aval, is_array_value
from tangrad.core.backends import as_sharding
from tangrad.tree_util import flatten_axes, keystr
from tangrad.typing import ArrayLike, PyTree, Value

T = TypeVar("T")


@overload
def with_sharding_constraint(x: ArrayLike, shardings: Any) -> Array: ...
@overload
def with_sharding_constraint(x: T, shardings: Any) -> T: ...
def with_sharding_constraint(x: PyTree, shardings: object) -> PyTree:
    """The arrays of a tree, constrained to shardings: a hint to the compiler that binds it.

    Outside of compiled functions the arrays are moved.

    Args:
        x: a tree of arrays.
        shardings: a sharding, a partition spec (it means axes of the mesh in use), None where nothing is said, or a
            tree of these that is a prefix of `x`. Dimensions of a spec that are `PartitionSpec.UNCONSTRAINED` are left
            to the compiler.

    Returns:
        the tree with the same values.

    Raises:
        ValueError: for an array that cannot be cut so, naming it, the dimension and the axes of the mesh.
        ShardingTypeError: for an array whose type has another sharding: `tangrad.sharding.reshard` moves
            it.
        RuntimeError: for a partition spec where no mesh is in use. TypeError: for what is neither.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.sharding import NamedSharding, PartitionSpec
    >>> sharding = NamedSharding(tangrad.make_mesh((1,), ("data",)), PartitionSpec("data"))
    >>> tangrad.jit(lambda x: tangrad.lax.with_sharding_constraint(2 * x, sharding))(np.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    return placed_by("with_sharding_constraint", x, shardings, anew=False)


def placed_by(name: str, x: object, shardings: object, anew: bool) -> PyTree:
    """The arrays of a tree, constrained to shardings.

    Args:
        name: of the function whose argument `x` is, for messages.
        anew: whether arrays may be resharded along explicit axes, which are part of their types.
    """
    leaves, structure = tree.flatten(x)
    targets = flatten_axes(f"{name} shardings", structure, shardings)
    found = []
    for position, (leaf, target) in enumerate(zip(leaves, targets)):
        if target is not None:
            where = f"{name}: x{keystr(tree.leaves_with_path(x)[position][0])}"
            leaf = _placed_by(leaf, as_sharding(target, name), where, anew)
        found.append(leaf)
    return structure.unflatten(found)


def _placed_by(leaf: object, sharding: Sharding, where: str, anew: bool) -> Value:
    if not is_array_value(leaf):
        raise TypeError(f"{where} must be an array, got {leaf!r} of type {type(leaf).__name__}")
    sharding.check_shape(getattr(leaf, "shape", ()), where)
    aval = get_aval(leaf)
    if not anew and aval.infer_types is not None and sharding.type_of(aval) is not aval:
        raise ShardingTypeError(
            f"{where} is {aval.str_short()}, whose sharding is part of its type, and cannot be constrained to "
            f"{sharding}; to move it: tangrad.sharding.reshard(x, {getattr(sharding, 'spec', sharding)})"
        )
    return sharding.constrain(leaf)
