"""Tracing without computing, for axes of any size too, and computing at once within a function that is being traced."""

from __future__ import annotations

import copy
import math
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, overload

import numpy as np

from tangrad import tree
from tangrad._jit.call import AbstractLeaf, Call, Options, Traced, described_leaf, is_type_of_reference, trace_call
from tangrad._jit.layout import sharding_of_rank, shardings_of_results
from tangrad._jit.primitives import with_constants
from tangrad._jit.signature import check_positions, positions, signature_of
from tangrad.core import (
    EVAL_TRACE,
    AbstractValue,
    Array,
    ClosedJaxpr,
    RuleTrace,
    ShapedArray,
    Tracer,
    api_boundary,
    class_boundary,
    composition,
    copy_identity,
    dtypes,
    get_aval,
    holding,
    thread,
)
from tangrad.core.arguments import SymbolicDimension, first_symbolic, is_symbolic
from tangrad.core.caches import JaxprCache, RecentlyUsed, register_cache
from tangrad.core.tools import how_to_install
from tangrad.core.transformations import call_under
from tangrad.tree_util import PyTreeDef, broadcast_prefix
from tangrad.typing import DTypeLike, PyTree

if TYPE_CHECKING:
    from tangrad.typing import Dimensions


# --- `abstracted_axes`: axes whose sizes are variables of the program, so that it is traced once for many sizes ---
# Names become dimension variables. A call is traced with these in its types, and the program is then either run as it
# is, where the backend finds sizes at the call, or filled in with those at hand.

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED = frozenset(("_", "max", "min", "mod", "floordiv"))  # what symbolic shapes mean by them
_filled = JaxprCache()
_specs = RecentlyUsed(1024)
register_cache(_filled.clear)
register_cache(_specs.clear)


class Names(NamedTuple):
    """Which axes of one array have which names."""

    pairs: tuple[tuple[int, Hashable], ...]


class AbstractedAxes:
    """The axes of a function's arguments that have names; equal ones are one object: see `abstracted`."""

    __slots__ = ("_leaves", "_structure", "_variables")

    def __init__(self, leaves: Sequence[Names], structure: PyTreeDef) -> None:
        self._leaves = leaves
        self._structure = structure
        self._variables: dict[Hashable, Any] = {}

    def variable(self, name: Hashable) -> SymbolicDimension:
        """The dimension variable of a name."""
        if not self._variables:
            found = dict.fromkeys([one for leaf in self._leaves for _, one in leaf.pairs])
            self._variables = dict(zip(found, _variables(_words(list(found))), strict=True))
        return self._variables[name]

    def per_leaf(self, call: Call) -> list[Names]:
        """The names of each array among the arguments of a call. Raises TypeError and ValueError for what fits none."""
        if call.has_keywords:
            raise TypeError(
                f"abstracted_axes are those of positional arguments; pass {call.keywords} by position, or close over it"
            )
        args = call.treedef.unflatten(call.leaves)
        try:
            spec = self._structure.unflatten(self._leaves)
            return broadcast_prefix(spec, args, is_leaf=lambda part: isinstance(part, Names))
        except ValueError as error:
            error.args = (f"abstracted_axes must be a prefix of the tuple of positional arguments: {error}",)
            raise

    def abstract(self, call: Call) -> tuple[Call, dict[str, object]]:
        """The call with variables for sizes, and the size of each in this call.

        An axis of size 0 stays as it is: variables are sizes from 1 up, and a program may be another without elements.
        Raises ValueError for an axis that an argument does not have, and for a name with two sizes.
        """
        found: dict[Hashable, tuple[object, str]] = {}
        leaves: list[Any] = []
        for position, (leaf, names) in enumerate(zip(call.leaves, self.per_leaf(call), strict=True)):
            shape = list(leaf.aval.shape)
            for axis, name in _checked(names, shape, call.path(position)):
                size, where = shape[axis], f"dimension {axis} of {call.path(position)}"
                known, other = found.setdefault(name, (size, where))
                if known != size:
                    raise ValueError(
                        f"abstracted_axes: {name!r} is {known} in {other}, and {size} in {where}; axes of one name "
                        "have one size"
                    )
                if is_symbolic(size) or size != 0:
                    shape[axis] = self.variable(name)
            leaves.append(AbstractLeaf(leaf.aval.update(shape=tuple(shape))))
        if all([leaf.aval is old.aval for leaf, old in zip(leaves, call.leaves, strict=True)]):
            return call, {}
        sizes = {str(self.variable(name)): size for name, (size, _) in found.items()}
        changed = copy.copy(call)
        changed.leaves = leaves
        return changed, sizes


