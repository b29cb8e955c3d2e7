"""`xmap`: a function of single examples made into one of arrays with named axes, sharded over meshes and loops."""

from __future__ import annotations

import contextlib
import operator
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from tangrad import tree
from tangrad._sharding.mesh import AxisType
from tangrad._sharding.xmap.axes import (
    REPLICATED,
    Assigned,
    Positions,
    SpecTree,
    check_divides,
    check_same_mesh,
    chosen_lowering,
    read_resources,
    resolve,
    tracing_for,
)
from tangrad._sharding.xmap.primitives import check_looped, in_scope, partition_of, without_axes, xmap_p
from tangrad._sharding.xmap.variation import UnnamedAxisError, check_clashes, named, picture, varying_results
from tangrad.core import (
    EVAL_TRACE,
    Array,
    ClosedJaxpr,
    ShapedArray,
    Tracer,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    closed_over_as_arguments,
    copy_identity,
    returned_leaves,
    thread,
    trace_to_jaxpr,
)
from tangrad.core.caches import free_after_fork, register_cache
from tangrad.core.settings import cache_context
from tangrad.extend.jit import jit
from tangrad.extend.sharding import NamedSharding, PartitionSpec, current_mesh
from tangrad.tree_util import PyTreeDef, keystr

if TYPE_CHECKING:
    from typing import NoReturn

    from tangrad._sharding.mesh import Mesh
    from tangrad._sharding.xmap.variation import Sizes
    from tangrad.typing import Params, PyTree, Value

R = TypeVar("R")
P = ParamSpec("P")

PROGRAM_LIMIT = 64  # programs kept for one mapped function


def xmap(
    fun: Callable[P, R],
    in_axes: object,
    out_axes: object,
    *,
    axis_sizes: Mapping[Any, int] | None = None,
    axis_resources: Mapping[Any, object] | None = None,
    donate_argnums: int | Sequence[int] = (),
    backend: str | None = None,
) -> MappedFunction[P, R]:
    """Map `fun`, a function of single examples, over named axes of its arguments.

    Args:
        fun: a function of trees of arrays. Within it the axes are there by name alone, for `lax.psum(x, "i")`,
            `numpy.sum(x, axis="i")` and the like.
        in_axes: for each argument which of its dimensions are which axis: a dictionary `{position: name}`, negative
            positions counting from the end; a list `[name, None, ...]` with an entry for each dimension, which asserts
            their number unless it ends with an ellipsis; a tuple of these, or a tree that is a prefix of the arguments.
        out_axes: the same for the results. Along an axis that a result does not vary along it is repeated.
        axis_sizes: sizes of axes, which have to agree with those of the arguments.
        axis_resources: axis -> what it is sharded over: the name of an axis of the mesh in use, a `SerialLoop`, the
            name of a `serial_loop` in scope, or a tuple of these, the loop last. Results do not depend on it.
        donate_argnums: positions of arguments whose buffers may be overwritten.
        backend: the name of the backend to run on.

    Returns:
        a function of positional arguments, compiled once for each signature, with `lower(...)` and `picture(...)`.

    Raises:
        TypeError, ValueError: for specs that are none, names that are unknown or repeated, and, when it is called, for
            ranks and sizes that do not fit, sizes that resources do not divide, results that vary along axes which
            out_axes leaves out, resources that are not in scope, and arrays that are sharded over the mesh in another
            way.
        ResourceClashError: for axes that need the same mesh axis, or loop, and meet in one value.
        NotImplementedError: for collectives along axes in serial loops.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad import lax
    >>> centred = tangrad.xmap(lambda x: x - lax.pmean(x, "i"), in_axes={0: "i"}, out_axes={0: "i"})
    >>> centred(np.array([1.0, 2.0, 6.0]))
    Array([-2., -1.,  3.], dtype=float32)
    """
    return MappedFunction(fun, in_axes, out_axes, axis_sizes, axis_resources, donate_argnums, backend)


