"""`scan`: a function along the first axis of arrays, with a carry; `associative_scan`, and `polynomial`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from tangrad import tree
from tangrad._lax.checks import check_int
from tangrad._lax.control_flow.bodies import Body, check_trees, check_types, flat_operands, function_name, trace_body
from tangrad._lax.control_flow.primitives import row_type, same_type, scan_p
from tangrad._lax.control_flow.programs import as_different, forwarded, rearranged
from tangrad._lax.elementwise.functions import add, convert_element_type, mul
from tangrad._lax.elementwise.primitives import add_p, convert_element_type_p, or_p
from tangrad._lax.operands import constant, operand
from tangrad._lax.reductions.decompositions import nothing_added
from tangrad._lax.structure.functions import (
    broadcast_in_dim,
    broadcast_shapes,
    concatenate,
    expand_dims,
    full_like,
    index_in_dim,
    pad,
    rev,
    slice_in_dim,
    stack,
)
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Literal,
    ShapedArray,
    Tracer,
    api_boundary,
    as_array,
    dtypes,
    is_concrete,
    literal,
    thread,
)
from tangrad.core.transformations import join_named_shapes
from tangrad.errors import ConcretizationTypeError
from tangrad.tree_util import PyTreeDef, keystr
from tangrad.typing import ArrayLike, Dimensions, Params, PyTree, Value

Carry = TypeVar("Carry")
X = TypeVar("X")
Y = TypeVar("Y")


@overload
def scan(
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]: ...
@overload
def scan(
    f: Callable[[Carry, None], tuple[Carry, Y]],
    init: Carry,
    xs: None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]: ...
@overload
def scan(
    f: Callable[[Any, Any], tuple[Carry, Y]],
    init: PyTree,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]: ...
@api_boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: PyTree,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[PyTree, PyTree]:
    """Run `carry, y = f(carry, x)` for each slice `x` of `xs` along its first axis.

    It is as this, but one small loop in the program, however long:

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    Args:
        f: a function of the carry and a slice that returns the next carry and a result. The carry keeps its structure
            and types. What it closes over may be traced too.
        init: the first carry: arrays, and trees of them, or None.
        xs: arrays with a common first axis, and trees of them; None: `length` times, with None as slice.
        length: how many times; needed where there is no `xs`.
        reverse: whether to go from the last slice to the first; results stay at the place of their slices.
        unroll: how many runs of `f` stand in one iteration of the loop; True or 0: all of them, without a loop.

    Returns:
        the last carry, and the results stacked along a new first axis.

    Raises:
        TypeError: for an `f` that is no function, that does not return a pair, or whose carry changes in structure or
            type; the message names the leaf.
        ValueError: for `xs` without first axis or with different ones, for a missing or wrong `length`, and for a
            negative `unroll`.

    >>> import tangrad
    >>> tangrad.lax.scan(lambda total, x: (total + x, total), 0, tangrad.numpy.arange(4))
    (Array(6, dtype=int32), Array([0, 0, 1, 3], dtype=int32, weak_type=True))
    """
    if not callable(f):
        raise TypeError(f"scan: f must be a function, got {f!r} of type {type(f).__name__}")
    return run_scan(f, init, xs, length, reverse, unroll)


def run_scan(
    f: Callable[[Any, Any], object],
    init: PyTree,
    xs: ArrayLike | None,
    length: int | None,
    reverse: bool,
    unroll: int,
    what: str = "scan",
    original: object = None,
    tag: Hashable = None,
) -> tuple[PyTree, PyTree]:
    """`scan`; for functions made of it, `what` is their name and `original` the user's function (see `trace_body`)."""
    slices, xs_tree = flat_operands(xs, what, "xs")
    length = _length(what, xs, slices, length)
    unroll = _unroll(what, unroll, length)
    carry, carry_tree = flat_operands(init, what, "init")
    if thread.disable_jit and length and all([is_concrete(value) for value in (*carry, *slices)]):
        return _in_python(f, init, slices, xs_tree, length, reverse)
    in_tree = tree.structure((init, xs))
    slice_avals = [row_type(x.aval) for x in slices]

    def trace(avals: Sequence[ShapedArray]) -> Body:
        return trace_body(f, in_tree, [*avals, *slice_avals], what, original, tag)

    body = trace([c.aval for c in carry])
    carry_out_tree, y_tree = _halves(what, body, f if original is None else original)
    if carry_out_tree == carry_tree:
        carry, body = fixed_types(carry, body, trace)
    label = f"{what}: function {function_name(f if original is None else original)}"
    out_avals = body.out_avals[: carry_out_tree.num_leaves]
    check_carry(label, carry_tree, [c.aval for c in carry], carry_out_tree, out_avals, None if tag != "fori" else 1)
    params = {"length": length, "reverse": bool(reverse), "unroll": unroll}
    outs = _bind(body.jaxpr, body.consts, carry, slices, params)
    return carry_tree.unflatten(outs[: len(carry)]), y_tree.unflatten(outs[len(carry) :])


