"""Where an example is along mapped axes, and how large these are: `axis_index`, `axis_size`; `pvary`, `pcast`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.collectives.axes import Axes, as_tuple, checked_axes, size_of_axes, size_of_axis
from tangrad.collectives.leaves import checked_leaves
from tangrad.collectives.primitives import axis_index_p
from tangrad.core import as_array, literal
from tangrad.lax.elementwise.functions import add, mul

_INT32 = np.dtype(np.int32)


def axis_index(axis_name: Any) -> Any:
    """The index of the example along a mapped axis.

    Args:
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.

    Returns:
        an int32 scalar.

    Raises NameError for a name that no mapped axis in scope has; the message lists those in scope.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: x + 10 * lax.axis_index("i"), axis_name="i")(np.zeros(3, int))
    Array([ 0, 10, 20], dtype=int32)
    """
    checked_axes("axis_index", axis_name)
    if not isinstance(axis_name, (tuple, list)):
        return as_array(axis_index_p.bind(axis_name=axis_name))
    return as_array(joint_index(tuple(axis_name)))


def joint_index(names: Axes) -> Any:
    """The index along several axes, the first one varying slowest; each of them by itself."""
    total: Any = literal(0, _INT32, True)
    below: Any = 1
    for name in reversed(names):
        total = add(total, mul(axis_index_p.bind(axis_name=name), below))
        below = below * size_of_axis("axis_index", name)
    return total


def axis_size(axis_name: Any) -> int:
    """The size of a mapped axis.

    Args:
        axis_name: the name of a mapped axis; or several in a tuple or list: the product of their sizes.

    Returns:
        a Python integer.

    Raises NameError for a name that no mapped axis in scope has; the message lists those in scope.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(np.ones(4))
    Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return size_of_axes("axis_size", checked_axes("axis_size", axis_name))  # type: ignore[no-any-return]


def pvary(x: Any, axis_name: Any) -> Any:
    """`x`, marked as differing along mapped axes. Types here do not tell, so it is `x` itself.

    Raises NameError for a name that no mapped axis in scope has, TypeError for leaves that are no arrays.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pvary(x, "i"), axis_name="i")(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    return pcast(x, axis_name, to="varying")


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """`x`, converted to differ along mapped axes: what `pvary` does, by its later name.

    Args:
        x: a tree of arrays.
        axis_name: the name of a mapped axis, or several in a tuple.
        to: "varying"; other conversions go with sharded maps.

    Raises ValueError for another `to`, NameError for a name that no mapped axis in scope has.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    if to != "varying":
        raise ValueError(f"pcast: to must be 'varying', got {to!r}")
    checked_axes("pcast", as_tuple(axis_name))
    leaves, structure = checked_leaves("pcast", x)
    return structure.unflatten([as_array(leaf) for leaf in leaves])