class _Program:
    """What `fun` is for arguments of certain types: parameters of an equation, what is closed over, its structure."""

    __slots__ = ("consts", "out_tree", "params")

    def __init__(self, params: Params, consts: Sequence[Value], out_tree: PyTreeDef) -> None:
        self.params = params
        self.consts = consts
        self.out_tree = out_tree


class _Kept:
    """What calls of one function, mapped in one way, keep: its programs, and the jitted function that runs them.

    `xmap(f, ...)(x)` makes a mapped function for each call: they have it in common, for as long as `f` is there.
    """

    def __init__(self, function: Callable[[], Any], options: tuple[Any, ...], name: str) -> None:
        self.programs: dict[Hashable, _Program] = {}
        bound = _positional(lambda *args: MappedFunction(function(), *options)._bind(*args), name)
        self.jitted = jit(bound, donate_argnums=options[-2], backend=options[-1])

    def clear(self) -> None:
        self.programs.clear()
        self.jitted.clear_cache()


_kept: weakref.WeakKeyDictionary[Callable[..., object], dict[Hashable, _Kept]] = weakref.WeakKeyDictionary()
_lock = free_after_fork(threading.RLock())


@register_cache
def _clear() -> None:
    for ways in list(_kept.values()):
        for kept in list(ways.values()):
            kept.clear()


def _kept_of(fun: Callable[..., object], key: object, options: tuple[object, ...], name: str) -> _Kept:
    if type(fun) is FunctionType:
        reference = weakref.ref(fun)
        with contextlib.suppress(TypeError), _lock:  # a key that cannot be hashed
            ways = _kept.setdefault(fun, {})
            if key not in ways:
                ways[key] = _Kept(reference, options, name)
            return ways[key]
    return _Kept(lambda: fun, options, name)