def _bind(
    jaxpr: ClosedJaxpr, consts: Sequence[Value], carry: Sequence[Value], slices: Sequence[Value], params: Params
) -> list[Array]:
    """The results of a scan. A carry that the body hands on as it came is a constant of it, and slices that it only
    gives back are the array that they are of: neither is a result of the primitive."""
    num_consts, num_carry = len(consts), len(carry)
    sources = forwarded([jaxpr])
    kept = [k for k in range(num_carry) if sources[k] != num_consts + k]
    fixed = [k for k in range(num_carry) if sources[k] == num_consts + k]
    first_slice = num_consts + num_carry
    from_slices = {
        k: slices[source - first_slice]
        for k, source in enumerate(sources)
        if k >= num_carry and source is not None and source >= first_slice
    }
    made = [*kept, *[k for k in range(num_carry, len(sources)) if k not in from_slices]]
    order = [*range(num_consts), *[num_consts + k for k in (*fixed, *kept)], *range(first_slice, len(jaxpr.in_avals))]
    outs = scan_p.bind(
        *consts,
        *[carry[k] for k in (*fixed, *kept)],
        *slices,
        jaxpr=rearranged(jaxpr, order, made),
        num_consts=num_consts + len(fixed),
        num_carry=len(kept),
        **params,
    )
    results = {**dict(zip(made, outs, strict=True)), **from_slices, **{k: carry[k] for k in fixed}}
    return [as_array(results[k]) for k in range(len(sources))]


def _length(what: str, xs: object, slices: list[Value], length: int | None) -> int:
    sizes = []
    for position, x in enumerate(slices):
        if not x.aval.shape:
            path = keystr(tree.leaves_with_path(xs)[position][0])
            raise ValueError(f"{what}: xs{path} has no first axis to scan over, it is {x.aval.str_short()}")
        sizes.append(x.aval.shape[0])
    if length is not None:
        length = _known(what, length)
        if length < 0:
            raise ValueError(f"{what}: length must not be negative, got {length}")
        if any([size != length for size in sizes]):
            raise ValueError(f"{what}: length is {length}, but the first axes of xs have sizes {_listed(sizes)}")
        return length
    if not sizes:
        raise ValueError(f"{what}: there is nothing to scan over and no length: give xs with leaves, or length")
    if any([size != sizes[0] for size in sizes]):
        raise ValueError(f"{what}: the first axes of xs must have one size, got {_listed(sizes)}")
    return sizes[0]


def _known(what: str, length: int) -> int:
    try:
        return int(length)
    except ConcretizationTypeError as error:
        error.add_note(f"It is the length of {what}, which decides the shape of the results.")
        raise


def _listed(sizes: list[int]) -> str:
    return ", ".join([str(size) for size in dict.fromkeys(sizes)])


