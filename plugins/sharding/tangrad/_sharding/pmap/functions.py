"""`pmap`: a function of single examples, run on one device for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from tangrad import devices as devices_named
from tangrad import tree
from tangrad._sharding.making import global_array, local_array
from tangrad._sharding.pmap.axes import (
    axes_of_arguments,
    axes_of_results,
    check_arrays,
    checked_axes,
    checked_size,
    devices_for,
    inside_pmap,
    is_inside,
    mapped_size,
    runs_nowhere,
    too_few,
    trace_of_one,
)
from tangrad._sharding.shard_map.scope import part_aval
from tangrad._sharding.shard_map.tracing import MappedProgram
from tangrad.batching import AxisInfo, batch_flat, place_axis
from tangrad.core import (
    Array,
    Device,
    Literal,
    Tracer,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    copy_identity,
    dce_jaxpr,
    eval_jaxpr,
    returned_leaves,
    transfers,
)
from tangrad.extend.collectives import pbroadcast_p
from tangrad.extend.jit import jit, positions
from tangrad.extend.lax import index_in_dim, reshape_p
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class _Unnamed:
    """The name of a mapped axis that has none: a private object."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unnamed"


class PmapOptions(TypedDict, total=False):
    in_axes: object
    out_axes: object
    static_broadcasted_argnums: int | Sequence[int]
    devices: Sequence[Device] | None
    backend: str | None
    axis_size: int | None
    donate_argnums: int | Sequence[int]


class _Pmap(Protocol):
    def __call__(self, fun: Callable[P, R], /) -> PmapFunction[P, R]: ...


@overload
def pmap(fun: Callable[P, R], axis_name: object = None, **options: Unpack[PmapOptions]) -> PmapFunction[P, R]: ...
@overload
def pmap(*, axis_name: object = None, **options: Unpack[PmapOptions]) -> _Pmap: ...
def pmap(
    fun: Callable[..., object] | None = None,
    axis_name: object = None,
    *,
    in_axes: object = 0,
    out_axes: object = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., PyTree]:
    """Map a function along an axis of its arguments, with one device for each example. It is compiled.

    Args:
        fun: a function of single examples; without it a decorator is returned.
        axis_name: a name for the mapped axis, for collectives.
        in_axes: which axis of each positional argument is mapped: an integer, None (the whole goes to every device), or
            a tuple of trees of these. Keyword arguments are mapped along their first.
        out_axes: where the mapped axis is in the results; None for a result that is the same for all examples;
            of one that is not, that of the first.
        static_broadcasted_argnums: positions of arguments that are part of the program; they must be hashable.
        devices: the devices to run on, of which the first ones are used; default: those of the backend in use.
        backend: the name of another backend, or of a platform, to take devices of.
        axis_size: the size of the mapped axis, for a check or where no argument is mapped.
        donate_argnums: arguments whose buffers the program may overwrite.

    Returns:
        a function of batches, whose results stay on the devices; with `lower(...)`.

    Raises:
        ValueError: for more examples than devices, with both counts; sizes that differ, listed; static
            arguments that are not passed by position. TypeError: for what is not callable, and arguments that are no
            arrays.

    Where devices belong to several processes, each of them passes the examples of its own devices, and gets their
    results as an array of its own; collectives are over all. `axis_size` counts the devices of all processes.

    Within another `pmap`, or a `shard_map`, examples are computed together on each of its devices, as by `vmap`. A
    function whose results depend neither on the arguments nor on the device has nothing to run on each: it takes any
    number of examples. So does any function within `xla_computation`, which runs nothing.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.pmap(lambda x: x - tangrad.lax.pmean(x, "i"), axis_name="i")(np.ones((1, 2)))
    Array([[0., 0.]], dtype=float32)
    """
    if fun is None:
        return lambda function: pmap(
            function, axis_name, in_axes=in_axes, out_axes=out_axes, devices=devices, backend=backend,
            static_broadcasted_argnums=static_broadcasted_argnums, axis_size=axis_size, donate_argnums=donate_argnums,
        )  # fmt: skip
    if not callable(fun):
        raise TypeError(f"pmap expects a function, got {fun!r} of type {type(fun).__name__}")
    if devices is not None and backend is not None:
        raise ValueError(f"pmap takes devices or backend, not both; got devices={devices!r} and backend={backend!r}")
    if devices is not None and not len(devices):
        raise ValueError("pmap: devices must not be empty; None takes those of the backend")
    axis_size = checked_size(axis_size)
    checked_axes(in_axes, "in_axes")
    checked_axes(out_axes, "out_axes")
    static = positions(static_broadcasted_argnums, "static_broadcasted_argnums")
    donated = positions(donate_argnums, "donate_argnums")
    return PmapFunction(fun, axis_name, in_axes, out_axes, static, devices, backend, axis_size, donated)


