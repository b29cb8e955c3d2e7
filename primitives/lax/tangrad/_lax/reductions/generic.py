"""`tangrad.lax.reduce`: a reduction by any operation, which is one of the simple ones where it can be recognised."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from tangrad import tree
from tangrad._lax.checks import ANY, BITS, NUMERIC, check_int, is_kind
from tangrad._lax.elementwise import functions as elementwise
from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.operands import operand as as_lax_operand
from tangrad._lax.operands import scalar_like
from tangrad._lax.placement.primitives import constrained, with_plain_type
from tangrad._lax.reductions import primitives as p
from tangrad._lax.reductions.decompositions import reduce_by_tree
from tangrad.core import Array, ClosedJaxpr, Primitive, ShapedArray, Tracer, trace_to_closed_jaxpr, without_boundary
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import ArrayLike, PyTree, ShardingLike, Value, Values

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef

_programs = JaxprCache()
register_cache(_programs.clear)


@overload
def reduce(
    operands: ArrayLike,
    init_values: ArrayLike,
    computation: Callable[[Array, Array], ArrayLike],
    dimensions: Sequence[int],
    out_sharding: ShardingLike = None,
) -> Array: ...
@overload
def reduce(
    operands: PyTree,
    init_values: PyTree,
    computation: Callable[..., PyTree],
    dimensions: Sequence[int],
    out_sharding: ShardingLike = None,
) -> PyTree: ...
def reduce(
    operands: PyTree,
    init_values: PyTree,
    computation: Callable[..., object],
    dimensions: Sequence[int],
    out_sharding: ShardingLike = None,
) -> PyTree:
    """Arrays reduced along dimensions by any associative operation; several arrays by one operation on all of them.

    Args:
        operands: an array, or a tree of arrays of one shape.
        init_values: a scalar for each operand, in a tree of the same structure, which `computation` leaves unchanged.
        computation: a function `(x, y) -> z` of scalars, or of trees of scalars with the structure of `operands`. It
            must be associative; how often and in what grouping it is applied is not defined.
        dimensions: the dimensions to reduce, distinct and not negative.
        out_sharding: how each result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array, or a tree of arrays with the structure that `computation` returns, without those dimensions.

    Raises:
        TypeError: for dtypes or trees that do not match, or a `computation` whose result is of another type than its
            arguments.
        ValueError: for shapes that differ, initial values that are not scalars, or dimensions that do not exist.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce(np.array([3.0, 4.0]), 0.0, lambda x, y: tangrad.lax.sqrt(x * x + y * y), (0,))
    Array(5., dtype=float32)
    """
    if out_sharding is not None:
        operands = tree.map(with_plain_type, operands)
        found = reduce(operands, init_values, computation, dimensions)
        return tree.map(lambda leaf: constrained(leaf, out_sharding), found)
    leaves, structure = tree.flatten(operands)
    starts, start_structure = tree.flatten(init_values)
    if structure != start_structure:
        found = f"{structure} and {start_structure}"
        raise TypeError(f"reduce: operands and init_values must have one structure, got {found}")
    if not leaves:
        raise TypeError("reduce requires at least one operand, got none")
    if not callable(computation):
        found = f"{computation!r} of type {type(computation).__name__}"
        raise TypeError(f"reduce: computation must be a function, got {found}")
    arrays = [
        x if hasattr(type(x), "aval") else as_lax_operand("reduce", x, f"operand {i}") for i, x in enumerate(leaves)
    ]
    initial = [_initial(start, x, i) for i, (start, x) in enumerate(zip(starts, arrays))]
    axes = tuple(sorted([check_int("reduce", axis, "a dimension in dimensions") for axis in dimensions]))
    simple = _simple_reduction(computation, initial)
    if simple is not None:
        out = simple.bind(arrays[0], axes=axes)
        if out.aval.weak_type and not initial[0].aval.weak_type:
            out = convert_element_type_p.bind(out, new_dtype=out.aval.dtype, weak_type=False)
        return out
    closed, out_structure = scalar_program("reduce", computation, structure, initial)
    return out_structure.unflatten(_reduce(closed, arrays, initial, axes))


def _initial(value: Any, operand: Value, position: int) -> Value:
    """An initial value as an operand; a Python number takes the dtype of the array."""
    if type(value) in (bool, int, float, complex):
        return scalar_like(value, operand.aval.dtype)
    return value if hasattr(type(value), "aval") else as_lax_operand("reduce", value, f"init_values[{position}]")


def _reduce(closed: ClosedJaxpr, arrays: Sequence[Value], initial: Sequence[Value], axes: tuple[int, ...]) -> Values:
    # A program that closed over values of an outer trace must not become a parameter: it is applied here and now.
    if any([isinstance(const, Tracer) for const in closed.consts]):
        p.reduce_p.infer(tuple([x.aval for x in (*arrays, *initial)]), {"jaxpr": closed, "dimensions": axes})
        return reduce_by_tree(*arrays, *initial, jaxpr=closed, dimensions=axes)
    return p.reduce_p.bind(*arrays, *initial, jaxpr=closed, dimensions=axes)


# --- the operation as a program ---


def scalar_program(
    name: str, computation: Callable[..., object], structure: PyTreeDef, initial: Sequence[Value]
) -> tuple[ClosedJaxpr, PyTreeDef]:
    """The jaxpr of an operation, kept as long as the function lives, and the structure of its result.

    `name` is that of the public function, for messages.
    """
    avals = tuple([x.aval for x in initial])

    def make() -> tuple[ClosedJaxpr, PyTreeDef]:
        return _trace(name, computation, structure, avals)

    try:
        weakref.ref(computation)
        hash(computation)
    except TypeError:
        return make()
    found = _programs.find(computation, (structure, avals))
    if found is not None:
        return found
    made = make()
    if not any([isinstance(const, Tracer) for const in made[0].consts]):
        _programs.get(computation, (structure, avals), lambda: made)
    return made


def _trace(
    name: str, computation: Callable[..., object], structure: PyTreeDef, avals: Sequence[ShapedArray]
) -> tuple[ClosedJaxpr, PyTreeDef]:
    out_structure: list[PyTreeDef] = []

    def flat(*scalars: Value) -> list[Value]:
        out = computation(structure.unflatten(scalars[: len(avals)]), structure.unflatten(scalars[len(avals) :]))
        outs, found = tree.flatten(out)
        out_structure.append(found)
        return outs

    what = f"the computation {getattr(computation, '__name__', repr(computation))} of {name}"
    closed = trace_to_closed_jaxpr(flat, [*avals, *avals], what)
    return closed, out_structure[0]


# --- simple operations ---


# The functions of which reductions are primitives.
_SIMPLE: dict[object, Primitive] = {
    elementwise.add: p.reduce_sum_p,
    elementwise.mul: p.reduce_prod_p,
    elementwise.max: p.reduce_max_p,
    elementwise.min: p.reduce_min_p,
    elementwise.bitwise_and: p.reduce_and_p,
    elementwise.bitwise_or: p.reduce_or_p,
    elementwise.bitwise_xor: p.reduce_xor_p,
}
_OF_NUMBERS = (p.reduce_sum_p, p.reduce_prod_p)
_OF_BITS = (p.reduce_and_p, p.reduce_or_p, p.reduce_xor_p)


def _simple_reduction(computation: object, initial: Sequence[Value]) -> Primitive | None:
    """The primitive that reduces by `computation` from `initial`, or None where no single one does."""
    if len(initial) != 1:
        return None
    try:
        primitive = _SIMPLE.get(without_boundary(computation))
    except TypeError:  # not hashable
        return None
    (start,) = initial
    if primitive is None or start.aval.shape or isinstance(start, Tracer):
        return None
    dtype = start.aval.dtype
    accepted = NUMERIC if primitive in _OF_NUMBERS else BITS if primitive in _OF_BITS else ANY
    if not is_kind(dtype, accepted):
        return None
    return primitive if bool(start.to_numpy() == p.identities[primitive](dtype)) else None
