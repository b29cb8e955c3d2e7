"""Auxiliary results: what a function returns beside the output that is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad import tree
from tangrad.core import as_array, is_array_value

if TYPE_CHECKING:
    from tangrad.typing import PyTree, Value

# What can hold no tracer goes around the trace: a Python integer stays one, and NumPy's arrays keep their dtypes.
_HOST_KINDS = (bool, int, float, complex, np.ndarray, np.generic)


class Auxiliary:
    """An auxiliary result in two parts: values that belong to a trace, and all else as it was returned."""

    __slots__ = ("leaves", "traced", "treedef")

    def __init__(self, result: PyTree) -> None:
        self.leaves, self.treedef = tree.flatten(result)
        self.traced = [is_array_value(leaf) and not isinstance(leaf, _HOST_KINDS) for leaf in self.leaves]

    def values(self) -> list[PyTree]:
        """What the trace has to give back as values of outside."""
        return [leaf for leaf, traced in zip(self.leaves, self.traced, strict=True) if traced]

    def restore(self, values: Sequence[Value]) -> PyTree:
        """The result, with these in place of `values()`."""
        given = iter(values)
        leaves = zip(self.leaves, self.traced, strict=True)
        return self.treedef.unflatten([as_array(next(given)) if traced else leaf for leaf, traced in leaves])
