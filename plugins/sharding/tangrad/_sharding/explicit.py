"""Values resharded: by constraints, and along explicit mesh axes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar, overload

from tangrad import tree
from tangrad._sharding.context import current_mesh
from tangrad._sharding.mesh import AbstractMesh, AxisType, Mesh, mesh_in_use
from tangrad._sharding.named import UNCONSTRAINED, NamedSharding, axes_of
from tangrad._sharding.primitives import auto_axes_p
from tangrad._sharding.propagation import ShardingTypeError
from tangrad.core import Array, Sharding, Tracer, as_operand, copy_identity, get_aval, is_array_value
from tangrad.core.backends import as_sharding
from tangrad.tree_util import flatten_axes, keystr
from tangrad.typing import ArrayLike, PyTree, Value

# --- `with_sharding_constraint`, and how trees of shardings are read ---

# --- Explicit mesh axes: values resharded along them, and functions within which another mesh axis type holds ---

T = TypeVar("T")


@overload
def with_sharding_constraint(x: ArrayLike, shardings: object) -> Array: ...
@overload
def with_sharding_constraint(x: T, shardings: object) -> T: ...
def with_sharding_constraint(x: PyTree, shardings: object) -> PyTree:
    """The arrays of a tree, constrained to shardings: a hint to the compiler that binds it.

    Outside of compiled functions the arrays are moved.

    Args:
        x: a tree of arrays.
        shardings: a sharding, a partition spec (it means axes of the mesh in use), None where it is left open, or a
            tree of these that is a prefix of `x`. Dimensions of a spec that are `PartitionSpec.UNCONSTRAINED` are left
            to the compiler; within compiled functions those that do not divide are whole.

    Returns:
        the tree with the same values.

    Raises:
        ValueError: for an array that cannot be cut so, naming it, the dimension and the axes of the mesh; outside of
            compiled functions also for one that does not divide.
        ShardingTypeError: for an array whose type has another sharding: `tangrad.sharding.reshard` moves
            it.
        RuntimeError: for a partition spec where no mesh is in use. TypeError: for what is neither.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.sharding import NamedSharding, PartitionSpec
    >>> sharding = NamedSharding(tangrad.make_mesh((1,), ("data",)), PartitionSpec("data"))
    >>> tangrad.jit(lambda x: tangrad.lax.with_sharding_constraint(2 * x, sharding))(np.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    return placed_by("with_sharding_constraint", x, shardings, anew=False)


def placed_by(name: str, x: object, shardings: object, anew: bool) -> PyTree:
    """The arrays of a tree, constrained to shardings.

    Args:
        name: of the function whose argument `x` is, for messages.
        anew: whether arrays may be resharded along explicit axes, which are part of their types.
    """
    leaves, structure = tree.flatten(x)
    targets = flatten_axes(f"{name} shardings", structure, shardings)
    found = []
    for position, (leaf, target) in enumerate(zip(leaves, targets)):
        if target is not None:
            where = f"{name}: x{keystr(tree.leaves_with_path(x)[position][0])}"
            named = isinstance(target, NamedSharding)  # by the shape of a mesh it may be that of the array
            sharding = target.to_sharding(name, leaf) if named else as_sharding(target, name)
            leaf = _placed_by(leaf, sharding, where, anew)
        found.append(leaf)
    return structure.unflatten(found)


def _placed_by(leaf: object, sharding: Sharding, where: str, anew: bool) -> Value:
    if not is_array_value(leaf):
        raise TypeError(f"{where} must be an array, got {leaf!r} of type {type(leaf).__name__}")
    if isinstance(leaf, Tracer) and isinstance(sharding, NamedSharding) and not anew:  # a hint, which need not divide
        sharding = sharding.where_it_divides(leaf.aval.shape)
    sharding.check_shape(getattr(leaf, "shape", ()), where)
    aval = get_aval(leaf)
    if not anew and aval.infer_types is not None:
        sharding = _beside_type(aval, sharding)
    if not anew and aval.infer_types is not None and sharding.type_of(aval) is not aval:
        raise ShardingTypeError(
            f"{where} is {aval.str_short()}, whose sharding is part of its type, and cannot be constrained to "
            f"{sharding}; to move it: tangrad.sharding.reshard(x, {getattr(sharding, 'spec', sharding)})"
        )
    return (sharding.of_rank(aval.ndim) if anew else sharding).constrain(leaf)


def _beside_type(aval: Any, sharding: Any) -> Sharding:
    """A sharding along Auto axes alone, with those beside them that a type has along the Explicit ones of its mesh."""
    mesh, stated = aval.placed.mesh, getattr(sharding, "spec", None)
    if stated is None or sharding.mesh != mesh or sharding.type_of(aval) is not aval.plain:
        return sharding
    if not any([axes_of(entry) for entry in stated]):
        return sharding
    entries = [*stated, *[None] * (aval.ndim - len(stated))]
    pairs = zip(entries, aval.axes, strict=True)
    merged = [entry if entry is UNCONSTRAINED and not own else (*own, *axes_of(entry)) for entry, own in pairs]
    return sharding.update(spec=aval.placed.spec.update(merged))


P = ParamSpec("P")
R = TypeVar("R")


@overload
def reshard(xs: ArrayLike, out_shardings: object) -> Array: ...
@overload
def reshard(xs: T, out_shardings: object) -> T: ...
def reshard(xs: PyTree, out_shardings: object) -> PyTree:
    """The arrays of a tree, moved to the given shardings; along explicit axes of meshes these are part of their types.

    Args:
        xs: a tree of arrays.
        out_shardings: a sharding, a partition spec (it means axes of the mesh in use), or a tree of these that is a
            prefix of `xs`.

    Returns:
        the tree with the same values.

    Raises:
        ValueError: for None among the shardings, and for an array that cannot be cut so.
        RuntimeError: for a partition spec where no mesh is in use. TypeError: for what is neither.

    >>> import tangrad
    >>> from tangrad.sharding import AxisType, PartitionSpec as P, reshard
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("x",), AxisType.Explicit)):
    ...     tangrad.typeof(reshard(tangrad.numpy.ones((4, 2)), P("x")))
    ShapedArray(float32[4@x,2])
    """
    if None in flatten_axes("reshard out_shardings", tree.structure(xs), out_shardings):
        raise ValueError(f"reshard needs a sharding for each array, got None among {out_shardings!r}")
    return placed_by("reshard", xs, out_shardings, anew=True)


@overload
def auto_axes(f: Callable[P, R], /, *, axes: object = None, out_sharding: object = None) -> Callable[P, R]: ...
@overload
def auto_axes(
    f: None = None, /, *, axes: object = None, out_sharding: object = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def auto_axes(
    f: Callable[..., object] | None = None, /, *, axes: object = None, out_sharding: object = None
) -> Callable[..., PyTree]:
    """A function within which axes of the mesh are of type `Auto`: types do not record them, and the compiler decides.

    Args:
        f: a function of arrays and trees of arrays; without it a decorator is returned.
        axes: a name of an axis, or several in a tuple; None: all axes of the mesh.
        out_sharding: how its result is sharded: a sharding or spec, or a tree of these that is a prefix of the result.
            It may be given at the call, by keyword.

    Returns:
        a function of the same arguments.

    Raises TypeError at the call where no `out_sharding` is given, ValueError for an axis that there is none of.

    >>> import tangrad
    >>> from tangrad.sharding import AxisType, PartitionSpec as P, auto_axes
    >>> gram = auto_axes(lambda a: a.T @ a, out_sharding=P(None, "x"))
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("x",), AxisType.Explicit)):
    ...     tangrad.typeof(gram(tangrad.numpy.ones((4, 2), device=P("x"))))
    ShapedArray(float32[2,2@x])
    """
    if f is None:
        return lambda g: auto_axes(g, axes=axes, out_sharding=out_sharding)

    def called(*args: object, **kwargs: object) -> object:
        result = _stated(kwargs, "out_sharding", out_sharding, "auto_axes")
        mesh = _mesh_of(result, args)
        if mesh.empty:
            return f(*args, **kwargs)
        names = _named(axes, mesh, "auto_axes")
        with mesh_in_use(mesh.update_axis_types(dict.fromkeys(names, AxisType.Auto))):
            out = f(*[tree.map(lambda leaf: _forget(leaf, names), arg) for arg in args], **kwargs)
        with mesh_in_use(mesh):
            return reshard(out, result)

    return copy_identity(called, f)


@overload
def explicit_axes(f: Callable[P, R], /, *, axes: object = None, in_sharding: object = None) -> Callable[P, R]: ...
@overload
def explicit_axes(
    f: None = None, /, *, axes: object = None, in_sharding: object = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def explicit_axes(
    f: Callable[..., object] | None = None, /, *, axes: object = None, in_sharding: object = None
) -> Callable[..., PyTree]:
    """A function within which axes of the mesh in use are of type `Explicit`: types record shardings along them.

    Args:
        f: a function of arrays and trees of arrays; without it a decorator is returned.
        axes: a name of an axis, or several in a tuple; None: all axes of the mesh.
        in_sharding: how its positional arguments are sharded: a sharding or spec, or a tree of these that is a prefix
            of the tuple of them. It may be given at the call, by keyword.

    Returns:
        a function of the same arguments, the types of whose results do not have these axes.

    Raises:
        ValueError: at the call, where no mesh is in use, and for an axis that it does not have.
        TypeError: at the call, where no `in_sharding` is given.

    >>> import tangrad
    >>> from tangrad.sharding import PartitionSpec as P, explicit_axes
    >>> double = explicit_axes(lambda a: print(tangrad.typeof(2 * a)) or 2 * a, in_sharding=P("x"))
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("x",))):
    ...     tangrad.typeof(double(tangrad.numpy.ones(4)))
    float32[4@x]
    ShapedArray(float32[4])
    """
    if f is None:
        return lambda g: explicit_axes(g, axes=axes, in_sharding=in_sharding)

    def called(*args: object, **kwargs: object) -> object:
        stated = _stated(kwargs, "in_sharding", in_sharding, "explicit_axes")
        mesh = current_mesh()
        if mesh.empty:
            raise ValueError(
                "explicit_axes is for the mesh in use, and there is none: with tangrad.set_mesh(mesh): ..."
            )
        names = _named(axes, mesh, "explicit_axes")
        with mesh_in_use(mesh.update_axis_types(dict.fromkeys(names, AxisType.Explicit))):
            out = f(*reshard(args, stated), **kwargs)
        return tree.map(lambda leaf: _forget(leaf, names), out)

    return copy_identity(called, f)


def _stated(kwargs: dict[str, object], name: str, value: object, function: str) -> object:
    found = value if value is not None else kwargs.pop(name, None)
    if found is None:
        raise TypeError(f"{function} needs {name}, where it is made or at the call: {name}=P(...)")
    return found


def _mesh_of(shardings: object, args: object) -> Mesh:
    """The mesh in use; where there is none, that of the shardings, or of the arguments' types."""
    mesh = current_mesh()
    if not mesh.empty:
        return mesh
    found = [getattr(leaf, "mesh", None) for leaf in tree.leaves(shardings)]
    types: list[Any] = [get_aval(leaf) for leaf in tree.leaves(args) if is_array_value(leaf)]
    found += [aval.placed.mesh for aval in types if aval.infer_types is not None]
    return next((one for one in found if isinstance(one, Mesh)), mesh)


def _named(axes: object, mesh: Mesh | AbstractMesh, function: str) -> tuple[Hashable, ...]:
    if axes is None:
        return mesh.axis_names
    names = tuple(axes) if isinstance(axes, (tuple, list, set, frozenset)) else (axes,)
    for name in names:
        if name not in mesh.axis_names:
            raise ValueError(f"{function}: there is no axis {name!r} in {mesh}")
    return names


def _forget(leaf: object, names: tuple[object, ...]) -> object:
    if not is_array_value(leaf) or get_aval(leaf).infer_types is None:
        return leaf
    aval: Any = get_aval(leaf)
    how = aval.placed.combining
    if how.unreduced.intersection(names):
        leaf = aval.placed.with_axes(aval.axes, how._replace(unreduced=frozenset(), kind=None)).constrain(leaf)
    return auto_axes_p.bind(as_operand(leaf), axes=names) if get_aval(leaf).infer_types is not None else leaf