def _unroll(what: str, unroll: int, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    try:
        count = operator.index(unroll)
    except TypeError:
        raise TypeError(
            f"{what}: unroll must be a boolean or an integer, got {unroll!r} of type {type(unroll).__name__}"
        ) from None
    if count < 0:
        raise ValueError(f"{what}: unroll must be a boolean or a number that is not negative, got {unroll!r}")
    return count or max(length, 1)


def _halves(what: str, body: Body, f: object) -> tuple[PyTreeDef, PyTreeDef]:
    """The structures of carry and result in what the body returned. Raises TypeError unless it is a pair."""
    children = body.out_tree.children()
    if len(children) != 2:
        raise TypeError(
            f"{what}: function {function_name(f)} must return a pair (carry, result), got a result of structure "
            f"{body.out_tree}"
        )
    return children[0], children[1]


def fixed_types(
    carry: list[Value], body: Body, trace: Callable[[Sequence[ShapedArray]], Body]
) -> tuple[list[Value], Body]:
    """The carry in the types that the body makes of it, and the body for these: dtypes in place of weak ones, and the
    named axes along which it differs after an iteration, which can be more each time. What differed before counts as
    differing after, so that its cotangents are of one type from iteration to iteration.
    """
    changed = promote_weak_types(carry, body.out_avals)
    if changed is not None:
        carry = changed
        body = trace([c.aval for c in carry])
    avals = [c.aval for c in carry]
    while True:
        axes = [join_named_shapes(pair) for pair in zip(avals, body.out_avals)]
        if all([aval.named_shape == found for aval, found in zip(avals, axes)]):
            jaxpr = body.jaxpr if thread.typed_axes is None else as_different(body.jaxpr, axes)
            return carry, body if jaxpr is body.jaxpr else Body(jaxpr, body.consts, body.out_tree)
        avals = [aval.update(named_shape=found) for aval, found in zip(avals, axes)]
        body = trace(avals)


def promote_weak_types(carry: list[Value], out_avals: Sequence[ShapedArray]) -> list[Array | Literal] | None:
    """The carry with weakly typed values in the dtypes that the body makes of them; None where nothing changes.

    So a loop may start from the number 0 and go on with float32 arrays.
    """
    changed = False
    promoted = list(carry)
    for position, (value, out) in enumerate(zip(carry, out_avals)):
        if value.aval.weak_type and not same_type(value.aval, out):
            dtype = dtypes.result_type(value, ShapedArray((), out.dtype, out.weak_type))
            promoted[position] = convert_element_type_p.bind(value, new_dtype=dtype, weak_type=False)
            changed = True
    return promoted if changed else None


def check_carry(
    label: str,
    in_tree: PyTreeDef,
    in_avals: list[ShapedArray],
    out_tree: PyTreeDef,
    out_avals: list[ShapedArray],
    part: int | None = None,
) -> None:
    """Raise TypeError unless the carry that a body returns is as that which it takes.

    `part`: the only child of the carry that the user knows of; the others are right.
    """
    if part is not None:
        in_tree, in_avals = _child(in_tree, in_avals, part)
        out_tree, out_avals = _child(out_tree, out_avals, part)
    check_trees(label, "the carry it takes", in_tree, "the carry it returns", out_tree)
    hint = "Convert the initial carry, or what the function returns, so that the types are equal."
    check_types(label, in_tree, "the carry it takes", in_avals, "the carry it returns", out_avals, hint)


def _child(treedef: PyTreeDef, avals: list[ShapedArray], part: int) -> tuple[PyTreeDef, list[ShapedArray]]:
    children = treedef.children()
    start = sum([child.num_leaves for child in children[:part]])
    return children[part], avals[start : start + children[part].num_leaves]


def _in_python(
    f: Callable[..., Any],
    init: object,
    slices: list[Value],
    xs_tree: PyTreeDef,
    length: int,
    reverse: bool,
) -> tuple[PyTree, PyTree]:
    """With `disable_jit`: the user's function itself, on concrete values."""
    carry, results = init, []
    for i in range(length - 1, -1, -1) if reverse else range(length):
        carry, y = f(carry, xs_tree.unflatten([index_in_dim(x, i, keepdims=False) for x in slices]))
        results.append(y)
    if reverse:
        results.reverse()
    return carry, tree.map(lambda *parts: stack([as_array(part) for part in parts]), *results)


# --- running combinations in a logarithmic number of steps ---

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["associative_scan"], True)


