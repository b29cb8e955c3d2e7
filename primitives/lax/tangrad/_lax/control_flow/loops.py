"""`while_loop` and `fori_loop`, and `map`: a function of the slices of arrays, one by one or in batches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from tangrad import tree
from tangrad._lax.control_flow.bodies import Body, flat_operands, function_name, trace_body
from tangrad._lax.control_flow.primitives import while_p
from tangrad._lax.control_flow.scans import check_carry, fixed_types, run_scan
from tangrad._lax.elementwise.primitives import add_p, convert_element_type_p, lt_p
from tangrad._lax.structure.functions import concatenate, reshape, slice_in_dim
from tangrad.core import (
    Array,
    ClosedJaxpr,
    ShapedArray,
    api_boundary,
    as_array,
    as_operand,
    composition,
    dtypes,
    is_concrete,
    literal,
    thread,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.errors import MissingDistributionError
from tangrad.typing import ArrayLike, DType, PyTree, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["fori_loop"], True)


T = TypeVar("T")


@overload
def while_loop(cond_fun: Callable[..., object], body_fun: Callable[[T], T], init_val: T) -> T: ...
@overload
def while_loop(cond_fun: Callable[[Any], object], body_fun: Callable[[Any], T], init_val: PyTree) -> T: ...
@api_boundary
def while_loop(cond_fun: Callable[..., object], body_fun: Callable[[Any], object], init_val: PyTree) -> PyTree:
    """Run `value = body_fun(value)` as long as `cond_fun(value)` holds.

    Forward-mode derivatives are defined; reverse-mode ones are not, because the number of iterations, and with it the
    memory they need, is not known: use `scan`, or `fori_loop` with bounds that are Python numbers.

    Args:
        cond_fun: a function of the value that returns a boolean scalar.
        body_fun: a function of the value that returns the next one, of the same structure and types.
        init_val: the first value: arrays, and trees of them.

    Returns:
        The first value for which `cond_fun` does not hold.

    Raises:
        TypeError: for what is not callable, for a condition that is no boolean scalar, and for a value that changes in
            structure or type; the message names the leaf.

    >>> import tangrad
    >>> tangrad.lax.while_loop(lambda x: x < 100, lambda x: 2 * x, 3)
    Array(192, dtype=int32, weak_type=True)
    """
    for function, argument in ((cond_fun, "cond_fun"), (body_fun, "body_fun")):
        if not callable(function):
            raise TypeError(
                f"while_loop: {argument} must be a function, got {function!r} of type {type(function).__name__}"
            )
    return _run_while("while_loop", cond_fun, body_fun, init_val)


def _run_while(
    what: str,
    cond_fun: Callable[..., object],
    body_fun: Any,
    init_val: object,
    original: object = None,
    tag: object = None,
) -> Any:
    carry, carry_tree = flat_operands(init_val, what, "init_val")
    if thread.disable_jit and all([is_concrete(value) for value in carry]):
        value = carry_tree.unflatten([as_array(leaf) for leaf in carry])
        while bool(cond_fun(value)):
            value = body_fun(value)
        return value
    in_tree = tree.structure((init_val,))

    def trace(avals: Sequence[ShapedArray]) -> Body:
        return trace_body(body_fun, in_tree, avals, what, original, tag)

    body = trace([c.aval for c in carry])
    if body.out_tree == carry_tree:
        carry, body = fixed_types(carry, body, trace)
    user = body_fun if original is None else original
    label = f"{what}: function {function_name(user)}"
    part = None if tag != "fori" else 2
    check_carry(label, carry_tree, [c.aval for c in carry], body.out_tree, body.out_avals, part)
    condition = trace_body(cond_fun, in_tree, list(body.jaxpr.in_avals[len(body.consts) :]), what)
    _check_condition(what, cond_fun, condition)
    return carry_tree.unflatten(_bind_while(condition, body, carry))


def _bind_while(condition: Body, body: Body, carry: list[Value]) -> list[Array]:
    """The loop. What the condition does not look at and the body hands on as it came is no part of the carry: it is
    differentiated, and not mapped for the sake of a predicate, like all that a body closes over.
    """
    key = condition.jaxpr, len(condition.consts), len(body.consts)
    split = _changing.get(body.jaxpr, key, lambda: _split_carry(body.jaxpr, *key))
    kept, cond_jaxpr, body_jaxpr = split or ([True] * len(carry), condition.jaxpr, body.jaxpr)
    fixed = [value for value, stays in zip(carry, kept, strict=True) if not stays]
    outs = while_p.bind(
        *condition.consts,
        *body.consts,
        *fixed,
        *[value for value, stays in zip(carry, kept, strict=True) if stays],
        cond_jaxpr=cond_jaxpr,
        body_jaxpr=body_jaxpr,
        cond_nconsts=len(condition.consts),
        body_nconsts=len(body.consts) + len(fixed),
    )
    found = iter(outs)
    return [next(found) if stays else as_array(value) for value, stays in zip(carry, kept, strict=True)]


_changing = JaxprCache()
register_cache(_changing.clear)


def _split_carry(
    body: ClosedJaxpr, condition: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> tuple[list[bool], ClosedJaxpr, ClosedJaxpr] | None:
    """Which parts of the carry stay in it; the condition without the others, the body with them as constants.

    None where all stay: what is kept for as long as a jaxpr lives must not hold that jaxpr.
    """
    seen = condition.jaxpr.invars[cond_nconsts:]
    own, outs = body.jaxpr.invars[body_nconsts:], body.jaxpr.outvars
    used = {id(atom) for eqn in condition.jaxpr.eqns for atom in eqn.invars} | {id(v) for v in condition.jaxpr.outvars}
    kept = [out is not var or id(look) in used for out, var, look in zip(outs, own, seen, strict=True)]
    if all(kept) or not any(kept):
        return None
    fixed = [var for var, stays in zip(own, kept, strict=True) if not stays]
    rest = [var for var, stays in zip(own, kept, strict=True) if stays]
    looks = [var for var, stays in zip(seen, kept, strict=True) if stays]
    new_outs = [out for out, stays in zip(outs, kept, strict=True) if stays]
    new_condition = condition.jaxpr.replace(invars=[*condition.jaxpr.invars[:cond_nconsts], *looks])
    new_body = body.jaxpr.replace(invars=[*body.jaxpr.invars[:body_nconsts], *fixed, *rest], outvars=new_outs)
    return kept, ClosedJaxpr(new_condition, condition.consts), ClosedJaxpr(new_body, body.consts)


def _check_condition(what: str, cond_fun: object, condition: Body) -> None:
    avals = condition.out_avals
    if condition.out_tree != _LEAF:
        given = f"a tree of structure {condition.out_tree}"
    elif avals[0].shape or avals[0].dtype != np.bool_:
        given = avals[0].str_short()
    else:
        return
    raise TypeError(f"{what}: cond_fun, {function_name(cond_fun)}, must return a boolean scalar, got {given}")


_LEAF = tree.structure(0)


# --- counting ---


@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Array, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
) -> T: ...
@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], T],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
) -> T: ...
@api_boundary
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
) -> PyTree:
    """Run `value = body_fun(i, value)` for `i` from `lower` up to, not including, `upper`.

    Where both bounds are known when the program is traced this is a `scan`, which has reverse-mode derivatives; else it
    is a `while_loop`, which has none.

    Args:
        lower, upper: integer scalars, of one type unless one of them is a Python number.
        body_fun: a function of the index and the value that returns the next value, of the same structure and types.
        init_val: the first value: arrays, and trees of them.
        unroll: how many runs of `body_fun` stand in one iteration of the loop, for known bounds only; True: all.

    Returns:
        The last value; `init_val` where `upper` is not above `lower`.

    Raises:
        TypeError: for a `body_fun` that is no function, for bounds of different types, and for a value that changes in
            structure or type.
        ValueError: for `unroll` with bounds that are not known.

    >>> import tangrad
    >>> tangrad.lax.fori_loop(0, 5, lambda i, total: total + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError(f"fori_loop: body_fun must be a function, got {body_fun!r} of type {type(body_fun).__name__}")
    first, last = as_operand(lower), as_operand(upper)
    dtype = _index_dtype(first.aval, last.aval)
    if is_concrete(first) and is_concrete(last) and not first.aval.shape and not last.aval.shape:
        start, stop = _number(lower), _number(upper)
        return _fori_scan(start, max(stop - start, 0), body_fun, init_val, unroll)
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError("fori_loop: unroll needs bounds that are known when the program is traced")
    return _fori_while(_as(first, dtype), _as(last, dtype), body_fun, init_val)


def _number(bound: Any) -> int:
    return int(bound.ndarray) if hasattr(bound, "ndarray") and not hasattr(bound, "__int__") else int(bound)


def _index_dtype(lower: ShapedArray, upper: ShapedArray) -> DType:
    if lower.dtype == upper.dtype:
        return lower.dtype
    if all([dtypes.issubdtype(bound.dtype, np.signedinteger) for bound in (lower, upper)]):
        if lower.weak_type and not upper.weak_type:
            return upper.dtype
        if upper.weak_type and not lower.weak_type:
            return lower.dtype
    raise TypeError(f"fori_loop: lower and upper must have one type, got {lower.str_short()} and {upper.str_short()}")


def _as(value: Value, dtype: DType) -> Value:
    if value.aval.dtype == dtype:
        return value
    return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=False)