class MappedFunction(Generic[P, R]):
    """A function of arrays with named axes; see `xmap`."""

    def __init__(
        self,
        fun: Callable[P, R],
        in_axes: object,
        out_axes: object,
        axis_sizes: Mapping[Any, int] | None = None,
        axis_resources: Mapping[Any, object] | None = None,
        donate_argnums: int | Sequence[int] = (),
        backend: str | None = None,
    ) -> None:
        if not callable(fun):
            raise TypeError(f"xmap expects a function, got {fun!r} of type {type(fun).__name__}")
        self._fun = fun
        self._name = getattr(fun, "__name__", type(fun).__name__)
        self._in, self._out = SpecTree(in_axes, "in_axes"), SpecTree(out_axes, "out_axes")
        self._given_sizes = _checked_sizes(axis_sizes)
        known = tuple(dict.fromkeys([*self._given_sizes, *self._in.names]))
        unknown = [name for name in self._out.names if name not in known]
        if unknown:
            raise ValueError(
                f"xmap: out_axes names axes that are neither in in_axes nor in axis_sizes: "
                f"{', '.join(map(repr, unknown))}; the axes are {', '.join(map(repr, known)) or 'none'}"
            )
        self._resources = read_resources({} if axis_resources is None else axis_resources, known)
        donated = _checked_positions(donate_argnums)
        sizes, resources = tuple(self._given_sizes.items()), tuple(self._resources.items())
        key = (self._in.key, self._out.key, sizes, resources, donated, backend)
        self._kept = _kept_of(fun, key, (in_axes, out_axes, axis_sizes, axis_resources, donated, backend), self._name)
        copy_identity(self, fun)
        self._call = api_boundary(self._apply)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._call(*args, **kwargs)

    def _apply(self, *args: object) -> PyTree:
        leaves = tree.leaves(args)
        if thread.trace is EVAL_TRACE and not any([isinstance(leaf, Tracer) for leaf in leaves]):
            self._check_shardings(args)
            return self._as_out_axes_say(self._kept.jitted(*args), leaves, args)
        return self._bind(*args)

    def _as_out_axes_say(self, outs: object, leaves: Sequence[object], args: tuple[object, ...]) -> PyTree:
        """Results on a mesh, sharded as their axes say: a compiler that was free may have chosen otherwise."""
        if not any(self._resources.values()) or current_mesh().empty:
            return outs
        avals = tree.structure(args).unflatten([as_operand(leaf).aval.plain for leaf in leaves])
        params = self._program(*avals).params
        if params["sharding"] is None or params["lowering"] == REPLICATED:
            return outs
        arrays, structure = tree.flatten(outs)
        found, assigned, mesh = [], dict(params["resources"]), params["sharding"].mesh
        for array, positions in zip(arrays, params["out_axes"], strict=True):
            ndim = len(array.shape)
            wanted = NamedSharding(mesh, partition_of(positions, ndim, assigned))
            found_sharding = getattr(array, "user_sharding", None)
            same = found_sharding is not None and found_sharding.is_equivalent_to(wanted, ndim)
            found.append(array if same else wanted.constrain(array))
        return structure.unflatten(found)

    def lower(self, *args: object) -> Any:
        """The program for these arguments (arrays or `ShapeDtypeStruct`s), not yet compiled, as that of `jit`."""
        return self._kept.jitted.lower(*args)

    def picture(self, *args: object) -> str:
        """Where each axis of each value lives, as a table: along a mesh axis, in a loop, or as a dimension of arrays.

        Args: arrays or `ShapeDtypeStruct`s.

        >>> import tangrad
        >>> import tangrad.numpy as np
        >>> scaled = tangrad.xmap(lambda x, y: x * y, in_axes=({0: "i"}, {}), out_axes={0: "i"})
        >>> print(scaled.picture(np.ones(4), 2.0))
        value       of one example  i (4)
        argument 0  f32[]           vector
        argument 1  f32[]           -
        mul         f32[]           vector
        result 0    f32[]           vector
        """
        params = self._program(*tree.map(lambda aval: aval.plain, self._kept.jitted.trace(*args).in_avals[0])).params
        return picture(
            params["jaxpr"], params["in_axes"], params["out_axes"], params["sizes"], dict(params["resources"])
        )

    def clear_cache(self) -> None:
        """Forget the programs of this function."""
        self._kept.clear()

    def __repr__(self) -> str:
        return f"<xmapped {self._name}>"

    # --- a call ------------------------------------------------------------------------------------------------------

    def _bind(self, *args: object) -> PyTree:
        leaves, structure = array_leaves(args, f"xmap: of the arguments of {self._name}, the leaf at ")
        # How values are sharded is for `axis_resources` to say: types that record it are put aside.
        operands = [as_operand(leaf) for leaf in leaves]
        operands = [one if one.aval.infer_types is None else one.aval.as_plain(one) for one in operands]
        program = self._program(*structure.unflatten([operand.aval for operand in operands]))
        outs = xmap_p.bind(*program.consts, *operands, **program.params)
        return program.out_tree.unflatten([as_array(out) for out in outs])

    def _program(self, *avals: Sequence[ShapedArray]) -> _Program:
        """The program for arguments of these types, kept unless it closed over values of a function that is traced."""
        leaves, structure = tree.flatten(avals)
        key = (structure, tuple(leaves), cache_context(), thread.axis_environment)
        programs = self._kept.programs
        found = programs.get(key)
        if found is None:
            found = self._trace(avals)
            if not any([isinstance(const, Tracer) for const in found.consts]):
                while len(programs) >= PROGRAM_LIMIT:
                    programs.pop(next(iter(programs)), None)
                programs[key] = found
        return found

    def _trace(self, args: tuple[object, ...]) -> _Program:
        avals, structure = tree.flatten(args)
        in_axes = self._positions(args)
        sizes = self._sizes(args, in_axes)
        self._check_shadows(sizes)
        assigned = resolve(self._resources)
        mesh = current_mesh()
        mesh = mesh.update_axis_types(dict.fromkeys(mesh.axis_names, AxisType.Auto))
        for name, one in assigned.items():
            check_divides(name, sizes[name], one, mesh.shape)
        check_same_mesh(mesh)
        inner = [aval.update(shape=without_axes(aval.shape, axes)) for aval, axes in zip(avals, in_axes, strict=True)]
        jaxpr, consts, out_tree = self._traced(inner, structure, sizes, mesh)
        pairs = tuple(sizes.items())
        in_axes = [*[()] * len(consts), *in_axes]
        out_axes = self._result_axes(jaxpr, out_tree, in_axes, pairs)
        looped = [name for name, one in assigned.items() if one.loop > 1]
        check_looped(jaxpr.jaxpr, looped)
        check_clashes(jaxpr, in_axes, out_axes, pairs, assigned, self._name)
        on_mesh = any([one.mesh_axes for one in assigned.values()])
        params = {
            "jaxpr": jaxpr,
            "name": self._name,
            "in_axes": tuple(in_axes),
            "out_axes": tuple(out_axes),
            "sums": ((),) * len(out_axes),
            "sizes": pairs,
            "resources": tuple([(name, one) for name, one in assigned.items() if one != Assigned()]),
            "sharding": NamedSharding(mesh, PartitionSpec()) if on_mesh else None,
            "lowering": chosen_lowering(),
        }
        return _Program(params, consts, out_tree)

    def _traced(
        self, avals: Sequence[ShapedArray], structure: PyTreeDef, sizes: dict[Hashable, int], mesh: Mesh
    ) -> tuple[ClosedJaxpr, Sequence[Value], PyTreeDef]:
        """The program of one example, the values of outer traces that it closed over, the structure of its result."""
        out_tree: list[PyTreeDef] = []

        def flat(*tracers: Value) -> list[Value]:
            fun: Callable[..., object] = self._fun
            outs, found = returned_leaves(fun(*structure.unflatten(tracers)), f"xmap: {self._name}")
            out_tree.append(found)
            return outs

        with tracing_for(mesh), in_scope(tuple(sizes.items())):
            jaxpr, consts = trace_to_jaxpr(flat, avals, self._name)
        return ClosedJaxpr(closed_over_as_arguments(jaxpr)), consts, out_tree[0]

    # --- what is checked ----------------------------------------------------------------------------------------------

    def _positions(self, args: tuple[object, ...]) -> list[Positions]:
        specs = self._in.of_leaves(tree.structure(args))
        return [
            spec.positions(len(aval.shape), f"xmap: {_path(args, number)} of {self._name}")
            for number, (spec, aval) in enumerate(zip(specs, tree.leaves(args), strict=True))
        ]

    def _sizes(self, args: tuple[object, ...], in_axes: Sequence[Positions]) -> dict[Hashable, int]:
        """The size of each axis. Raises ValueError where two arguments, or one and axis_sizes, do not agree."""
        sizes, origins = dict(self._given_sizes), dict.fromkeys(self._given_sizes, "in axis_sizes it is")
        for number, (aval, positions) in enumerate(zip(tree.leaves(args), in_axes, strict=True)):
            for name, position in positions:
                size = aval.shape[position]
                origin = f"dimension {position} of {_path(args, number)}, of shape {aval.shape}, is"
                if sizes.setdefault(name, size) != size:
                    raise ValueError(
                        f"xmap: the size of axis {name!r} differs for {self._name}: {origins[name]} {sizes[name]}, and "
                        f"{origin} {size}"
                    )
                origins.setdefault(name, origin)
        missing = [name for name in self._in.names if name not in sizes]
        if missing:
            raise ValueError(f"xmap: no argument of {self._name} has axis {missing[0]!r}; state its size in axis_sizes")
        return sizes

    def _check_shadows(self, sizes: Mapping[Hashable, int]) -> None:
        for name, _ in thread.axis_environment:
            if name in sizes:
                raise ValueError(
                    f"xmap: axis {name!r} of {self._name} would hide the axis of that name that is mapped around it; "
                    f"give one of them another name"
                )

    def _result_axes(
        self, jaxpr: ClosedJaxpr, out_tree: PyTreeDef, in_axes: Sequence[Positions], sizes: Sizes
    ) -> list[Positions]:
        specs = self._out.of_leaves(out_tree)
        varying = varying_results(jaxpr, named(in_axes), sizes)
        found = []
        for number, (spec, aval, axes) in enumerate(zip(specs, jaxpr.out_avals, varying, strict=True)):
            undeclared = [name for name, _ in sizes if name in axes and name not in spec.names]
            if undeclared:
                raise UnnamedAxisError(
                    f"xmap: result {number} of {self._name} varies along axis {undeclared[0]!r}, and its spec {spec!r} "
                    f"in out_axes does not name that axis; name it, or reduce the result along it: "
                    f"lax.psum(x, {undeclared[0]!r})"
                )
            ndim = len(aval.shape) + len(spec.entries)
            found.append(spec.positions(ndim, f"xmap: result {number} of {self._name}"))
        return found

    def _check_shardings(self, args: tuple[object, ...]) -> None:
        """Raise ValueError for an array that is cut over several devices in another way than its axes are to be."""
        arrays = [leaf for leaf in tree.leaves(args) if isinstance(leaf, Array)]
        shardings = [getattr(array, "user_sharding", None) for array in arrays]
        if all([one is None or one.is_fully_replicated for one in shardings]):
            return
        leaves, structure = tree.flatten(args)
        avals = structure.unflatten([as_operand(leaf).aval for leaf in leaves])
        assigned, mesh = resolve(self._resources), current_mesh()
        for number, (leaf, positions) in enumerate(zip(leaves, self._positions(avals), strict=True)):
            given = getattr(leaf, "user_sharding", None)
            if given is None or given.is_fully_replicated:
                continue
            ndim = len(leaf.shape)
            if any([assigned.get(name, Assigned()).mesh_axes for name, _ in positions]):
                wanted = NamedSharding(mesh, partition_of(positions, ndim, assigned))
                if not given.is_equivalent_to(wanted, ndim):
                    raise ValueError(
                        f"xmap: {_path(args, number)} of {self._name} is sharded over devices already, by {given}, and "
                        f"its axes are to be sharded by {wanted}; move it first: tangrad.device_put(x, sharding)"
                    )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} belongs to this process, so it cannot be pickled; pickle the function, and xmap it there"
        )


def _path(args: object, number: int) -> str:
    return "args" + keystr(tree.leaves_with_path(args)[number][0])


def _positional(function: Callable[..., object], name: str) -> Callable[..., PyTree]:
    def call(*args: object) -> PyTree:
        return function(*args)

    call.__name__ = call.__qualname__ = name
    return call


def _checked_sizes(axis_sizes: object) -> dict[Hashable, int]:
    if axis_sizes is None:
        return {}
    if not isinstance(axis_sizes, Mapping):
        raise TypeError(f"xmap: axis_sizes must be a dictionary from axes to sizes, got {axis_sizes!r}")
    for name, size in axis_sizes.items():
        if isinstance(size, bool) or not hasattr(type(size), "__index__") or size < 0:
            raise TypeError(f"xmap: the size of axis {name!r} must be an integer, 0 or more, got {size!r}")
    return {name: operator.index(size) for name, size in axis_sizes.items()}


def _checked_positions(donate_argnums: object) -> tuple[int, ...]:
    given = donate_argnums if isinstance(donate_argnums, (tuple, list)) else (donate_argnums,)
    try:
        return tuple([operator.index(position) for position in given])
    except TypeError:
        raise TypeError(f"xmap: donate_argnums must be integers, got {donate_argnums!r}") from None
