"""`mask` and `shapecheck`: functions of arrays whose sizes are written as names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from tangrad import tree
from tangrad._masking.sizes import INT32, ShapeError, Sizes
from tangrad._masking.trace import masked_flat
from tangrad.core import (
    Array,
    ShapedArray,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    copy_identity,
    dtypes,
    get_aval,
    is_concrete,
    returned_leaves,
    trace_to_jaxpr,
)
from tangrad.extend.lax import convert_element_type_p
from tangrad.extend.symbolic import SymbolicScope, evaluate_polynomial, plan, shape_text, symbolic_shape
from tangrad.tree_util import PyTreeDef, broadcast_prefix, keystr
from tangrad.typing import ArrayLike, Dimensions, PyTree, Value

# --- Shape specs as strings, for all arguments of a call, in one scope ------------------------------------------------


def parsed(spec: str, scope: SymbolicScope, like: Sequence[object] | None, what: str) -> tuple[int, ...]:
    """A spec as a shape. Raises TypeError for what is no string, ValueError for one that cannot be read or does not
    fit `like`, naming what it is the spec of.
    """
    if not isinstance(spec, str):
        raise TypeError(f"the spec of {what} must be a string such as '(n, m)', got {spec!r} of {type(spec).__name__}")
    text = spec.strip()
    inside = text[1:-1] if text.startswith("(") and text.endswith(")") and _is_pair(text) else text
    try:
        return symbolic_shape(inside.strip().rstrip(","), scope=scope, like=like)
    except ValueError as error:
        raise ValueError(f"the spec {spec!r} of {what} does not fit: {error}") from None


def _is_pair(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return position == len(text) - 1
    return False


def for_leaves(specs: object, values: object, what: str) -> list[tuple[str, str]]:
    """For each leaf of `values` what it is called, and its spec, of which one may stand for a whole subtree."""
    names = [what + keystr(path) for path, _ in tree.leaves_with_path(values)]
    return list(zip(names, broadcast_prefix(specs, values), strict=True))


# --- `mask`: a function of arrays of any size, on arrays that are padded to one size ----------------------------------


R = TypeVar("R")


def mask(
    fun: Callable[..., R], in_shapes: object, out_shape: object = None, *, constraints: Iterable[str] = ()
) -> Callable[[Sequence[PyTree], Mapping[str, ArrayLike]], R]:
    """Make a function of padded arrays of `fun`, which computes as if the padding were not there.

    Args:
        fun: a function of trees of arrays. The sizes that it sees are symbolic; where it computes with one, that is the
            logical size.
        in_shapes: for each argument its shape as a string, or a tree of them that is a prefix of it: `"n"`, `"(n, m)"`,
            `"2*n+1"`, `""` for no dimensions; `_` is a size that is as it is, padding and all.
        out_shape: likewise for the result; None: anything.
        constraints: what holds of the sizes, such as `"n >= 2"`, where `fun` depends on it; see `export.SymbolicScope`.

    Returns:
        `(args, dims) -> result`: `args` is the sequence of arguments, padded at the ends of their dimensions; `dims`
        the logical size of each variable, an integer or an integer scalar, which may be traced. Results are padded as
        the arguments are: what is beyond their logical sizes is 0.

    Raises:
        ValueError: for padded sizes that do not fit the specs, or one another; for sizes that are missing, or larger
            than the padded ones. ShapeError (a ValueError): for a result of another shape than `out_shape`.
        TypeError: for specs that are no strings, and sizes that are no integers.
        MissingRuleError: for a primitive without a `mask` rule.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> padded_sum = tangrad.mask(lambda x: np.sum(x), in_shapes=["n"], out_shape="")
    >>> padded_sum([np.array([5, 2, 9, 1])], dict(n=3))
    Array(16, dtype=int32)
    """
    if not callable(fun):
        raise TypeError(f"mask expects a function as its first argument, got {fun!r} of type {type(fun).__name__}")
    # One for all calls: sizes of one name are the same ones, so that what is jitted within is traced once.
    scope = SymbolicScope(constraints)

    def masked(args: object, dims: Mapping[str, object]) -> PyTree:
        if not isinstance(args, (tuple, list)):
            raise TypeError(f"mask: the arguments must be a tuple or a list of them, got {type(args).__name__}")
        leaves, structure = array_leaves(tuple(args), "mask: args")
        values = [as_operand(leaf) for leaf in leaves]
        specs = for_leaves(tuple(in_shapes) if isinstance(in_shapes, list) else in_shapes, tuple(args), "args")
        labels = [name for name, _ in specs]
        shapes = [parsed(spec, scope, v.aval.shape, name) for (name, spec), v in zip(specs, values, strict=True)]
        padded = plan(shapes, labels).sizes([value.aval.shape for value in values])
        sizes = Sizes(padded, _logical(padded, dims))
        _check_constraints(scope, sizes)
        returned: list[PyTreeDef] = []

        def flat(*tracers: Value) -> list[Value]:
            outs, out_tree = returned_leaves(fun(*structure.unflatten(tracers)), "mask: the function")
            returned.append(out_tree)
            return outs

        entered = [sizes.fill(value, shape, 0) for value, shape in zip(values, shapes, strict=True)]
        outs, out_shapes = masked_flat(flat, entered, shapes, sizes)
        if out_shape is not None:
            check_result(out_shape, returned[0].unflatten([ShapeLeaf(shape) for shape in out_shapes]), scope)
        return returned[0].unflatten([as_array(sizes.fill(o, s, 0)) for o, s in zip(outs, out_shapes, strict=True)])

    return copy_identity(api_boundary(masked), fun)


def _logical(padded: Mapping[str, int], dims: Mapping[str, object]) -> dict[str, int | Array]:
    """The logical size of each variable, checked as far as it is known."""
    if not isinstance(dims, Mapping):
        raise TypeError(f"mask: the logical sizes must be a dict of them, got {dims!r} of type {type(dims).__name__}")
    if set(dims) != set(padded):
        raise ValueError(f"mask: the specs have the sizes {sorted(padded)}, the call gives {sorted(map(str, dims))}")
    return {name: _size(name, dims[name], limit) for name, limit in padded.items()}


def _check_constraints(scope: SymbolicScope, sizes: Sizes) -> None:
    """Raise ValueError for logical sizes that break a constraint, where they are known."""
    known = sizes.logical_sizes
    if not all([type(size) is int for size in known.values()]):
        return
    for text, left, sign, right in scope.stated:
        one, other = [evaluate_polynomial(side, known) for side in (left, right)]
        if not (one >= other if sign == ">=" else one == other):
            raise ValueError(f"mask: the constraint {text} does not hold for the logical sizes {dict(known)}")


def _size(name: str, value: Any, limit: int) -> int | Array:
    try:
        aval = get_aval(value)
    except TypeError:
        aval = None
    if aval is None or aval.shape or not dtypes.issubdtype(aval.dtype, np.integer):
        found = aval.str_short() if aval is not None else f"{value!r} of type {type(value).__name__}"
        raise TypeError(f"mask: the size {name} must be an integer without dimensions, got {found}")
    if not is_concrete(value):
        return convert_element_type_p.bind(as_operand(value), new_dtype=INT32, weak_type=False)
    size = operator.index(value)
    if not 0 <= size <= limit:
        raise ValueError(f"mask: the size {name} is {size}; it must be from 0 to the padded size, {limit}")
    return size


class ShapeLeaf:
    """A shape, as one leaf of a tree."""

    __slots__ = ("shape",)

    def __init__(self, shape: Dimensions) -> None:
        self.shape = shape


def check_result(out_shape: object, result: object, scope: SymbolicScope) -> None:
    """Raise ShapeError unless the shapes of a result are those of the spec."""
    out_shape = tuple(out_shape) if isinstance(out_shape, list) and not isinstance(result, list) else out_shape
    for (name, spec), leaf in zip(for_leaves(out_shape, result, "the result"), tree.leaves(result), strict=True):
        expected = _expected(spec, leaf.shape, scope, name)
        if expected != leaf.shape:
            raise ShapeError(
                f"{name} is of shape {shape_text(leaf.shape)}, but its spec {spec!r} means {shape_text(expected)}"
            )


def _expected(spec: str, shape: Dimensions, scope: SymbolicScope, name: str) -> tuple[int, ...]:
    try:
        return parsed(spec, scope, shape if (isinstance(spec, str) and "_" in spec) or spec == "..." else None, name)
    except ValueError as error:
        raise ShapeError(str(error)) from None


# --- `shapecheck`: what is written of a function's shapes, compared with what the function does -----------------------


F = TypeVar("F", bound=Callable[..., Any])


def shapecheck(in_shapes: object, out_shape: object) -> Callable[[F], F]:
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
        returned: list[PyTreeDef] = []

        def flat(*tracers: Value) -> list[Value]:
            outs, out_tree = returned_leaves(fun(*structure.unflatten(tracers)), "shapecheck: the function")
            returned.append(out_tree)
            return outs

        jaxpr, _ = trace_to_jaxpr(flat, [ShapedArray(shape, np.dtype("float32")) for shape in shapes], "shapecheck")
        found = returned[0].unflatten([ShapeLeaf(aval.shape) for aval in jaxpr.out_avals])
        check_result(out_shape, found, scope)
        return fun

    return check
