"""`vmap`: a function of single examples made into one of batches; and classes that say how they are mapped."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from tangrad import tree
from tangrad._batching.trace import AxisInfo, BatchTracer, batch_flat, place_axis
from tangrad.core import (
    Array,
    api_boundary,
    as_array,
    as_operand,
    copy_identity,
    current_trace,
    dtypes,
    is_array_value,
    returned_leaves,
)
from tangrad.core.arguments import is_symbolic
from tangrad.tree_util import PyTreeDef, flatten_axes, keystr

if TYPE_CHECKING:
    from tangrad.typing import PyTree, Value


class Vmappable(NamedTuple):
    """What is known of a class.

    Attributes:
        spec_type: the type of its axes in `in_axes` and `out_axes`.
        axis_size_type: the type of the size of such an axis.
        to_elt: `(cont, get_index, value, spec) -> value` of one example; `cont(part, axis)` maps a part of it.
        from_elt: `(cont, axis_size, example, spec) -> value` of all; `cont(axis_size, part, axis)` places the axis.
        make_iota: `axis_size -> positions` along the axis, or None: 0, 1, 2, ...
    """

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., object]
    from_elt: Callable[..., object]
    make_iota: Callable[..., object] | None


vmappables: dict[type, Vmappable] = {}
spec_types: set[type] = set()


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., object],
    from_elt: Callable[..., object],
    make_iota: Callable[..., object] | None = None,
) -> None:
    """Say how `vmap` maps values of a class, which then are leaves of its arguments and results.

    Args:
        data_type: the class. Its values have a `shape`, of which `shape[spec]` is the size of the mapped axis.
        spec_type: the type of what stands for them in `in_axes` and `out_axes`.
        axis_size_type: the type of the size of the axis.
        to_elt: `(cont, get_index, value, spec)` returns the value of one example: `cont(part, axis)` is a part with its
            axis mapped, `get_index()` the position along the axis.
        from_elt: `(cont, axis_size, example, spec)` returns the value of all: `cont(axis_size, part, axis)` is a part
            with the mapped axis at a place.
        make_iota: the positions along an axis, of its size; None: 0, 1, 2, ...

    >>> import tangrad
    >>> from tangrad.batching import register_vmappable
    >>> class Columns:
    ...     def __init__(self, x):
    ...         self.x, self.shape = x, x.shape[::-1]
    >>> register_vmappable(
    ...     Columns,
    ...     int,
    ...     int,
    ...     lambda cont, get_index, value, spec: cont(value.x, 1),
    ...     lambda cont, size, example, spec: example,
    ... )
    >>> tangrad.vmap(lambda column: column.sum())(Columns(tangrad.numpy.ones((2, 3))))
    Array([2., 2., 2.], dtype=float32)
    """
    if not isinstance(data_type, type):
        raise TypeError(f"register_vmappable: data_type must be a class, got {data_type!r}")
    vmappables[data_type] = Vmappable(spec_type, axis_size_type, to_elt, from_elt, make_iota)
    spec_types.add(spec_type)


def is_vmappable(value: object) -> bool:
    """Whether values of this class are leaves."""
    return type(value) in vmappables


def to_example(value: object, spec: object, axis: AxisInfo) -> object:
    """The value that the mapped function sees: within the trace of the axis."""
    trace: Any = current_trace()

    def cont(part: object, spec: object) -> object:
        known = vmappables.get(type(part))
        if known is not None:
            return known.to_elt(cont, get_index, part, spec)
        if spec is None:
            return part
        operand = as_operand(part)
        return trace.tracer(operand, spec % operand.aval.ndim)

    @cache
    def get_index() -> object:
        makers = [known.make_iota for known in vmappables.values() if known.axis_size_type is type(axis.size)]
        make = next((make for make in makers if make is not None), lambda size: np.arange(size, dtype=np.int32))
        return trace.tracer(as_operand(make(axis.size)), 0)

    return cont(value, spec)


def from_example(example: object, spec: object, axis: AxisInfo) -> PyTree:
    """What the mapped function returned, as a value of all examples."""

    def cont(size: object, part: Any, spec: object) -> object:
        known = vmappables.get(type(part))
        if known is not None:
            return known.from_elt(cont, size, part, spec)
        is_mapped = type(part) is BatchTracer and part._trace.axis is axis
        value, dim = (part.value, part.dim) if is_mapped else (as_operand(part), None)
        if spec is None:
            if is_mapped:
                raise ValueError("vmap: a part of a result has no axis in out_axes, but depends on a mapped argument")
            return as_array(value)
        return as_array(place_axis(value, dim, spec % (value.aval.ndim + (dim is None)), size))

    return cont(axis.size, example, spec)


P = ParamSpec("P")
R = TypeVar("R")


def vmap(
    fun: Callable[P, R],
    in_axes: object = 0,
    out_axes: object = 0,
    axis_name: object = None,
    axis_size: int | None = None,
    spmd_axis_name: object = None,
    sum_match: bool = False,
) -> Callable[P, R]:
    """Map `fun` over axes of its arguments, as one computation on whole batches.

    Args:
        fun: a function of trees of arrays.
        in_axes: for each positional argument, the axis to map over, an integer, negative ones counting from the end;
            None: the argument is the same for all, and `fun` gets it as it is; or a tree of these that is a prefix of
            the argument. One integer stands for all. Keyword arguments are mapped over axis 0.
        out_axes: where the mapped axis of each result goes, likewise; None: the result must not depend on mapped
            arguments.
        axis_name: a name for the axis, for collectives.
        axis_size: its size, where no argument has it.
        spmd_axis_name: the mesh axis (or a tuple of them) that the axis is sharded over.
        sum_match: whether results for which out_axes is None, and which depend on mapped arguments, are summed over
            the mapped axis; else they are an error.

    Returns:
        a function of the batched arguments.

    Raises:
        TypeError: for axes that are not integers, None, or trees of them; ValueError: for sizes that disagree (each
            argument is listed), axes out of range, or specs that do not fit the arguments.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda row, shift: row.sum() + shift, in_axes=(0, None))(np.ones((2, 3)), 1.0)
    Array([4., 4.], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"vmap expects a function as its first argument, got {fun!r} of type {type(fun).__name__}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple))) or isinstance(in_axes, bool):
        raise TypeError(
            f"vmap: in_axes must be an integer, None, or a tuple with an entry for each positional argument, got "
            f"{in_axes!r} "
            f"of type {type(in_axes).__name__}"
        )
    _check_axes(in_axes, "in_axes")
    _check_axes(out_axes, "out_axes")

    def mapped(*args: object, **kwargs: object) -> PyTree:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes has {len(in_axes)} entries, but the function was called with {len(args)} positional "
                f"arguments"
            )
        is_leaf = is_vmappable if vmappables else None
        leaves, treedef = tree.flatten((args, kwargs), is_leaf) if is_leaf else tree.flatten((args, kwargs))
        of_args, of_kwargs = treedef.subtrees
        axes = _axes_of_leaves("vmap in_axes", of_args, in_axes) + [0] * of_kwargs.num_leaves
        values = [
            _as_value(leaf, axis, position, args, kwargs)
            for position, (leaf, axis) in enumerate(zip(leaves, axes, strict=True))
        ]
        dims = [
            _canonical(axis, value, position, args, kwargs)
            for position, (axis, value) in enumerate(zip(axes, values, strict=True))
        ]
        size = _mapped_size(values, dims, axis_size, args, kwargs)
        own = [d if type(v) in vmappables else None for v, d in zip(values, dims, strict=True)] if is_leaf else ()
        cut = _cut_of(values, dims)
        if spmd_axis_name is not None and cut is not None:
            _check_spmd(spmd_axis_name, cut)
        axis_info = AxisInfo(axis_name, size, spmd_axis_name, cut)
        out_tree: list[PyTreeDef] = []

        def flat(*tracers: object) -> list[Array]:
            if is_leaf:
                pairs = zip(tracers, own, strict=True)
                tracers = tuple([leaf if spec is None else to_example(leaf, spec, axis_info) for leaf, spec in pairs])
            positional = of_args.num_leaves
            named = of_kwargs.unflatten(tracers[positional:]) if kwargs else {}
            out = fun(*of_args.unflatten(tracers[:positional]), **named)
            outs, structure = tree.flatten(out, is_leaf) if is_leaf else tree.flatten(out)
            if not all([hasattr(type(leaf), "aval") or type(leaf) in vmappables for leaf in outs]):
                returned_leaves(out, "vmap: the function")
            out_tree.append(structure)
            return outs

        plain = [d if spec is None else None for d, spec in zip(dims, own, strict=True)] if is_leaf else dims
        outs, out_dims = batch_flat(flat, values, plain, axis_info)
        spec = tuple(out_axes) if isinstance(out_axes, list) and not _is_list_result(out_tree[0]) else out_axes
        wanted = _axes_of_leaves("vmap out_axes", out_tree[0], spec)
        placed = [
            _place(o, d, w, size, i, out_tree[0], sum_match)
            if type(o) not in vmappables
            else from_example(o, w, axis_info)
            for i, (o, d, w) in enumerate(zip(outs, out_dims, wanted, strict=True))
        ]
        if axis_info.cut is not None:
            # A result without a mapped axis of its own is one of copies, along an axis that is cut all the same; and of
            # some, such as what was added up on zeros, types do not have it.
            found = zip(placed, wanted, strict=True)
            placed = [o if w is None or _is_cut(o, w) else axis_info.cut_along(o, w % o.ndim) for o, w in found]
        return out_tree[0].unflatten(placed)

    return copy_identity(api_boundary(mapped), fun)