def abstracted(spec: object) -> AbstractedAxes:
    """The axes that the argument `abstracted_axes` names.

    For each array it is a dictionary from axes to names, or a tuple with a name or None for each of its first axes, or
    None; these stand in a tree that is a prefix of the tuple of positional arguments, static ones left out. One for all
    arrays need not stand in a tree. Names are any hashable values.

    Raises TypeError for anything else.
    """
    leaves, structure = tree.flatten(spec, is_leaf=_is_spec)
    names = tuple([_names(leaf) for leaf in leaves])
    key = (names, structure)
    found = _specs.find(key)
    if found is None:
        found = AbstractedAxes(names, structure)
        _specs.add(key, found)
    return found


def _is_spec(part: object) -> bool:
    items = part.values() if isinstance(part, dict) else part if type(part) is tuple else None
    return part is None or (items is not None and not any([isinstance(item, (dict, tuple, list)) for item in items]))


def _names(spec: Mapping[int, str] | tuple[str | None, ...]) -> Names:
    if not _is_spec(spec):
        raise TypeError(
            "abstracted_axes has, for each array, a dictionary from axes to names or a tuple with a name or None for "
            f"each axis; got {spec!r} of type {type(spec).__name__}"
        )
    if spec is None:
        spec = ()
    if isinstance(spec, dict):
        for axis in spec:
            if type(axis) is not int:
                raise TypeError(
                    f"abstracted_axes: axes are integers, got {axis!r} of type {type(axis).__name__} in {spec!r}"
                )
        pairs = tuple(spec.items())
    else:
        pairs = tuple([(axis, name) for axis, name in enumerate(spec) if name is not None])
    for _, name in pairs:
        try:
            hash(name)
        except TypeError:
            raise TypeError(f"abstracted_axes: names are hashable, got {name!r} in {spec!r}") from None
    return Names(pairs)


def _checked(names: Names, shape: Sequence[object], where: str) -> list[tuple[int, Hashable]]:
    """The axes that have names, counted from the first. Raises ValueError for those that are not there."""
    rank = len(shape)
    for axis, name in names.pairs:
        if not -rank <= axis < rank:
            sizes = f"({', '.join(map(str, shape))}{',' * (rank == 1)})"
            raise ValueError(
                f"abstracted_axes names axis {axis} of {where} {name!r}, which is of shape {sizes} and has {rank} axes"
            )
    return [(axis % rank, name) for axis, name in names.pairs]


def _words(names: Sequence[Hashable]) -> list[str]:
    """For each name an identifier of its own: itself, where it is one."""
    own = {name for name in names if isinstance(name, str) and _WORD.fullmatch(name) and name not in _RESERVED}
    others = (f"d{number}" for number in range(1 << 30) if f"d{number}" not in own)
    return [str(name) if name in own else next(others) for name in names]


def _variables(words: Sequence[str]) -> tuple[SymbolicDimension, ...]:
    plugin = composition().find("tangrad.api", "export.symbolic_shape")
    if plugin is None:
        needed = how_to_install("export.symbolic_shape")
        raise NotImplementedError(f"abstracted_axes needs symbolic dimensions: {needed}")
    return plugin.load()(", ".join(words))


def filled_in(traced: Traced, sizes: dict[str, object]) -> Traced:
    """A function traced for variables as one traced for `sizes`."""
    dimension = first_symbolic(traced.jaxpr.in_avals)

    def fill() -> ClosedJaxpr:
        return dimension.filled_in(traced.jaxpr, sizes)

    return Traced(_filled.get(traced.jaxpr, tuple(sizes.items()), fill), traced.outer, traced.out_tree)