def _fori_scan(
    start: int, length: int, body_fun: Callable[..., object], init_val: tuple[Array, ...] | Array, unroll: int | None
) -> tuple[Array, ...] | Array:
    def step(carry: PyTree, _: None) -> PyTree:
        i, value = carry
        return (_following(i), body_fun(i, value)), None

    (_, result), _ = run_scan(
        step, (start, init_val), None, length, False, 1 if unroll is None else unroll, "fori_loop", body_fun, "fori"
    )
    return result


def _following(i: Value) -> Value:
    """The next index: operators of arrays are those of tangrad-numpy; without `jit` it is a Python number."""
    return i + 1 if isinstance(i, int) else add_p.bind(i, literal(1, i.aval.dtype, i.aval.weak_type))


def _fori_while(lower: object, upper: object, body_fun: Callable[..., PyTree], init_val: object) -> PyTree:
    def step(carry: PyTree) -> PyTree:
        i, end, value = carry
        return add_p.bind(i, literal(1, i.aval.dtype, False)), end, body_fun(i, value)

    return _run_while("fori_loop", _is_below, step, (lower, upper, init_val), body_fun, "fori")[2]


def _is_below(carry: tuple[Array, ...]) -> Array:
    i, end, _ = carry
    return lt_p.bind(i, end)