def _cut_of(values: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """The type of masks along the mapped axis, if those of the arguments say how it is cut."""
    for value, dim in zip(values, dims, strict=True):
        if dim is not None and type(value) not in vmappables and value.aval.infer_types is not None:
            found = value.aval.along_dimension(dim)
            if found.infer_types is not None:
                return found
    return None


def _check_spmd(stated: object, cut: Any) -> None:
    """Raise ValueError where types say that the mapped dimension is sharded along other axes than those stated.

    Axes that types do not record, by the setting those of size 1, may be stated beside them.
    """
    mesh, axes = cut.placed.mesh, cut.axes[0]
    unrecorded = {*mesh.explicit_axes} - {*mesh.typed_axes}
    names = [name for name in (stated if isinstance(stated, tuple) else (stated,)) if name not in unrecorded]
    if axes and axes != tuple(names):
        raise ValueError(
            f"vmap: only one of spmd_axis_name or arrays sharded on `Explicit` mesh axes is allowed; spmd_axis_name is "
            f"{stated!r}, and arguments are sharded along {axes} by their types: leave spmd_axis_name out"
        )


def _is_cut(value: Any, dim: int) -> bool:
    """Whether types say that a result is cut along a dimension."""
    if type(value) in vmappables:
        return True
    return value.aval.infer_types is not None and bool(value.aval.axes[dim])


def _axes_of_leaves(what: str, structure: PyTreeDef, axes: object) -> list[int | None]:
    """The axis of each leaf: mostly one for all."""
    if axes is None or type(axes) is int:
        return [axes] * structure.num_leaves
    return flatten_axes(what, structure, axes)


def _is_list_result(structure: PyTreeDef) -> bool:
    data = structure.node_data()
    return data is not None and data[0] is list


def _check_axes(axes: object, what: str) -> None:
    if axes is None or type(axes) is int:
        return
    for leaf in tree.leaves(axes, is_leaf=lambda node: type(node) in spec_types):
        if type(leaf) in spec_types:
            continue
        if isinstance(leaf, (bool, np.ndarray)) or not hasattr(type(leaf), "__index__"):
            raise TypeError(
                f"vmap: {what} must be integers, None, or trees of them, got {leaf!r} of type {type(leaf).__name__} "
                f"in {axes!r}"
            )


def _as_value(leaf: object, axis: int | None, position: int, args: object, kwargs: object) -> object:
    """A leaf of the arguments as a value to trace with. What is not mapped is handed on as it is: it may be any object,
    and a number stays one, which can be a static argument of a jitted function."""
    if axis is None or isinstance(leaf, Array) or type(leaf) in vmappables:
        return leaf
    if not is_array_value(leaf):
        raise TypeError(
            f"vmap: {_path(position, args, kwargs)} is {leaf!r} of type {type(leaf).__name__}, which is not an array"
        )
    return as_operand(leaf)


def _path(position: int, args: object, kwargs: object) -> str:
    path = tree.leaves_with_path((args, kwargs))[position][0]
    return ("args" if path[0].idx == 0 else "kwargs") + keystr(path[1:])


def _canonical(axis: int | None, value: Any, position: int, args: object, kwargs: object) -> int | None:
    if axis is None or type(value) in vmappables:
        return axis
    axis, ndim = operator.index(axis), len(value.aval.shape)
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"vmap: {_path(position, args, kwargs)} has shape {value.aval.shape}, rank {ndim}, "
            f"so it cannot be mapped over axis {axis}; in_axes must be from {-ndim} to {ndim - 1}, or None"
            if ndim
            else f"vmap: {_path(position, args, kwargs)} has no dimensions; its in_axes must be None, not {axis}"
        )
    return axis % ndim


