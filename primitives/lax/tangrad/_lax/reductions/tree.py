"""Reductions by a tree: how `reduce` is said with other primitives, and how its scalar program runs on whole arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import tangrad
from tangrad._lax.structure.primitives import broadcast_in_dim_p, concatenate_p, reshape_p, slice_p, transpose_p
from tangrad.core import ClosedJaxpr, Literal, eval_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import Dimensions, Value

Arrays = tuple[Any, ...]

# Families whose primitives treat each element alike, so that a program of scalars made of them runs on arrays as it is.
ELEMENTWISE_FAMILIES = frozenset(("elementwise", "special"))

# Looked up when it is needed: lax does without tangrad-batching but for this; the error where it is missing names it.
_public_vmap = operator.attrgetter("vmap")

_answers = JaxprCache()
register_cache(_answers.clear)


def reduce_by_tree(*args: Any, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]) -> Arrays:
    """The decomposition of `reduce`: neighbours are combined in pairs, in order, until one element is left."""
    count = len(args) // 2
    operands, initial = args[:count], args[count:]
    arrays = tuple([fold_axes(x, dimensions) for x in operands])
    size = arrays[0].aval.shape[0]

    def combine(xs: Arrays, ys: Arrays) -> Arrays:
        return apply_to_arrays(jaxpr, (*xs, *ys))

    kept = arrays[0].aval.shape[1:]
    starts = tuple([broadcast_in_dim_p.bind(x, shape=kept, broadcast_dimensions=()) for x in initial])
    if size == 0:
        return starts
    while size > 1:
        arrays = combine_pairs(combine, arrays, size)
        size = arrays[0].aval.shape[0]
    rest = tuple([reshape_p.bind(x, new_sizes=kept, dimensions=None) for x in arrays])
    return combine(starts, rest)


def fold_axes(operand: Value, axes: Sequence[int]) -> Value:
    """The array with some axes made into one, in front."""
    shape = operand.aval.shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = (*axes, *kept)
    if order != tuple(range(len(shape))):
        operand = transpose_p.bind(operand, permutation=order)
    if len(axes) == 1:
        return operand
    size: Any = 1
    for axis in axes:
        size = size * shape[axis]
    return reshape_p.bind(operand, new_sizes=(size, *[shape[axis] for axis in kept]), dimensions=None)


def combine_pairs(combine: Callable[[Arrays, Arrays], Arrays], arrays: Arrays, size: int) -> Arrays:
    """Neighbours along axis 0 combined; the last of an odd number stays. The order is kept: some operations mind."""
    paired = size - size % 2
    combined = combine(rows(arrays, 0, paired, 2), rows(arrays, 1, paired, 2))
    if paired == size:
        return combined
    return tuple([concatenate_p.bind(x, y, dimension=0) for x, y in zip(combined, rows(arrays, paired, size))])


def rows(arrays: Arrays, start: int, limit: int, step: int = 1) -> Arrays:
    """The same rows of each array."""
    outs = []
    for x in arrays:
        shape = x.aval.shape
        others = (0,) * (len(shape) - 1)
        strides = None if step == 1 else (step, *[1 for _ in others])
        params = {"start_indices": (start, *others), "limit_indices": (limit, *shape[1:]), "strides": strides}
        outs.append(slice_p.bind(x, **params))
    return tuple(outs)


# --- programs of scalars on arrays ---------------------------------------------------------------------------------


def apply_to_arrays(closed: ClosedJaxpr, arrays: Arrays) -> Arrays:
    """A program of scalars applied to the elements of arrays of one shape.

    A program of elementwise primitives runs on the arrays as it is; any other is mapped by `tangrad.vmap`, so that it
    needs the distribution tangrad-batching.
    """
    shape = arrays[0].aval.shape
    if not shape:
        return tuple(eval_jaxpr(closed.jaxpr, closed.consts, *arrays))
    if _answers.get(closed, "elementwise", lambda: "yes" if _is_elementwise(closed) else "no") == "yes":
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *arrays)
        return tuple([_at_shape(out, shape) for out in outs])
    flat = [reshape_p.bind(x, new_sizes=(x.aval.size,), dimensions=None) for x in arrays]
    vmap = _public_vmap(tangrad)
    outs = vmap(lambda *scalars: tuple(eval_jaxpr(closed.jaxpr, closed.consts, *scalars)))(*flat)
    return tuple([reshape_p.bind(out, new_sizes=shape, dimensions=None) for out in outs])


def _is_elementwise(closed: ClosedJaxpr) -> bool:
    for const in closed.consts:
        if const.aval.shape:
            return False
    for eqn in closed.eqns:
        if eqn.primitive.family not in ELEMENTWISE_FAMILIES:
            return False
        for atom in (*eqn.invars, *eqn.outvars):
            if atom.aval.shape:
                return False
    return True


def _at_shape(out: Value, shape: Dimensions) -> Value:
    """A result that does not depend on the arrays is a scalar still."""
    if type(out) is Literal or not out.aval.shape:
        return broadcast_in_dim_p.bind(out, shape=shape, broadcast_dimensions=())
    return out
