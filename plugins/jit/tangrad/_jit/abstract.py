"""Tracing without computing: `make_jaxpr`, `eval_shape`, `ShapeDtypeStruct`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from tangrad import tree
from tangrad._jit.abstracted import abstracted
from tangrad._jit.call import Call, Options, trace_call
from tangrad._jit.signature import check_positions, positions, signature_of
from tangrad.core import (
    AbstractValue,
    Array,
    ClosedJaxpr,
    ShapedArray,
    api_boundary,
    class_boundary,
    copy_identity,
    dtypes,
    get_aval,
    holding,
    thread,
)
from tangrad.typing import DTypeLike, PyTree

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef


@class_boundary
class ShapeDtypeStruct:
    """A shape and a dtype: stands for an array wherever only its type counts.

    Args:
        shape: a tuple of integers.
        dtype: a dtype, or its name.
        named_shape: sizes of named axes, or None.
        sharding: where such an array would be, or None.
        weak_type: whether it would be weakly typed.

    >>> import tangrad
    >>> tangrad.ShapeDtypeStruct((2, 3), "float32").size
    6
    """

    __slots__ = ("dtype", "named_shape", "shape", "sharding", "weak_type")
    shape: tuple[Any, ...]
    dtype: Any
    named_shape: dict[Any, int]
    sharding: Any
    weak_type: bool

    def __init__(
        self, shape: Any, dtype: DTypeLike, named_shape: Any = None, sharding: Any = None, weak_type: bool = False
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must not be None")
        store = object.__setattr__
        store(self, "shape", ShapedArray(shape, bool).shape)
        store(self, "dtype", dtypes.as_dtype(dtype))
        store(self, "named_shape", dict(named_shape or {}))
        store(self, "sharding", sharding)
        store(self, "weak_type", bool(weak_type))

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """The struct that stands for an array: its shape, dtype and weak type, and the sharding that it was put to.

        Args:
            x: an array, a number, or what has a shape and a dtype.

        Raises TypeError for anything else.

        >>> import tangrad
        >>> tangrad.ShapeDtypeStruct.like(tangrad.numpy.ones((2, 3)))
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        if isinstance(x, ShapeDtypeStruct):
            return x
        aval = get_aval(x)
        return cls(
            aval.shape,
            aval.dtype,
            dict(aval.named_shape),
            x.sharding if getattr(x, "committed", False) else None,
            aval.weak_type,
        )

    def __setattr__(self, name: str, value: object) -> None:
        # Structs are hashed by what they hold: they are keys of caches and sit in treedefs.
        raise AttributeError(f"ShapeDtypeStruct cannot be changed; make another one: struct.update({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"ShapeDtypeStruct cannot be changed: its attribute {name} stays")

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapeDtypeStruct, (self.shape, self.dtype, self.named_shape, self.sharding, self.weak_type)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        total: Any = 1
        for dimension in self.shape:
            total = total * dimension
        return total

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a shape without dimensions")
        return operator.index(self.shape[0])

    def update(self, **changes: object) -> ShapeDtypeStruct:
        """The same with some of its arguments changed."""
        return ShapeDtypeStruct(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, tuple(sorted(self.named_shape.items(), key=str)), self.sharding, self.weak_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        extra = f", named_shape={self.named_shape}" if self.named_shape else ""
        extra += f", sharding={self.sharding}" if self.sharding is not None else ""
        extra += ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtypes.dtype_name(self.dtype)}{extra})"


def struct_tree(out_tree: PyTreeDef, avals: Sequence[object]) -> PyTree:
    """Avals, and what stands for such already, as a tree of `ShapeDtypeStruct`s."""
    return out_tree.unflatten([_struct(aval) for aval in avals])


def _struct(aval: Any) -> ShapeDtypeStruct:
    # Only refined types have shardings; of the others the property says nothing.
    sharding = aval.sharding if getattr(aval, "infer_types", True) else None
    return ShapeDtypeStruct(aval.shape, aval.dtype, dict(aval.named_shape), sharding, aval.weak_type)