def _shape(value: Value) -> tuple[int, ...]:
    return value.shape if type(value) in vmappables else value.aval.shape


def _mapped_size(
    values: Sequence[Any], dims: Sequence[int | None], axis_size: object, args: object, kwargs: object
) -> int:
    pairs = zip(values, dims, strict=True)
    sizes = [(_shape(value) if vmappables else value.aval.shape)[dim] for value, dim in pairs if dim is not None]
    if axis_size is not None:
        sizes.append(axis_size)
    if not sizes:
        if values:
            raise ValueError(
                "vmap: no argument is mapped (all of in_axes is None); map at least one, or state axis_size"
            )
        raise ValueError(
            "vmap: the function was called without arrays, so the size of the mapped axis is unknown; state axis_size"
        )
    first = sizes[0]
    for size in sizes:
        if size != first:
            raise ValueError(_disagreement(values, dims, axis_size, args, kwargs))
    return first


def _disagreement(
    values: Sequence[Value], dims: Sequence[int | None], axis_size: object, args: object, kwargs: object
) -> str:
    lines = []
    for position, (value, dim) in enumerate(zip(values, dims, strict=True)):
        if dim is not None:
            where, shape = _path(position, args, kwargs), _shape(value)
            lines.append(f"  * {where} has shape {shape}, mapped over axis {dim}: size {shape[dim]}")
    if axis_size is not None:
        lines.append(f"  * axis_size is {axis_size}")
    return "vmap: the sizes of the mapped axes disagree:\n" + "\n".join(lines)