# --- Tracing without computing: `make_jaxpr`, `eval_shape`, `ShapeDtypeStruct` ---


_OF_DATA = (np.bytes_, np.str_, np.object_)  # no array holds them, what describes a data set does


@class_boundary
class ShapeDtypeStruct:
    """A shape and a dtype: stands for an array wherever only its type counts.

    Args:
        shape: a tuple of integers.
        dtype: a dtype, or its name; also NumPy's of text and of objects.
        named_shape: sizes of named axes, or None.
        sharding: where such an array would be, or None; one of more dimensions raises ValueError.
        weak_type: whether it would be weakly typed.
        is_ref: whether it stands for a reference to such an array.

    >>> import tangrad
    >>> tangrad.ShapeDtypeStruct((2, 3), "float32").size
    6
    """

    __slots__ = ("dtype", "is_ref", "named_shape", "shape", "sharding", "weak_type")
    shape: Dimensions
    dtype: Any
    named_shape: dict[Any, int]
    sharding: Any
    weak_type: bool
    is_ref: bool

    def __init__(
        self,
        shape: Iterable[object],
        dtype: DTypeLike,
        named_shape: Any = None,
        sharding: object = None,
        weak_type: bool = False,
        is_ref: bool = False,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must not be None")
        store = object.__setattr__
        store(self, "shape", ShapedArray(shape, bool).shape)
        described = (dtype if isinstance(dtype, type) else getattr(dtype, "type", None)) in _OF_DATA
        store(self, "dtype", np.dtype(dtype) if described else dtypes.as_dtype(dtype))
        store(self, "named_shape", dict(named_shape or {}))
        store(self, "sharding", None if sharding is None else sharding_of_rank(sharding, len(self.shape)))
        store(self, "weak_type", bool(weak_type))
        store(self, "is_ref", bool(is_ref))

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """The struct that stands for an array: its shape, dtype and weak type, and its sharding where that is stated.

        It is where an array was put there, or its type has one.

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
        sharding = x.sharding if getattr(x, "committed", False) or aval.infer_types is not None else None
        return cls(aval.shape, aval.dtype, dict(aval.named_shape), sharding, aval.weak_type, is_type_of_reference(aval))

    def __setattr__(self, name: str, value: object) -> None:
        # Structs are hashed by what they hold: they are keys of caches and sit in treedefs.
        raise AttributeError(f"ShapeDtypeStruct cannot be changed; make another one: struct.update({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"ShapeDtypeStruct cannot be changed: its attribute {name} stays")

    def __reduce__(self) -> tuple[object, ...]:
        return ShapeDtypeStruct, (self.shape, self.dtype, self.named_shape, self.sharding, self.weak_type, self.is_ref)

    @property
    def represented_aval(self) -> ShapedArray:
        """The type of the array that it stands for.

        Raises ValueError where its sharding is by the shape of a mesh of more devices than there are.
        """
        return described_leaf(self).aval

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a shape without dimensions")
        return operator.index(self.shape[0])

    def update(self, **changes: object) -> ShapeDtypeStruct:
        """The same with some of its arguments changed."""
        return ShapeDtypeStruct(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def _key(self) -> tuple[object, ...]:
        named = tuple(sorted(self.named_shape.items(), key=str))
        return self.shape, self.dtype, named, self.sharding, self.weak_type, self.is_ref

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        extra = f", named_shape={self.named_shape}" if self.named_shape else ""
        extra += f", sharding={self.sharding}" if self.sharding is not None else ""
        extra += ", weak_type=True" if self.weak_type else ""
        extra += ", is_ref=True" if self.is_ref else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtypes.dtype_name(self.dtype)}{extra})"


def struct_tree(out_tree: PyTreeDef, avals: Sequence[object], shardings: Sequence[object] | None = None) -> PyTree:
    """Avals, and what stands for such already, as a tree of `ShapeDtypeStruct`s, with the shardings that are stated."""
    return out_tree.unflatten(list(map(_struct, avals, shardings or [None] * len(avals))))


def result_structs(options: Options, traced: Traced, name: str) -> PyTree:
    return struct_tree(traced.out_tree, traced.jaxpr.out_avals, shardings_of_results(options, traced, name))


def _struct(aval: Any, sharding: object) -> ShapeDtypeStruct:
    # Only refined types have shardings; of the others the property means nothing.
    if sharding is None and getattr(aval, "infer_types", True):
        sharding = aval.sharding
    return ShapeDtypeStruct(aval.shape, aval.dtype, dict(aval.named_shape), sharding, aval.weak_type)


@overload
def make_jaxpr(
    fun: Callable[..., object],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: Literal[False] = False,
    abstracted_axes: object = None,
) -> Callable[..., ClosedJaxpr]: ...
@overload
def make_jaxpr(
    fun: Callable[..., object],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    *,
    return_shape: Literal[True],
    abstracted_axes: object = None,
) -> Callable[..., tuple[ClosedJaxpr, PyTree]]: ...
@overload
def make_jaxpr(
    fun: Callable[..., object],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: object = None,
) -> Callable[..., ClosedJaxpr | tuple[ClosedJaxpr, PyTree]]: ...
def make_jaxpr(
    fun: Callable[..., object],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: object = None,
) -> Callable[..., ClosedJaxpr | tuple[ClosedJaxpr, PyTree]]:
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

    def jaxpr_of(*args: object, **kwargs: object) -> ClosedJaxpr | tuple[ClosedJaxpr, PyTree]:
        in_scope = (*thread.axis_environment, *[(axis, size) for axis, size in axis_env or ()])
        with holding(axis_environment=in_scope):
            call = Call(options, args, kwargs, abstract=True)
            traced = trace_call(fun, call if axes is None else axes.abstract(call)[0], name)
        closed = with_constants(traced.jaxpr, traced.outer)
        return (closed, struct_tree(traced.out_tree, closed.out_avals)) if return_shape else closed

    return copy_identity(api_boundary(jaxpr_of), fun)


@overload
def eval_shape(fun: Callable[..., Array], *args: PyTree, **kwargs: object) -> ShapeDtypeStruct: ...
@overload
def eval_shape(fun: Callable[..., object], *args: PyTree, **kwargs: object) -> PyTree: ...
def eval_shape(fun: Callable[..., object], *args: PyTree, **kwargs: object) -> PyTree:
    """Shapes and dtypes of `fun(*args, **kwargs)`, without computing anything.

    Args:
        args, kwargs: trees of arrays, or of anything that has a shape and a dtype.

    Returns:
        the tree of the result, with a `ShapeDtypeStruct` for each array, those of a jitted function with its
        `out_shardings`. What is one already stays what it is.

    >>> import tangrad
    >>> tangrad.eval_shape(lambda x: x + 1, tangrad.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"eval_shape expects a function, got {fun!r} of type {type(fun).__name__}")
    if isinstance(getattr(fun, "_options", None), Options):  # which has static arguments and shardings
        return vars(type(fun))["eval_shape"](fun, *args, **kwargs)
    abstract: dict[int, object] = {}  # among the leaves of the result

    def with_values(*args: Array, **kwargs: object) -> PyTree:
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


# --- Computing at once within a function that is being traced: `ensure_compile_time_eval` ---


class CompileTimeTrace(RuleTrace):
    """Evaluates operations on concrete arrays; those on tracers go to the trace below."""

    __slots__ = ()
    evaluates: ClassVar[bool] = True

    def process_primitive(self, primitive: object, args: tuple[object, ...], params: dict[str, object]) -> PyTree:
        trace = self.parent if any([isinstance(arg, Tracer) for arg in args]) else EVAL_TRACE
        return call_under(trace, trace.process_primitive, primitive, args, params)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Within the block, operations on values that are known are computed at once, even where a function is traced.

    Their results can then decide the shape or the structure of the program. Also a decorator.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> @tangrad.jit
    ... def f(x):
    ...     with tangrad.ensure_compile_time_eval():
    ...         count = np.sum(np.array([1, 2]))
    ...     return np.ones(int(count)) * x
    >>> f(2.0)
    Array([2., 2., 2.], dtype=float32)
    """
    previous = thread.trace
    if previous is EVAL_TRACE:
        yield
        return
    with holding(trace=CompileTimeTrace(previous)):
        yield