T = TypeVar("T")


@api_boundary
def associative_scan(fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0) -> T:
    """Combine each element with all before it, by a function that is associative.

    Element i of the result is `fn(…fn(fn(x[0], x[1]), x[2])…, x[i])`. Pairs are combined side by side: the depth
    is the logarithm of the length; `fn` gets many elements at once.

    Args:
        fn: a function of two trees of arrays, vectorised along `axis`, that returns one like them. It must be
            associative: `fn(a, fn(b, c)) == fn(fn(a, b), c)`.
        elems: arrays with one size along `axis`, and trees of them.
        reverse: whether to combine from the end.
        axis: the axis; negative: from the end.

    Returns:
        A tree like `elems`.

    Raises:
        TypeError: for an `fn` that is no function; ValueError: for an axis that does not exist, and sizes that differ.

    >>> import tangrad
    >>> tangrad.lax.associative_scan(tangrad.lax.add, tangrad.numpy.arange(5))
    Array([ 0,  1,  3,  6, 10], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"associative_scan: fn must be a function, got {fn!r} of type {type(fn).__name__}")
    leaves, treedef = flat_operands(elems, "associative_scan", "elems")
    if not leaves:
        return elems
    ndim = leaves[0].aval.ndim
    if not -ndim <= axis < ndim:
        raise ValueError(f"associative_scan: axis {axis} does not exist in {leaves[0].aval.str_short()}")
    axis %= ndim
    sizes = [leaf.aval.shape[axis] if axis < leaf.aval.ndim else None for leaf in leaves]
    if any([size is None or size != sizes[0] for size in sizes]):
        shapes = ", ".join([leaf.aval.str_short() for leaf in leaves])
        raise ValueError(f"associative_scan: all arrays must have one size along axis {axis}, got {shapes}")
    if reverse:
        leaves = [rev(leaf, (axis,)) for leaf in leaves]

    def combine(one: Sequence[Value], other: Sequence[Value]) -> list[Array]:
        out = tree.leaves(fn(treedef.unflatten(one), treedef.unflatten(other)))
        if len(out) != len(one):
            raise TypeError(f"associative_scan: fn must return a tree like its arguments, {treedef}")
        return list(out)

    results = _scan(combine, leaves, axis)
    if reverse:
        results = [rev(result, (axis,)) for result in results]
    return treedef.unflatten(results)


def _scan(combine: Callable[..., Sequence[Value]], elems: Sequence[Value], axis: int) -> Sequence[Value]:
    """Neighbours combined; the scan of these is every second result, and the others need one step more."""
    size = elems[0].shape[axis]
    if size < 2:
        return elems
    evens, odds = _every_second(elems, axis, 0, size - 1), _every_second(elems, axis, 1, size)
    odd = _scan(combine, combine(evens, odds), axis)
    later = _every_second(elems, axis, 2, size)
    shorter = [slice_in_dim(x, 0, x.shape[axis] - 1, 1, axis) for x in odd] if size % 2 == 0 else odd
    even: Sequence[Value] = combine(shorter, later) if size > 2 else later
    even = [concatenate([slice_in_dim(x, 0, 1, 1, axis), y], axis) for x, y in zip(elems, even)]
    return [_interleave(one, other, axis) for one, other in zip(even, odd)]


def _every_second(elems: Sequence[Value], axis: int, start: int, limit: int) -> list[Array]:
    return [slice_in_dim(x, start, max(limit, start), 2, axis) for x in elems]


def _interleave(evens: Value, odds: Value, axis: int) -> Array:
    """x0 y0 x1 y1 …: both padded at each other's places with what changes no number, and added."""
    dtype = evens.dtype
    zero = literal(False, dtype, False) if dtype.name == "bool" else nothing_added(dtype)
    config = [(0, 0, 0)] * evens.ndim
    longer = evens.shape[axis] > odds.shape[axis]
    config[axis] = (0, 0 if longer else 1, 1)
    one = pad(evens, zero, config)
    config[axis] = (1, 1 if longer else 0, 1)
    other = pad(odds, zero, config)
    return or_p.bind(one, other) if dtype.name == "bool" else add_p.bind(one, other)