def _place(
    out: Any, dim: int | None, wanted: int | None, size: object, position: int, out_tree: PyTreeDef, sum_match: bool
) -> np.ndarray | Array:
    if isinstance(out, np.ndarray) and out.dtype == dtypes.float0:
        return _place_float0(out, wanted, size)
    if wanted is None:
        if dim is not None and sum_match:
            return as_array(out).sum(dim)
        if dim is not None:
            raise ValueError(
                f"vmap: out_axes is None for output {position} of {out_tree}, but the output depends on a mapped "
                f"argument; "
                "give it an axis"
            )
        return out if _is_structural_zero(out) else as_array(out)
    ndim = (out.aval.ndim if hasattr(type(out), "aval") else np.ndim(out)) + (dim is None)
    axis = operator.index(wanted)
    if not -ndim <= axis < ndim:
        raise ValueError(f"vmap: out_axes is {axis} for output {position}, which with its mapped axis has rank {ndim}")
    if dim is None and _is_structural_zero(out):
        return out.repeated(size, axis % ndim)
    return as_array(place_axis(out, dim, axis % ndim, size))


def _is_structural_zero(out: object) -> bool:
    """Whether it is one of autodiff's zeros, which rules of jvp return. They are mapped over no axis."""
    return hasattr(type(out), "repeated")


def _place_float0(out: np.ndarray, wanted: int | None, size: object) -> Array | np.ndarray:
    """Derivatives by integers are NumPy arrays without contents: only the shape changes."""
    if wanted is None:
        return out
    shape, axis = list(out.shape), operator.index(wanted) % (out.ndim + 1)
    if is_symbolic(size):
        return as_array(place_axis(as_operand(out), None, axis, size))
    shape.insert(axis, size)
    return np.zeros(shape, dtypes.float0)