@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: Literal[False] = False,
    abstracted_axes: Any = None,
) -> Callable[..., ClosedJaxpr]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    *,
    return_shape: Literal[True],
    abstracted_axes: Any = None,
) -> Callable[..., tuple[ClosedJaxpr, PyTree]]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., ClosedJaxpr | tuple[ClosedJaxpr, PyTree]]: ...
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[object, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: object = None,
) -> Callable[..., Any]:
    """A function that returns the jaxpr of `fun` for its arguments.

    Args:
        fun: the function to trace.
        static_argnums: positions of arguments that are used as they are.
        axis_env: pairs (name, size) of mapped axes that the function may use.
        return_shape: whether to return the shapes of the result as well: `(jaxpr, tree of ShapeDtypeStruct)`.
        abstracted_axes: axes whose sizes are variables in the jaxpr; see `jit`.

    Raises TypeError if `fun` is not callable.

    >>> import tangrad
    >>> tangrad.make_jaxpr(lambda x: x * x)(2.0)
    { lambda ; a:f32[]. let b:f32[] = mul a a in (b,) }
    >>> tangrad.make_jaxpr(lambda x: x * x, abstracted_axes=({0: "n"},))(tangrad.ShapeDtypeStruct((3,), "float32"))
    { lambda ; a:f32[n]. let b:f32[n] = mul a a in (b,) }
    """
    if not callable(fun):
        raise TypeError(f"make_jaxpr expects a function, got {fun!r} of type {type(fun).__name__}")
    options = Options(static_argnums=positions(static_argnums, "static_argnums"))
    signature = signature_of(fun)
    if signature is not None:
        check_positions(list(signature.parameters.values()), options.static_argnums, "static_argnums")
    name = getattr(fun, "__name__", type(fun).__name__)
    axes = None if abstracted_axes is None else abstracted(abstracted_axes)

    def jaxpr_of(*args: object, **kwargs: object) -> Any:
        in_scope = (*thread.axis_environment, *[(axis, size) for axis, size in axis_env or ()])
        with holding(axis_environment=in_scope):
            call = Call(options, args, kwargs, abstract=True)
            traced = trace_call(fun, call if axes is None else axes.abstract(call)[0], name)
        closed = ClosedJaxpr(
            traced.jaxpr.jaxpr.replace(
                constvars=[*traced.jaxpr.jaxpr.invars[: len(traced.outer)], *traced.jaxpr.jaxpr.constvars],
                invars=traced.jaxpr.jaxpr.invars[len(traced.outer) :],
            ),
            [*traced.outer, *traced.jaxpr.consts],
        )
        return (closed, struct_tree(traced.out_tree, closed.out_avals)) if return_shape else closed

    return copy_identity(api_boundary(jaxpr_of), fun)


@overload
def eval_shape(fun: Callable[..., Array], *args: PyTree, **kwargs: Any) -> ShapeDtypeStruct: ...
@overload
def eval_shape(fun: Callable[..., Any], *args: PyTree, **kwargs: Any) -> PyTree: ...
def eval_shape(fun: Callable[..., Any], *args: PyTree, **kwargs: object) -> PyTree:
    """Shapes and dtypes of `fun(*args, **kwargs)`, without computing anything.

    Args:
        args, kwargs: trees of arrays, or of anything that has a shape and a dtype.

    Returns:
        the tree of the result, with a `ShapeDtypeStruct` for each array. What is one already stays what it is.

    >>> import tangrad
    >>> tangrad.eval_shape(lambda x: x + 1, tangrad.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"eval_shape expects a function, got {fun!r} of type {type(fun).__name__}")
    abstract: dict[int, Any] = {}  # among the leaves of the result

    def with_values(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten(fun(*args, **kwargs))
        abstract.clear()
        abstract.update({place: leaf for place, leaf in enumerate(leaves) if is_abstract(leaf)})
        return structure.unflatten([0 if place in abstract else leaf for place, leaf in enumerate(leaves)])

    name = getattr(fun, "__name__", type(fun).__name__)
    traced = trace_call(with_values, Call(Options(), args, kwargs, abstract=True), name)
    avals = [abstract.get(place, aval) for place, aval in enumerate(traced.jaxpr.out_avals)]
    return struct_tree(traced.out_tree, avals)


def is_abstract(value: object) -> bool:
    """Whether a value is the type of an array rather than an array."""
    return isinstance(value, (ShapeDtypeStruct, AbstractValue))