X = TypeVar("X")
Y = TypeVar("Y")


@api_boundary
def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """Run `f` on each slice of `xs` along its first axis, one after the other, and stack the results.

    Unlike `vmap` it needs memory for one run of `f` only.

    Args:
        f: a function of a slice.
        xs: arrays with a common first axis, and trees of them.
        batch_size: how many slices to take at once, by `vmap`; 0 for all of them.

    Returns:
        The results, stacked along a new first axis.

    Raises:
        TypeError: for an `f` that is no function; ValueError: for `xs` without first axis or with different ones, or a
            `batch_size` that is negative.

    >>> import tangrad
    >>> tangrad.lax.map(lambda x: x * x, tangrad.numpy.arange(4))
    Array([0, 1, 4, 9], dtype=int32)
    """
    if not callable(f):
        raise TypeError(f"map: f must be a function, got {f!r} of type {type(f).__name__}")
    if batch_size is None:
        return _scan(f, f, xs, "map")
    if batch_size < 0:
        raise ValueError(f"map: batch_size must not be negative, got {batch_size!r}")
    return _in_batches(f, xs, batch_size)


def _scan(f: Callable[..., object], original: object, xs: PyTree, tag: Hashable) -> PyTree:
    def step(_: tuple[()], x: object) -> tuple[tuple[()], object]:
        return (), f(x)

    return run_scan(step, (), xs, None, False, 1, "map", original, tag)[1]


def _in_batches(f: Callable[..., object], xs: object, batch_size: int) -> PyTree:
    plugin = composition().find("tangrad.api", "vmap")
    if plugin is None:
        raise MissingDistributionError("tangrad.vmap, which map needs for batches", "tangrad-batching")
    mapped = plugin.load()(f)
    operands = tree.map(as_operand, xs)
    leaves = tree.leaves(operands)
    size = leaves[0].aval.shape[0] if leaves and leaves[0].aval.shape else 0
    whole = size // batch_size * batch_size if batch_size else 0
    if not whole:
        return mapped(operands)

    def batches(x: Value) -> object:
        shape = x.aval.shape
        return reshape(slice_in_dim(x, 0, whole), (whole // batch_size, batch_size, *shape[1:]))

    ys = _scan(mapped, f, tree.map(batches, operands), ("map", batch_size))
    ys = tree.map(lambda y: reshape(y, (whole, *y.shape[2:])), ys)
    if whole == size:
        return ys
    rest = mapped(tree.map(lambda x: slice_in_dim(x, whole, size), operands))
    return tree.map(lambda y, other: concatenate([y, other], 0), ys, rest)
