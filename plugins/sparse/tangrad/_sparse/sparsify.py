"""`sparsify`: functions of arrays, of sparse ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad import tree
from tangrad._sparse.base import JAXSparse
from tangrad._sparse.trace import sparsified_flat
from tangrad.core import api_boundary, copy_identity


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Make a function of arrays one that takes sparse arrays, too, and keeps sparse what stays sparse.

    Args:
        f: a function of trees of arrays. It sees sparse arrays as arrays of their shapes; `sparse.todense` makes dense
            ones of them where an operation needs those.
        use_tracer: accepted as JAX does; the function is always run as it is.

    Returns:
        the function; results that are sparse are sparse arrays. Operations apply by rules of the kind `sparse`.

    Raises:
        MissingRuleError: for an operation that has no such rule, as its result would be dense.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sparse.sparsify(lambda mat: np.sin(2 * mat).T)(mat)
    BCOO(float32[2, 2], nse=2)
    """
    if not callable(f):
        raise TypeError(f"sparsify expects a function, got {f!r} of type {type(f).__name__}")

    def sparsified(*args: Any, **kwargs: Any) -> Any:
        is_leaf = lambda leaf: isinstance(leaf, JAXSparse)
        leaves, structure = tree.flatten((args, kwargs), is_leaf=is_leaf)
        returned: list[Any] = []

        def flat(*values: Any) -> Any:
            given, options = structure.unflatten(values)
            outs, out_structure = tree.flatten(f(*given, **options), is_leaf=is_leaf)
            returned.append(out_structure)
            return outs

        outs = sparsified_flat(flat, leaves)
        return returned[0].unflatten(outs)

    return copy_identity(api_boundary(sparsified), f)
