"""`checkpoint_name`: values that policies can distinguish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad import tree
from tangrad._custom_rules.checkpoint.primitives import name_p
from tangrad.core import as_array

if TYPE_CHECKING:
    from tangrad.typing import PyTree


def checkpoint_name(x: PyTree, name: str) -> PyTree:
    """The values of a tree, under a name that `checkpoint_policies` such as `save_only_these_names` go by.

    Args:
        x: a tree of arrays.
        name: the name, a string.

    Raises TypeError if the name is no string.

    >>> from tangrad.ad_checkpoint import checkpoint_name
    >>> float(checkpoint_name(2.0, "activations"))
    2.0
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: name must be a string, got {name!r} of type {type(name).__name__}")
    return tree.map(lambda leaf: name_p.bind(as_array(leaf), name=name), x)
