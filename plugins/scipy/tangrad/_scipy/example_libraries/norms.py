"""The size of gradients."""

from __future__ import annotations

from typing import Any, TypeVar, overload

import tangrad.numpy as tnp
from tangrad import tree
from tangrad.core import Array, api_boundary
from tangrad.typing import ArrayLike, PyTree

T = TypeVar("T")


@api_boundary
def l2_norm(tree_: PyTree) -> Array:
    """The Euclidean norm of all arrays of a tree together.

    >>> from tangrad.example_libraries import optimizers
    >>> float(optimizers.l2_norm({"a": 3.0, "b": [4.0]}))
    5.0
    """
    return tnp.sqrt(sum([tnp.vdot(leaf, leaf) for leaf in tree.leaves(tree_)]))


@overload
def clip_grads(grad_tree: ArrayLike, max_norm: Any) -> Array: ...
@overload
def clip_grads(grad_tree: T, max_norm: Any) -> T: ...
@api_boundary
def clip_grads(grad_tree: PyTree, max_norm: Any) -> PyTree:
    """A tree scaled down, where its norm is greater than `max_norm`, so that it is that.

    >>> from tangrad.example_libraries import optimizers
    >>> [round(float(part), 3) for part in optimizers.clip_grads([3.0, 4.0], 1.0)]
    [0.6, 0.8]
    """
    norm = l2_norm(grad_tree)
    return tree.map(lambda leaf: tnp.where(norm < max_norm, leaf, leaf * (max_norm / norm)), grad_tree)
