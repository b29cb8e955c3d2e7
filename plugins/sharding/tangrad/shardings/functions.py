"""`with_sharding_constraint`, and how trees of shardings are read."""

from __future__ import annotations

from typing import Any

from tangrad import tree
from tangrad.core import as_sharding, is_array_value
from tangrad.tree_util import flatten_axes, keystr


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a tree, constrained to lie on devices as shardings say: a hint to the compiler that binds it.

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
        RuntimeError: for a partition spec where no mesh is in use. TypeError: for what is neither.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.sharding import NamedSharding, PartitionSpec
    >>> sharding = NamedSharding(tangrad.make_mesh((1,), ("data",)), PartitionSpec("data"))
    >>> tangrad.jit(lambda x: tangrad.lax.with_sharding_constraint(2 * x, sharding))(np.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    leaves, structure = tree.flatten(x)
    targets = flatten_axes("with_sharding_constraint shardings", structure, shardings)
    return structure.unflatten(
        [_constrained(leaf, target, n, x) for n, (leaf, target) in enumerate(zip(leaves, targets))]
    )


def _constrained(leaf: Any, target: Any, position: int, x: Any) -> Any:
    if target is None:
        return leaf
    sharding = as_sharding(target, "with_sharding_constraint")
    where = "x" + keystr(tree.leaves_with_path(x)[position][0])
    if not is_array_value(leaf):
        raise TypeError(f"with_sharding_constraint takes arrays, got {leaf!r} of type {type(leaf).__name__} as {where}")
    sharding.check_shape(getattr(leaf, "shape", ()), f"with_sharding_constraint: {where}")
    return sharding.constrain(leaf)