class PmapFunction(Generic[P, R]):
    """A function made by `pmap`."""

    def __init__(
        self,
        fun: Callable[P, R],
        axis_name: object,
        in_axes: object,
        out_axes: object,
        static: tuple[int, ...],
        devices: Sequence[Device] | None,
        backend: str | None,
        axis_size: int | None,
        donated: tuple[int, ...],
    ) -> None:
        self._fun = fun
        self._name = _Unnamed() if axis_name is None else axis_name
        self._in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        self._out_axes = out_axes
        self._static = static
        self._devices = devices
        self._backend = backend
        self._axis_size = axis_size
        self._meshes: dict[tuple[object, ...], Mesh] = {}
        self._cuts: dict[tuple[Mesh, int | None], NamedSharding] = {}
        self._jitted = jit(self._mapped, static_argnums=static, donate_argnums=donated)
        self.call = api_boundary(self._call)
        copy_identity(self, fun)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.call(args, kwargs)

    def __repr__(self) -> str:
        return f"<pmapped {getattr(self._fun, '__name__', type(self._fun).__name__)}>"

    def lower(self, *args: object, **kwargs: object) -> Any:
        """The program for these arguments, not yet compiled."""
        return self._jitted.lower(*args, **kwargs)

    # --- a call -----------------------------------------------------------------------------------------------------

    def _call(self, args: tuple[object, ...], kwargs: dict[str, object]) -> PyTree:
        dynamic, _ = self._split(args)
        leaves, structure = array_leaves((dynamic, kwargs), "pmap: the arguments ")
        values = [as_operand(leaf) for leaf in leaves]
        if is_inside() or any([isinstance(value, Tracer) for value in values]):
            self._axes(dynamic, kwargs, values, self._axis_size)  # which looks whether the sizes agree
            return self._jitted(*args, **kwargs)
        others = self._mesh_with_other_processes()
        if others is not None:
            return self._call_with_others(others, args, kwargs, dynamic, values)
        axes, size = self._axes(dynamic, kwargs, values, self._axis_size)
        mesh = self._mesh(size)
        if mesh is None:  # which is an error, unless there is nothing to run on them
            return self._jitted(*args, **kwargs)
        dynamic, kwargs = structure.unflatten(
            [_placed(leaf, self._cut(mesh, axis)) for leaf, axis in zip(leaves, axes, strict=True)]
        )
        return self._jitted(*self._merged(dynamic, args), **kwargs)

    def _mesh_with_other_processes(self) -> Mesh | None:
        """The devices, where some belong to other processes."""
        devices = devices_named(self._backend) if self._devices is None else self._devices
        # The devices of a backend are in the order of their processes.
        if not devices or devices[0].process_index == devices[-1].process_index == devices[0].backend.process_index:
            return None
        return self._mesh(len(devices))

    def _call_with_others(
        self,
        mesh: Mesh,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        dynamic: tuple[Array, ...],
        values: Sequence[Value],
    ) -> object:
        """Each process passes the examples of its own devices, and gets their results."""
        here = len(mesh.local_devices)
        axes, size = self._axes(dynamic, kwargs, values, None if self._axis_size is None else here)
        if size != here or self._axis_size not in (None, mesh.size):
            stated = "" if self._axis_size is None else f" (axis_size={self._axis_size})"
            raise ValueError(
                f"pmap: the mapped axis has size {size}{stated}, and this process has {here} of the {mesh.size} "
                f"devices: each process passes one example for each of its own, and axis_size counts those of all"
            )
        placed = [
            global_array(value, mesh, self._cut(mesh, axis).spec) for value, axis in zip(values, axes, strict=True)
        ]
        dynamic, kwargs = tree.structure((dynamic, kwargs)).unflatten(placed)
        outs = self._jitted(*self._merged(dynamic, args), **kwargs)
        return tree.map(lambda out: local_array(out, mesh, self._spec_of(out)), outs)

    def _spec_of(self, out: Any) -> PartitionSpec:
        """How a result is sharded: along the mapped axis in one dimension, or the same everywhere."""
        return PartitionSpec(*[self._name if count > 1 else None for count in out.user_sharding.tiles(out.ndim)])

    def _split(self, args: tuple[object, ...]) -> tuple[tuple[PyTree, ...], dict[int, object]]:
        """The arguments that are mapped, and the static ones by their positions."""
        count = len(args)
        missing = [position for position in self._static if not -count <= position < count]
        if missing:
            raise ValueError(
                f"pmap: static_broadcasted_argnums has {missing[0]}, and the call has {count} positional arguments; "
                f"static arguments are passed by position"
            )
        static = {p % count: args[p] for p in self._static}
        return tuple([arg for position, arg in enumerate(args) if position not in static]), static

    def _merged(self, dynamic: tuple[object, ...], args: tuple[object, ...]) -> tuple[PyTree, ...]:
        """The arguments with other values for those that are mapped."""
        _, static = self._split(args)
        rest = iter(dynamic)
        return tuple([static[position] if position in static else next(rest) for position in range(len(args))])

    def _axes(
        self, dynamic: tuple[Array, ...], kwargs: dict[str, object], values: Sequence[Value], axis_size: int | None
    ) -> tuple[list[int | None], int]:
        in_axes = self._in_axes
        if isinstance(in_axes, tuple) and self._static and len(in_axes) == len(dynamic) + len(self._static):
            count = len(in_axes)  # the entries of static arguments say nothing
            static = {position % count for position in self._static}
            in_axes = tuple([axis for position, axis in enumerate(in_axes) if position not in static])
        check_arrays(values, "among its arguments")
        axes = axes_of_arguments(in_axes, dynamic, kwargs, values)
        return axes, mapped_size(values, axes, axis_size, dynamic, kwargs)

    def _mesh(self, size: int) -> Mesh | None:
        """A mesh of a device for each example; None where there are too few."""
        chosen = devices_for(size, self._devices, self._backend)
        if chosen is None:
            return None
        devices = tuple(chosen)
        found = self._meshes.get(devices)  # one for each number of devices, or backend
        if found is None:
            found = self._meshes[devices] = Mesh(devices, (self._name,))
        return found

    def _cut(self, mesh: Mesh, axis: int | None) -> NamedSharding:
        found = self._cuts.get((mesh, axis))
        if found is None:
            spec = PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, self._name)
            found = self._cuts[mesh, axis] = NamedSharding(mesh, spec)
        return found

    # --- as it is traced --------------------------------------------------------------------------------------------

    def _mapped(self, *args: object, **kwargs: object) -> PyTree:
        dynamic, _ = self._split(args)
        leaves, structure = tree.flatten((dynamic, kwargs))
        values = [as_operand(leaf) for leaf in leaves]
        axes, size = self._axes(dynamic, kwargs, values, self._axis_size)
        out_tree: list[PyTreeDef] = []

        def of_one(*examples: Value) -> list[Value]:
            call_args, call_kwargs = structure.unflatten(examples)
            with inside_pmap():
                out = self._fun(*self._merged(call_args, args), **call_kwargs)
            outs, treedef = returned_leaves(out, "pmap: the function")
            out_tree[:] = [treedef]
            return outs

        outs = self._vectorised(of_one, values, axes, size, out_tree) if is_inside() else None
        if outs is None:
            outs = self._sharded(of_one, values, axes, size, out_tree)
        return out_tree[0].unflatten([as_array(out) for out in outs])

    def _sharded(
        self,
        of_one: Callable[..., Sequence[Array | Literal]],
        values: Sequence[Value],
        axes: Sequence[int | None],
        size: int,
        out_tree: list[PyTreeDef],
    ) -> Sequence[Value]:
        mesh = self._mesh(size)
        if mesh is None:
            return self._constant(of_one, values, axes, size, out_tree)
        wanted: list[int | None] = []
        of_the_first: set[int] = set()  # results without an axis that may differ: the first example's

        def of_parts(*parts: Value) -> list[Value]:
            outs = of_one(*[_without(part, axis) for part, axis in zip(parts, axes, strict=True)])
            outs = [
                pbroadcast_p.bind(out, axis_name=(self._name,), source=0) if position in of_the_first else out
                for position, out in enumerate(outs)
            ]
            wanted[:] = axes_of_results(self._out_axes, out_tree[0], [as_operand(out).aval.shape for out in outs])
            return [_with(as_operand(out), axis) for out, axis in zip(outs, wanted, strict=True)]

        cuts = [self._cut(mesh, axis) for axis in axes]
        parts = [part_aval(value.aval, cut) for value, cut in zip(values, cuts, strict=True)]

        def traced() -> MappedProgram:
            return MappedProgram(of_parts, parts, "pmap", mesh, (self._name,), cuts)

        program = traced()
        check_arrays(program.outer, "that the function closes over")
        results = [self._cut(mesh, axis) for axis in wanted]
        of_the_first |= {position for position, _ in program.undeclared(results)}
        return (traced() if of_the_first else program).bind(values, results)

    def _constant(
        self,
        of_one: Callable[..., Sequence[Value]],
        values: Sequence[Array | Literal],
        axes: Sequence[int | None],
        size: int,
        out_tree: list[PyTreeDef],
    ) -> Sequence[Value]:
        """Results for more examples than devices, of a function that gives the same whatever and wherever they are.

        Raises ValueError for any other function, but where no device is asked to run it.
        """
        if runs_nowhere():
            return self._vectorised(of_one, values, axes, size, out_tree)
        closed, consts = trace_of_one(of_one, values, axes, (self._name, size), "pmap")
        thinned, used = dce_jaxpr(closed.jaxpr, [True] * len(closed.out_avals))
        if any(used[len(consts) :]) or thinned.effects:
            raise too_few(size, self._devices, self._backend)
        outs = eval_jaxpr(thinned, closed.consts, *[const for const, is_used in zip(consts, used) if is_used])
        return self._together([as_operand(out) for out in outs], [None] * len(outs), size, out_tree)

    def _vectorised(
        self,
        of_one: Callable[..., Sequence[Value]],
        values: Sequence[Value],
        axes: Sequence[int | None],
        size: int,
        out_tree: list[PyTreeDef],
    ) -> Sequence[Value]:
        outs, dims = batch_flat(of_one, values, axes, AxisInfo(self._name, size))
        return self._together(outs, dims, size, out_tree)

    def _together(
        self, outs: Sequence[Value], dims: Sequence[int | None], size: int, out_tree: list[PyTreeDef]
    ) -> list[Value]:
        """Results of which a dimension goes over the examples, or none, with the dimension where it is asked for."""
        shapes = [
            out.aval.shape if dim is None else (*out.aval.shape[:dim], *out.aval.shape[dim + 1 :])
            for out, dim in zip(outs, dims, strict=True)
        ]
        wanted = axes_of_results(self._out_axes, out_tree[0], shapes)
        placed: list[Value] = []
        for out, dim, axis in zip(outs, dims, wanted, strict=True):
            if axis is None and dim is not None:
                placed.append(index_in_dim(out, 0, dim, keepdims=False))
            else:
                placed.append(out if axis is None else place_axis(out, dim, axis, size))
        return placed


def _placed(leaf: Array, sharding: NamedSharding) -> Array:
    """A concrete argument on the devices."""
    user_sharding = getattr(leaf, "user_sharding", None) if isinstance(leaf, Array) else None
    is_so_sharded = user_sharding is not None and user_sharding.is_equivalent_to(sharding, leaf.ndim)
    if is_so_sharded:
        return leaf
    if isinstance(leaf, Array):
        transfers.copied(transfers.DEVICE_TO_DEVICE, leaf.aval, sharding)
    return sharding.constrain(leaf)


def _without(part: Value, axis: int | None) -> Value:
    """A part of one example, as the example."""
    if axis is None:
        return part
    shape = part.aval.shape
    return reshape_p.bind(part, new_sizes=(*shape[:axis], *shape[axis + 1 :]), dimensions=None)


def _with(out: Value, axis: int | None) -> Value:
    """The opposite."""
    if axis is None:
        return out
    shape = out.aval.shape
    return reshape_p.bind(out, new_sizes=(*shape[:axis], 1, *shape[axis:]), dimensions=None)