# --- polynomials ---

UNROLLED = 8  # so many steps are written out; more are a loop, which compiles in the same time for any degree


def polynomial(x: ArrayLike, coeffs: Sequence[ArrayLike], *, unroll: int | None = None) -> Array:
    """The polynomial with the given coefficients: `coeffs[0] + coeffs[1] x + coeffs[2] x² + …`.

    Args:
        x: an array or number, integer, floating or complex.
        coeffs: numbers, or arrays that broadcast with `x` dimension by dimension, the constant one first; they are
            taken in the dtype of `x`.
        unroll: up to how many steps are written out one by one before a loop is made of them; None: 8.

    Returns:
        An array of the dtype of `x` and of the shape to which `x` and the coefficients broadcast; zeros, if there are
        no coefficients.

    Raises:
        TypeError: for what is no array, and an `unroll` that is no integer.
        ValueError: for shapes that do not fit, and an `unroll` that is negative.

    >>> import tangrad
    >>> tangrad.lax.polynomial(3.0, [1.0, 5.0, 2.0])
    Array(34., dtype=float32, weak_type=True)
    """
    limit = UNROLLED if unroll is None else check_int("polynomial", unroll, "unroll")
    if limit < 0:
        raise ValueError(f"polynomial: unroll must not be negative, got {limit}")
    made = operand("polynomial", x)
    factors = [_in_dtype(factor, made) for factor in coeffs]
    if not factors:
        return full_like(made, 0)
    shape = _common_shape([value.aval.shape for value in (made, *factors)])
    result = _in_shape(factors.pop(), shape)
    if len(factors) <= limit:
        for factor in reversed(factors):
            result = add(mul(result, made), factor)
        return as_array(result)
    if any([factor.aval.shape for factor in factors]):
        factors = [_in_shape(factor, shape) for factor in factors]
    steps = concatenate([expand_dims(factor, (0,)) for factor in factors], 0)
    result, _ = scan(lambda total, factor: (add(mul(total, made), factor), None), result, steps, reverse=True)
    return as_array(result)


def _common_shape(shapes: list[tuple[object, ...]]) -> tuple[int, ...]:
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"polynomial: x and coeffs must broadcast together, got shapes {shapes}") from None


def _in_dtype(factor: ArrayLike, x: Array) -> Array:
    """A coefficient in the dtype of `x`: a number with its weak type, too."""
    given: Any = factor
    if not isinstance(factor, Tracer) and np.ndim(given) == 0:
        value = factor if isinstance(factor, (bool, int, float, complex)) else np.asarray(factor)
        return operand("polynomial", constant(value, x.aval.dtype, x.aval.weak_type), "coeffs")  # type: ignore[arg-type]
    return convert_element_type(operand("polynomial", factor, "coeffs"), x.aval.dtype)


def _in_shape(value: Array, shape: Dimensions) -> Array:
    rank = len(value.aval.shape)
    return value if value.aval.shape == shape else broadcast_in_dim(value, shape, tuple(range(rank)))
