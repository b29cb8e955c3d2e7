"""`shapecheck`: what is written of a function's shapes, compared with what the function does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tangrad import tree
from tangrad._masking.functions import ShapeLeaf, check_result
from tangrad._masking.specs import parsed
from tangrad.core import ShapedArray, api_boundary, returned_leaves, trace_to_jaxpr
from tangrad.extend.symbolic import SymbolicScope
from tangrad.tree_util import keystr

if TYPE_CHECKING:
    from tangrad.typing import Value

F = TypeVar("F", bound=Callable[..., Any])


def shapecheck(in_shapes: Any, out_shape: Any) -> Callable[[F], F]:
    """Make a decorator that compares the shape of a function's result with what is written, when it is defined.

    The function is traced once, for arguments of these shapes and dtype float32, with sizes that may be any; nothing is
    computed. It is returned as it is.

    Args:
        in_shapes: for each argument its shape as a string, as `mask` takes it, or a tree of them.
        out_shape: likewise for the result; `_` for any size.

    Raises:
        ShapeError: for a result of another shape than `out_shape`.
        ValueError: for a spec that cannot be read; and whatever the function raises for arguments of these shapes.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> @tangrad.shapecheck(["(m, n)", "n"], "m")
    ... def matvec(A, b):
    ...     return np.dot(A, b)
    >>> matvec(np.ones((2, 3)), np.ones(3))
    Array([3., 3.], dtype=float32)
    """

    @api_boundary
    def check(fun: F) -> F:
        if not callable(fun):
            raise TypeError(f"shapecheck expects a function, got {fun!r} of type {type(fun).__name__}")
        scope = SymbolicScope()
        specs, structure = tree.flatten(tuple(in_shapes) if isinstance(in_shapes, list) else in_shapes)
        names = ["args" + keystr(path) for path, _ in tree.leaves_with_path(structure.unflatten(specs))]
        shapes = [parsed(spec, scope, None, name) for spec, name in zip(specs, names, strict=True)]
        returned: list[Any] = []

        def flat(*tracers: Value) -> list[Value]:
            outs, out_tree = returned_leaves(fun(*structure.unflatten(tracers)), "shapecheck: the function")
            returned.append(out_tree)
            return outs

        jaxpr, _ = trace_to_jaxpr(flat, [ShapedArray(shape, np.dtype("float32")) for shape in shapes], "shapecheck")
        found = returned[0].unflatten([ShapeLeaf(aval.shape) for aval in jaxpr.out_avals])
        check_result(out_shape, found, scope)
        return fun

    return check
