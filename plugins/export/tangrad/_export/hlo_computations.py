"""`xla_computation`: the program that XLA would get for a function, not yet optimised."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad.core import api_boundary, backend_names, copy_identity, get_backend, holding, thread
from tangrad.core.programs import lower_program
from tangrad.extend.jit import (
    Call,
    Options,
    check_positions,
    positions,
    signature_of,
    struct_tree,
    taken_over,
    trace_call,
)
from tangrad.extend.sharding import with_cotangent_sums
from tangrad.sharding import PartitionSpec
from tangrad.tree_util import flatten_axes

if TYPE_CHECKING:
    from tangrad.core import Backend, ShapedArray
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Params

# --- `in_parts` and `out_parts`: into how many parts the arguments and results of a program are cut -------------------


Tiling = tuple[int, ...] | None


class _Spec:
    """What a user gave for one leaf: a tuple of integers is a leaf here, and not a tree of them."""

    __slots__ = ("counts",)

    def __init__(self, counts: Any) -> None:
        self.counts = counts


def _is_spec(value: Any) -> bool:
    if isinstance(value, PartitionSpec):
        return True
    integers = [isinstance(entry, int) for entry in value] if isinstance(value, tuple) else []
    return any(integers) and all([given or entry is None for given, entry in zip(integers, value, strict=True)])


def tilings(
    what: str, given: object, structure: PyTreeDef, avals: Sequence[ShapedArray], has_keywords: bool = False
) -> list[Tiling]:
    """For each leaf the number of parts along each of its dimensions, or None for the whole.

    Args:
        what: for messages.
        given: what the user gave: a tuple of integers, None, or a prefix of the tree of these.
        structure, avals: of the leaves.
        has_keywords: whether there are keyword arguments, whose parts cannot be named.

    Raises TypeError for other than integers, ValueError for parts that do not fit.
    """
    if given is None:
        return [None] * len(avals)
    if has_keywords:
        raise ValueError(f"{what} are those of positional arguments; pass the others by position too")
    prefix = tree.map(_Spec, tuple(given) if isinstance(given, list) else given, is_leaf=_is_spec)
    specs = flatten_axes(what, structure, prefix)
    return [_tiling(f"{what}, leaf {n},", spec, aval) for n, (spec, aval) in enumerate(zip(specs, avals, strict=True))]


def _tiling(what: str, spec: _Spec | None, aval: ShapedArray) -> Tiling:
    if spec is None:
        return None
    given = spec.counts
    try:
        counts = tuple([1 if count is None else operator.index(count) for count in given])
    except TypeError:
        raise TypeError(f"{what} must be a tuple of integers, or None, got {given!r}") from None
    if len(counts) > len(aval.shape):
        raise ValueError(f"{what} has {len(counts)} numbers of parts, {given}, for {aval.str_short()}")
    counts = (*counts, *[1] * (len(aval.shape) - len(counts)))
    for dimension, (count, size) in enumerate(zip(counts, aval.shape, strict=True)):
        if count < 1 or size % count:
            raise ValueError(
                f"{what} cuts dimension {dimension} of {aval.str_short()}, of size {size}, into {count}; a number of "
                f"equal parts is needed"
            )
    return None if math.prod(counts) == 1 else counts


def check_counts(parts: tuple[Sequence[Tiling], Sequence[Tiling]]) -> None:
    """Raise ValueError where two tilings are for different numbers of partitions."""
    found = {math.prod(tiling): tiling for tilings_of in parts for tiling in tilings_of if tiling is not None}
    if len(found) > 1:
        first, second = list(found.values())[:2]
        raise ValueError(
            f"xla_computation: all that is cut must be cut into the same number of parts; in_parts and out_parts have "
            f"{first}, which are {math.prod(first)}, and {second}, which are {math.prod(second)}"
        )


NO_DEVICES = ("devices", "none")  # parallel maps then need no device for each example: nothing runs
TUPLE_ABOVE = 100  # as many arguments are taken one by one, unless a tuple is asked for


def xla_computation(
    fun: Callable[..., object],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[object, int]] | None = None,
    in_parts: object = None,
    out_parts: object = None,
    backend: str | None = None,
    tuple_args: bool | None = False,
    instantiate_const_outputs: bool | None = None,
    return_shape: bool = False,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """A function that returns XLA's computation of `fun` for its arguments, without running anything.

    Args:
        fun: a function of arrays and trees of arrays.
        static_argnums: positions of arguments that are part of the program; their values must be hashable.
        axis_env: pairs (name, size) of mapped axes that the function may use, the slowest varying first. The program
            is then for as many replicas as their sizes multiply to; collectives are between those. A `pmap` in the
            function takes the devices that there are, or, of more examples, none: they are computed together.
        in_parts: into how many parts the positional arguments are cut along each dimension: `(2, 1)`, None for the
            whole on every partition, or a prefix of the arguments of these. All that are cut are cut into the same
            number of parts, which is that of the program's partitions.
        out_parts: the same for the result.
        backend: the name of a backend that compiles by XLA, or of its platform.
        tuple_args: whether the computation takes one tuple of all arguments; None: if there are more than 100.
        instantiate_const_outputs: without effect; results that are constants are always results.
        return_shape: whether to return the shapes of the result as well: `(computation, tree of ShapeDtypeStruct)`.
        donate_argnums: arguments whose buffers the program may overwrite.

    Returns:
        a function of the same arguments, or of anything with shape and dtype. The computation's result is a tuple. It
        has `as_hlo_text()`, `as_serialized_hlo_module_proto()`, `as_hlo_dot_graph()` and `program_shape()`.

    Raises:
        TypeError: for what is not callable, arguments that are no arrays, parts that are no integers, a
            backend that does not compile by XLA. ValueError: for axes without a name or size of their own, and parts
            that do not fit. NameError: for axes that are not in `axis_env`.

    >>> import tangrad
    >>> lowered = tangrad.xla_computation(lambda x: x - tangrad.lax.psum(x, "i"), axis_env=[("i", 4)])(2.0)
    >>> "replica_groups={{0,1,2,3}}" in lowered.as_hlo_text()
    True
    """
    if not callable(fun):
        raise TypeError(f"xla_computation expects a function, got {fun!r} of type {type(fun).__name__}")
    axes = _checked_axes(axis_env)
    options = Options(
        static_argnums=positions(static_argnums, "static_argnums"),
        donate_argnums=positions(donate_argnums, "donate_argnums"),
    )
    signature = signature_of(fun)
    if signature is not None:
        for given, what in ((options.static_argnums, "static_argnums"), (options.donate_argnums, "donate_argnums")):
            check_positions(list(signature.parameters.values()), given, what)
    name = getattr(fun, "__name__", type(fun).__name__)

    def computation_of(*args: object, **kwargs: object) -> object:
        call = Call(options, args, kwargs, abstract=True)
        in_scope = (*thread.axis_environment, *axes)
        with holding(axis_environment=in_scope, overrides=(*thread.overrides, NO_DEVICES)):  # part of programs' keys
            traced = trace_call(fun, call, name)
            # Every replica has arguments of its own.
            differ = [frozenset([axis for axis, _ in axes])] * len(traced.jaxpr.in_avals)
            closed = with_cotangent_sums(traced.jaxpr, dict(axes), differ)
        if traced.outer:
            raise TypeError(f"xla_computation: {name} uses {traced.outer[0]!r}, which is traced: the program needs it")
        parts = (
            tilings("xla_computation in_parts", in_parts, call.treedef, closed.in_avals, call.has_keywords),
            tilings("xla_computation out_parts", out_parts, traced.out_tree, closed.out_avals),
        )
        check_counts(parts)
        extra: Params = {"replica_axes": axes}
        if in_parts is not None or out_parts is not None:
            extra["parts"] = parts
        donated = taken_over(call, traced, keep_unused=True)
        program = lower_program(closed, _compiler(backend), name, donated=donated, keep_unused=True, extra=extra)
        as_tuple = len(closed.in_avals) > TUPLE_ABOVE if tuple_args is None else bool(tuple_args)
        found = program.lowered.computation(as_tuple)
        return (found, struct_tree(traced.out_tree, closed.out_avals)) if return_shape else found

    return copy_identity(api_boundary(computation_of), fun)


def _compiler(name: str | None) -> Backend:
    backend = get_backend(name if name in backend_names() else "xla")
    if name not in (None, backend.name, backend.platform):
        get_backend(name)  # raises, naming what is installed
    if backend.name != "xla":
        raise TypeError(f"xla_computation needs a backend that compiles by XLA, got backend={name!r}")
    return backend


def _checked_axes(axis_env: Any) -> tuple[tuple[str, int], ...]:
    found: list[tuple[Any, int]] = []
    for entry in axis_env or ():
        try:
            name, given = entry
            size = operator.index(given)
            hash(name)
        except (TypeError, ValueError):
            raise TypeError(f"xla_computation: axis_env takes pairs of a name and a size, got {entry!r}") from None
        if size < 1:
            raise ValueError(f"xla_computation: the axis {name!r} of axis_env must have a positive size, got {size}")
        if name in [other for other, _ in found]:
            raise ValueError(f"xla_computation: axis_env has the axis {name!r} twice: {list(axis_env)}")
        found.append((name, size))
    return tuple(found)
