"""`shard_map` and `smap`: a function of parts of arrays, made into one of whole arrays."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar, overload

from tangrad import tree
from tangrad._sharding.context import on_devices
from tangrad._sharding.manual_types import of_type
from tangrad._sharding.shard_map.scope import (
    as_combined,
    as_named,
    as_types_say,
    axes_in_scope,
    axes_left,
    differing_part,
    is_within_map,
    mesh_in_use,
    mesh_of_arguments,
    nested,
    part_aval,
)
from tangrad._sharding.shard_map.tracing import MappedProgram, PartTracer, StepTrace
from tangrad.core import (
    Array,
    ShapedArray,
    Tracer,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    copy_identity,
    holding,
    is_concrete,
    returned_leaves,
    thread,
)
from tangrad.core.caches import register_cache
from tangrad.core.settings import cache_context
from tangrad.errors import ConcretizationTypeError
from tangrad.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from tangrad.tree_util import PyTreeDef, flatten_axes, keystr

if TYPE_CHECKING:
    from tangrad.tree_util import KeyPath
    from tangrad.typing import Params, PyTree, Value


class _Unspecified:
    """What stands for specs that are not given: arguments are cut as their types have it."""

    __slots__ = ("argument",)

    def __init__(self, argument: str) -> None:
        self.argument = argument  # that was not given


_MISSING = object()
_NO_SPECS, _NO_AXES = _Unspecified("in_specs"), _Unspecified("in_axes")
TRACE_LIMIT = 1024  # signatures kept for each function

_traces: weakref.WeakKeyDictionary[Callable[..., object], dict[Hashable, _Traced]] = weakref.WeakKeyDictionary()
register_cache(_traces.clear)
P = ParamSpec("P")
R = TypeVar("R")


@overload
def shard_map(
    f: Callable[P, R],
    mesh: Mesh | AbstractMesh | None = None,
    in_specs: object = ...,
    out_specs: object = ...,
    *,
    axis_names: Iterable[Hashable] | None = None,
    check_vma: bool = True,
    check_rep: bool | None = None,
    auto: Iterable[Hashable] | None = None,
) -> Callable[P, R]: ...
@overload
def shard_map(
    f: None = None,
    mesh: Mesh | AbstractMesh | None = None,
    in_specs: object = ...,
    out_specs: object = ...,
    *,
    axis_names: Iterable[Hashable] | None = None,
    check_vma: bool = True,
    check_rep: bool | None = None,
    auto: Iterable[Hashable] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def shard_map(
    f: Callable[..., PyTree] | None = None,
    mesh: Mesh | AbstractMesh | None = None,
    in_specs: object = _NO_SPECS,
    out_specs: object = _MISSING,
    *,
    axis_names: Iterable[Hashable] | None = None,
    check_vma: bool = True,
    check_rep: bool | None = None,
    auto: Iterable[Hashable] | None = None,
) -> Callable[..., PyTree]:
    """Map a function over the devices of a mesh: each runs it on its parts of the arguments.

    Args:
        f: a function of parts of arrays, in which collectives over the axes of the mesh may be used; without it a
            decorator is returned. It is traced once for each signature, as by `jit`. Called with arrays, one that asks
            for values (`if`) is run again, operation by operation: it knows those that are the same on all devices.
        mesh: the mesh; default: the mesh in use, within another map that of it. An `AbstractMesh`: that in use, which
            must have its shape; without one in use that of an argument, or else one of the first devices.
        in_specs: for the positional arguments, partition specs that say how each is cut into parts; a tuple of trees
            that is a prefix of the arguments, or one spec for all. Along axes that a spec does not name every device
            gets the same. Arguments whose spec is None may be any objects: `f` gets them as they are. Without in_specs
            arguments are cut as their types say: along Explicit axes.
        out_specs: how the parts that the function returns are put together; a prefix of the result.
        axis_names: the axes to map over; default: all of the mesh, within another map all that it does not map over.
            Along the others the compiler partitions.
        check_vma: whether to check that results are the same along the axes that their specs do not name.
        check_rep: an earlier name of `check_vma`.
        auto: the axes that are not mapped over; an earlier way to say `axis_names`.

    Returns:
        a function of whole arrays.

    Raises:
        TypeError: for what is not callable, specs that are none, arguments that are no arrays, keyword arguments.
        ValueError: for axes that the mesh does not have, specs of another structure or longer than the rank, dimensions
            that do not divide (naming argument, dimension and axes), results that differ along axes that their specs do
            not name, nested maps over other meshes or axes that are mapped already.

    The function that is returned can be differentiated. So can `f` inside: gradients by what is the same on all devices
    are summed over them. With check_vma=False they are those of each device by itself, as in `pmap`, unless `grad` is
    given `reduce_axes`, and the derivative of a sum over devices (`psum`) is again one.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> mesh = tangrad.make_mesh((1,), ("x",))
    >>> total = tangrad.shard_map(
    ...     lambda part: tangrad.lax.psum(part.sum(), "x"), mesh=mesh, in_specs=tangrad.P("x"), out_specs=tangrad.P()
    ... )
    >>> total(np.arange(4.0))
    Array(6., dtype=float32)
    """
    options: Params = {"mesh": mesh, "in_specs": in_specs, "out_specs": out_specs, "axis_names": axis_names}
    options |= {"check_vma": check_vma, "check_rep": check_rep, "auto": auto}
    if f is None:
        return lambda function: shard_map(function, **options)
    if not callable(f):
        raise TypeError(f"shard_map expects a function, got {f!r} of type {type(f).__name__}")
    if out_specs is _MISSING:
        raise TypeError("shard_map needs out_specs: partition specs, or trees of them")
    checks = check_vma if check_rep is None else check_rep
    sharded = _ShardedFunction(f, mesh, in_specs, out_specs, axis_names, auto, checks)
    return copy_identity(api_boundary(lambda *args, **kwargs: sharded.call(args, kwargs)), f)


class _Arguments:
    """The positional arguments of a call: the arrays among them, and objects that the function gets as they are.

    Attributes:
        operands: the arrays.
        specs: a partition spec for each; None where types say how they are cut.
    """

    __slots__ = ("_kept", "_structure", "operands", "specs")

    def __init__(
        self, operands: list[Value], specs: list[PartitionSpec] | None, structure: PyTreeDef, kept: dict[int, object]
    ) -> None:
        self.operands = operands
        self.specs = specs
        self._structure = structure
        self._kept = kept  # by their place among the leaves

    @classmethod
    def of(cls, args: tuple[object, ...], in_specs: object, where: str) -> _Arguments:
        """Those of a call. Raises TypeError, after `where`, for what is no array and has a spec."""
        if isinstance(in_specs, _Unspecified):
            leaves, structure = array_leaves(args, where)
            return cls([as_operand(leaf) for leaf in leaves], None, structure, {})
        leaves, structure = tree.flatten(args)
        specs = flatten_axes("shard_map in_specs", structure, in_specs)
        kept = {place: leaf for place, (leaf, spec) in enumerate(zip(leaves, specs, strict=True)) if spec is None}
        if kept:  # anything may stand in their places to be checked
            args = structure.unflatten([0 if place in kept else leaf for place, leaf in enumerate(leaves)])
        checked, _ = array_leaves(args, where)
        operands = [as_operand(leaf) for place, leaf in enumerate(checked) if place not in kept]
        return cls(operands, [spec for spec in specs if spec is not None], structure, kept)

    def paths(self) -> list[KeyPath]:
        """Where the arrays are in the arguments."""
        numbered = self._structure.unflatten(list(range(self._structure.num_leaves)))
        return [path for place, (path, _) in enumerate(tree.leaves_with_path(numbered)) if place not in self._kept]

    def rebuilt(self, arrays: Sequence[Value]) -> tuple[Array]:
        """The arguments with other arrays."""
        others = iter(arrays)
        count = self._structure.num_leaves
        return self._structure.unflatten(
            [self._kept[place] if place in self._kept else next(others) for place in range(count)]
        )

    def key(self) -> tuple[Hashable, ...]:
        """What programs depend on beside types. It cannot be hashed where a kept object cannot."""
        return self._structure, tuple([(place, type(value), value) for place, value in self._kept.items()])


class _Traced:
    """A function traced for parts of certain types: the program, how its results are put together, and their tree."""

    __slots__ = ("out_shardings", "out_tree", "program")

    def __init__(self, program: MappedProgram, out_shardings: list[NamedSharding], out_tree: PyTreeDef) -> None:
        self.program = program
        self.out_shardings = out_shardings
        self.out_tree = out_tree


class _Cut(NamedTuple):
    """A call: its mesh and the axes that are mapped, its arguments, the types of their parts, and how they are cut."""

    mesh: Mesh
    manual: tuple[Hashable, ...]
    arguments: _Arguments
    parts: tuple[ShapedArray, ...]
    shardings: tuple[NamedSharding, ...]


class _ShardedFunction:
    """What `shard_map` was given."""

    def __init__(
        self,
        f: Callable[..., PyTree],
        mesh: object,
        in_specs: object,
        out_specs: object,
        axis_names: Iterable[Hashable] | None,
        auto: Iterable[Hashable] | None,
        checks: bool,
    ) -> None:
        if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"shard_map takes a tangrad.sharding.Mesh, got {mesh!r} of type {type(mesh).__name__}")
        self._f = f
        self._mesh = mesh
        self._in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        self._out_specs = out_specs
        self._axis_names = axis_names
        self._auto = auto
        self._checks = bool(checks)
        self._name = getattr(f, "__name__", type(f).__name__)
        if mesh is not None:
            self._manual(mesh)  # which looks whether the axes are there

    def _manual(self, mesh: Mesh | AbstractMesh) -> tuple[Hashable, ...]:
        """The axes that the function is mapped over, in the order of the mesh."""
        names, auto = self._axis_names, self._auto
        for what, axes in (("axis_names", names), ("auto", auto)):
            unknown = [axis for axis in axes or () if axis not in mesh.axis_names]
            if unknown:
                raise ValueError(f"shard_map: {what} has {unknown[0]!r}, and the axes of {mesh} are {mesh.axis_names}")
        chosen = set(names or axes_left(mesh)) - set(auto or ())
        return tuple([axis for axis in mesh.axis_names if axis in chosen])

    def call(self, args: tuple[object, ...], kwargs: dict[str, object]) -> PyTree:
        """The function of whole arrays."""
        if kwargs:
            raise TypeError(
                f"shard_map: in_specs are those of positional arguments, got keyword arguments {list(kwargs)}"
            )
        mesh = mesh_in_use() if self._mesh is None else self._mesh
        if isinstance(mesh, AbstractMesh):
            mesh = mesh_of_arguments(mesh, args) or on_devices(mesh, f"shard_map of {self._name}")
        if mesh.empty:
            raise ValueError(
                f"shard_map of {self._name}: The context mesh cannot be empty where none is passed; mesh=..., "
                "or a call within `with mesh:`, gives one"
            )
        manual = self._manual(mesh)
        mesh = nested(mesh, manual)
        where = f"shard_map of {self._name}: argument args"
        arguments = _Arguments.of(args, self._in_specs, where)
        operands = arguments.operands
        specs = arguments.specs
        if specs is None:
            assert isinstance(self._in_specs, _Unspecified)
            specs = as_types_say(mesh, manual, operands, self._in_specs.argument)
        shardings = []
        for operand, spec, path in zip(operands, specs, arguments.paths(), strict=True):
            sharding = as_named(mesh, spec, "in_specs", manual)
            if spec and not operand.aval.ndim:
                raise ValueError(
                    f"{where}{keystr(path)}, which has rank 0, has no dimension to be cut, and its spec is {spec}; "
                    "for what is not cut consider using an in_specs entry of `P()`"
                )
            sharding.check_shape(operand.aval.shape, where + keystr(path))
            shardings.append(sharding)
        pairs = zip(operands, shardings, strict=True)
        operands = arguments.operands = [as_combined(value, sharding) for value, sharding in pairs]
        typed = differing_part if self._checks else part_aval
        parts = tuple(
            [typed(value.aval, sharding, manual) for value, sharding in zip(operands, shardings, strict=True)]
        )
        cut = _Cut(mesh, manual, arguments, parts, tuple(shardings))
        ways = [self._compiled, self._stepwise]
        known = not thread.trace.stages and all(map(is_concrete, operands))
        if not known or len(manual) < len(mesh.axis_names) or is_within_map():
            return self._compiled(cut)
        if thread.disable_jit:
            ways.reverse()
        try:
            return ways[0](cut)
        except ConcretizationTypeError:  # it asks for values, or, run by operations, for those of one of the devices
            return ways[1](cut)

    def _compiled(self, cut: _Cut) -> PyTree:
        traced = self._traced(cut)
        outs = traced.program.bind(cut.arguments.operands, traced.out_shardings)
        return traced.out_tree.unflatten([as_array(out) for out in outs])

    def _stepwise(self, cut: _Cut) -> PyTree:
        """The same, run operation by operation: `if` and `print` look at values."""
        mesh, manual, arguments, parts, shardings = cut
        trace = StepTrace(mesh, manual, self._checks)
        with axes_in_scope(mesh, manual, self._checks), holding(trace=trace):
            pairs = zip(parts, arguments.operands, shardings, strict=True)
            results = self._f(*arguments.rebuilt([PartTracer(trace, *each) for each in pairs]))
            leaves, out_tree = returned_leaves(results, "shard_map: the function")
        program, wholes = trace.returning(leaves, self._name)
        outs = program.bind(wholes, self._put_together(cut, program, out_tree))
        return out_tree.unflatten([as_array(out) for out in outs])

    def _traced(self, cut: _Cut) -> _Traced:
        """The function traced for parts of these types. Kept, unless it closed over values of an outer trace."""
        out_leaves, out_structure = tree.flatten(self._out_specs)
        specs = (cut.shardings, out_structure, tuple(out_leaves))
        places = (cut.mesh, cut.manual, self._checks, cache_context(), thread.axis_environment)
        key = (cut.arguments.key(), cut.parts, specs, places)
        try:
            table = _traces.setdefault(self._f, {})
            found = table.get(key)
        except Exception:  # a function, spec or object that cannot be remembered by: its hash may raise anything
            return self._trace(cut)
        if found is None:
            found = self._trace(cut)
            if not any([isinstance(value, Tracer) for value in found.program.outer]):
                if len(table) >= TRACE_LIMIT:
                    table.clear()
                table[key] = found
        return found

    def _trace(self, cut: _Cut) -> _Traced:
        mesh, manual, arguments, parts, shardings = cut
        out_tree: list[PyTreeDef] = []

        def flat(*tracers: Value) -> list[Array]:
            leaves, treedef = returned_leaves(self._f(*arguments.rebuilt(tracers)), "shard_map: the function")
            out_tree.append(treedef)
            return leaves

        program = MappedProgram(flat, parts, self._name, mesh, manual, shardings, self._checks)
        return _Traced(program, self._put_together(cut, program, out_tree[0]), out_tree[0])

    def _put_together(self, cut: _Cut, program: MappedProgram, out_tree: PyTreeDef) -> list[NamedSharding]:
        """The shardings of results, which go with their ranks and, where that is checked, with how they differ."""
        specs = flatten_axes("shard_map out_specs", out_tree, self._out_specs)
        found = [as_named(cut.mesh, spec, "out_specs", cut.manual) for spec in specs]
        for position, (aval, sharding) in enumerate(zip(program.jaxpr.out_avals, found, strict=True)):
            if len(sharding.spec) > len(aval.shape):
                raise ValueError(
                    f"shard_map of {self._name}: {_result(out_tree, position)} of type {aval.str_short()} has rank "
                    f"{len(aval.shape)}, less than its out_specs entry, {sharding.spec}, which has length "
                    f"{len(sharding.spec)}; what each device returns needs a dimension to be put together along: "
                    "x[None]"
                )
        if self._checks:
            self._check_results(program, found, out_tree)
        return found

    def _check_results(self, program: MappedProgram, shardings: Sequence[NamedSharding], out_tree: PyTreeDef) -> None:
        """Raise ValueError for a result that may differ along an axis that its spec does not name."""
        for position, (aval, sharding) in enumerate(zip(program.types, shardings, strict=True)):
            how = of_type(aval)
            if how != sharding.combining:
                raise ValueError(
                    f"shard_map of {self._name}: {_result(out_tree, position)} is {how.described}, and the "
                    f"out_specs passed to shard_map have {sharding.spec}, {sharding.combining.described}; combine it "
                    f"(lax.psum, lax.psum_scatter), "
                    f"convert it (lax.pcast), or name the axes: P(unreduced=..., reduced=...)"
                )
        for position, axes in program.undeclared(shardings):
            raise ValueError(
                f"shard_map of {self._name}: {_result(out_tree, position)} may differ along the mesh axes {axes}, "
                f"as statically inferred, and its out_specs, {shardings[position].spec}, require replication along "
                f"what they do not name; name them, make it the same everywhere (lax.psum, lax.pmean, …), or switch "
                f"the check off: check_vma=False"
            )


def _result(out_tree: PyTreeDef, position: int) -> str:
    leaves = tree.leaves_with_path(out_tree.unflatten(list(range(out_tree.num_leaves))))
    return "result" + keystr(leaves[position][0])


@overload
def smap(f: Callable[P, R], /, *, in_axes: object = ..., out_axes: object, axis_name: Hashable) -> Callable[P, R]: ...
@overload
def smap(
    f: None = None, /, *, in_axes: object = ..., out_axes: object, axis_name: Hashable
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def smap(
    f: Callable[..., PyTree] | None = None, /, *, in_axes: object = _MISSING, out_axes: object, axis_name: Hashable
) -> Callable[..., PyTree]:
    """Map a function over one axis of the mesh in use: each device runs it on its parts of the arguments.

    Along the other axes of the mesh it may be mapped by another `smap` within, or be partitioned by the compiler.

    Args:
        f: a function of parts of arrays, in which collectives over the axis may be used; without it a decorator is
            returned.
        in_axes: the dimension along which all arguments are cut, or None for not at all; or a tuple with an entry for
            each argument, each of them a dimension, None, or a tree of such. Without it arguments are cut as their
            types say, where the axis is Explicit.
        out_axes: the dimension along which parts of results are put together, None for those that are the same
            everywhere, or a tree of such.
        axis_name: the axis of the mesh.

    Returns:
        a function of whole arrays.

    Raises:
        TypeError: for axes that are no integers or None, several names of axes. ValueError: for negative
            axes, and as `shard_map` does.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> sum_of = lambda part: tangrad.lax.psum(tangrad.lax.reduce_sum(part, (0,)), "x")
    >>> total = tangrad.smap(sum_of, in_axes=0, out_axes=None, axis_name="x")
    >>> with tangrad.make_mesh((1,), ("x",)):
    ...     total(np.arange(4.0))
    Array(6., dtype=float32)
    """
    if f is None:
        return lambda function: smap(function, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, (list, tuple)):
        raise TypeError(f"smap: axis_name must be the name of one axis of the mesh, got {axis_name!r}")
    results = _specs("out_axes", out_axes, axis_name)
    if in_axes is _MISSING:
        return shard_map(f, in_specs=_NO_AXES, out_specs=results, axis_names={axis_name})
    if in_axes is not None and not isinstance(in_axes, (int, tuple)):
        raise TypeError(
            f"smap: in_axes must be an integer, None, or a tuple with an entry for each argument, got {in_axes!r}"
        )
    arguments = _specs("in_axes", in_axes, axis_name)
    return shard_map(f, in_specs=arguments, out_specs=results, axis_names={axis_name})


def _specs(argument: str, axes: object, name: Hashable) -> PyTree:
    """A partition spec for each dimension that is named."""

    def spec(axis: object) -> PartitionSpec:
        if axis is None:
            return PartitionSpec()
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(f"smap: {argument} must be integers, None, or trees of them, got {axis!r}")
        if axis < 0:
            raise ValueError(f"smap: {argument} must count dimensions from the front, 0 or more, got {axis}")
        return PartitionSpec(*[None] * axis, name)

    return tree.map(spec, axes, is_leaf=lambda axis: axis is None)
