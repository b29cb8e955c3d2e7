"""Abstract values: what a trace knows of an array without its contents.

Avals are interned: two equal avals are one object, so that caches compare them by identity. The intern table holds weak
references; an aval lives as long as it is referenced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tangrad._core.composition.attributes import attributes
from tangrad._core.dtypes import objects
from tangrad._core.dtypes.arguments import can_represent_array, is_symbolic, product, represented_array
from tangrad._core.settings.config import thread
from tangrad._core.tree.definition import PyTreeDef
from tangrad._core.tree.keys import keystr
from tangrad._core.tree.operations import tree_flatten, tree_leaves_with_path
from tangrad._core.tree.tables import PLAIN, Table, forgetter, intern

Shape = tuple[Any, ...]  # integers, or symbolic dimensions: hashable objects that compare and calculate like integers
NamedShape = tuple[tuple[Hashable, int], ...]


class AbstractValue:
    """Base of the types of values: `ShapedArray`, `AbstractToken`."""

    __slots__ = ("__weakref__",)
    # Of refined types, such as those with shardings: `(primitive, avals, params, infer) -> types of results`, where
    # `infer(avals, params)` is what follows from shapes and dtypes.
    infer_types: Callable[..., Any] | None = None

    @property
    def plain(self) -> Any:
        """The type of shape and dtype alone: itself, unless it is a refined one."""
        return self

    def str_short(self, short_dtypes: bool = True) -> str:
        raise NotImplementedError


_interned: Table = {}
_forget = forgetter(_interned)


class ShapedArray(AbstractValue):
    """The type of an array: its shape, dtype, weak-type flag and named axes.

    >>> from tangrad.core import ShapedArray
    >>> ShapedArray((3,), "float32")
    ShapedArray(float32[3])
    >>> ShapedArray((3,), "float32") is ShapedArray((3,), "float32")
    True
    """

    __slots__ = ("dtype", "named_shape", "ndim", "shape", "weak_type")
    shape: Shape
    dtype: objects.DType
    weak_type: bool
    named_shape: NamedShape
    ndim: int

    def __new__(
        cls, shape: Iterable[Any], dtype: Any, weak_type: bool = False, named_shape: NamedShape | Mapping[Any, int] = ()
    ) -> ShapedArray:
        if type(shape) is not tuple:
            shape = tuple(shape)
        if type(named_shape) is not tuple:
            named_shape = tuple(sorted(dict(named_shape).items(), key=lambda item: str(item[0])))
        key = (shape, dtype, weak_type, named_shape)
        try:
            reference = _interned.get(key)
        except TypeError:
            raise TypeError(f"shape {shape!r} and dtype {dtype!r} must be hashable") from None
        if reference is not None:
            found: ShapedArray | None = reference()
            # `True == 1` and `2.0 == 2`: only exact integers may meet in the table, so keys made by hand are rebuilt.
            if found is not None and found.dtype is dtype:
                return found
        return _intern(shape, dtype, bool(weak_type), named_shape)

    def update(self, **changes: Any) -> ShapedArray:
        """A copy with some of `shape`, `dtype`, `weak_type`, `named_shape`, `sharding` replaced."""
        new = changes.get
        weak_type, named_shape = new("weak_type", self.weak_type), new("named_shape", self.named_shape)
        made = ShapedArray(new("shape", self.shape), new("dtype", self.dtype), weak_type, named_shape)
        return made if changes.get("sharding") is None else changes["sharding"].type_of(made)

    def strip_weak_type(self) -> ShapedArray:
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        """The type of tangents of values of this type: with dtype float0 for integers, booleans and keys."""
        is_vector_space = objects.issubdtype(self.dtype, np.inexact)
        return self if is_vector_space else ShapedArray(self.shape, objects.float0, False, self.named_shape)

    # What types say of these, as far as they do, is what the properties of arrays of these names say.
    sharding = property(lambda self: attributes["sharding"].__get__(self), doc="The sharding of values of this type.")
    mat = property(lambda self: attributes["mat"].__get__(self), doc="Along which mapped axes of a mesh values differ.")

    @property
    def size(self) -> int:
        """The number of elements."""
        return product(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return operator.index(self.shape[0])

    def str_short(self, short_dtypes: bool = True) -> str:
        """The short form that jaxprs print, such as `f32[3,4]`; `float32[3,4]` without `short_dtypes`."""
        name = objects.short_name(self.dtype) if short_dtypes else objects.dtype_name(self.dtype)
        return f"{name}{self._dimensions()}"

    def __str__(self) -> str:
        return f"{'~' * self.weak_type}{objects.dtype_name(self.dtype)}{self._dimensions()}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({objects.dtype_name(self.dtype)}{self._dimensions()}{weak})"

    def _dimensions(self) -> str:
        inside = ",".join(map(str, self.shape))
        if self.named_shape:
            inside += ";" + ",".join(f"{name}:{size}" for name, size in self.named_shape)
        return f"[{inside}]"

    def __reduce__(self) -> Any:
        return ShapedArray, (self.shape, self.dtype, self.weak_type, self.named_shape)

    def __copy__(self) -> ShapedArray:
        return self

    def __deepcopy__(self, _: object) -> ShapedArray:
        return self


def _intern(shape: Shape, dtype: objects.DType, weak_type: bool, named_shape: NamedShape) -> ShapedArray:
    """Check, canonicalise and intern a new aval."""
    shape = canonicalize_shape(shape)
    aval = object.__new__(ShapedArray)
    aval.shape, aval.ndim = shape, len(shape)
    aval.dtype, aval.weak_type, aval.named_shape = objects.as_dtype(dtype), weak_type, named_shape
    return intern(_interned, (shape, aval.dtype, weak_type, named_shape), aval, _forget, PLAIN)


class AbstractToken(AbstractValue):
    """The type of the tokens that order side effects."""

    __slots__ = ()
    shape = ()
    weak_type = False
    named_shape: NamedShape = ()
    ndim = 0

    def str_short(self, short_dtypes: bool = True) -> str:
        return "Token"

    def __repr__(self) -> str:
        return "AbstractToken()"

    def __reduce__(self) -> str:
        return "abstract_token"


abstract_token = AbstractToken()


def canonicalize_shape(shape: Iterable[object]) -> Shape:
    """A shape as a tuple of Python integers (or symbolic dimensions). A single integer is a shape of one dimension.

    Raises TypeError for a dimension that is not an integer, ValueError for a negative one.
    """
    if type(shape) is not tuple and not isinstance(shape, Iterable):
        if is_symbolic(shape) or not hasattr(type(shape), "__index__"):
            raise TypeError(f"a shape must be a sequence of integers, got {shape!r} of type {type(shape).__name__}")
        shape = (operator.index(shape),)
    return tuple([d if type(d) is int and d >= 0 else _canonical_dimension(d, shape) for d in shape])


def _canonical_dimension(dimension: Any, shape: Iterable[object]) -> object:
    if is_symbolic(dimension):
        return dimension
    try:
        size = operator.index(dimension)
    except TypeError:
        raise TypeError(
            f"shapes must be sequences of integers, got {tuple(shape)} with {dimension!r} of type "
            f"{type(dimension).__name__}"
        ) from None
    if size < 0:
        raise ValueError(f"shapes must not have negative dimensions, got {tuple(shape)}")
    return size


# --- the aval of a value ---

_handlers: dict[type, Callable[..., ShapedArray]] = {}


def register_aval_handler(kind: type, handler: Callable[..., ShapedArray]) -> None:
    """Teach `get_aval` a type of values that are arrays without being `Array` (a NumPy array, a Python scalar)."""
    _handlers[kind] = handler


def get_aval(x: Any) -> ShapedArray:
    """The aval of an array, a tracer, a NumPy array or scalar, or a Python scalar.

    Objects of other types are asked for the array that they stand for: by their method `__tangrad_array__`, or by
    `__jax_array__`, under which name other packages give it. Raises TypeError for anything else.
    """
    kind = type(x)
    if hasattr(kind, "aval"):
        return x.aval  # type: ignore[no-any-return]
    handler = _handlers.get(kind) or _inherited_handler(kind)
    if handler is not None:
        return handler(x)
    array = represented_array(x)
    if array is x:
        raise TypeError(f"{x!r} of type {kind.__name__} is not an array, a NumPy array or a Python number")
    return get_aval(array)


def _inherited_handler(kind: type) -> Callable[..., ShapedArray] | None:
    return next((_handlers[base] for base in kind.__mro__ if base in _handlers), None)


def typeof(x: Any) -> ShapedArray:
    """The type of an array, as `get_aval` gives it, or of what stands for one, such as a `ShapeDtypeStruct`."""
    return x.represented_aval if hasattr(type(x), "represented_aval") else get_aval(x)


def is_array_value(value: object) -> bool:
    """Whether `value` has an aval."""
    kind = type(value)
    return hasattr(kind, "aval") or _inherited_handler(kind) is not None or can_represent_array(value)


def _numpy_aval(value: np.generic | np.ndarray) -> ShapedArray:
    if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        raise ValueError("masked arrays of NumPy are not taken, lest the mask be lost: call .filled(value) first")
    return ShapedArray(value.shape, objects.canonicalize_dtype(value.dtype))


def _scalar_aval(kind: type) -> Callable[[object], ShapedArray]:
    wide, weak = objects.python_scalar_dtypes[kind], kind is not bool

    made: dict[bool, ShapedArray] = {}  # `enable_x64` -> the aval

    def aval(_: object) -> ShapedArray:
        x64 = thread.enable_x64
        if x64 not in made:
            made[x64] = ShapedArray((), objects.canonicalize_dtype(wide), weak)
        return made[x64]

    return aval


for _kind in objects.python_scalar_dtypes:
    register_aval_handler(_kind, _scalar_aval(_kind))
_handlers.update({np.ndarray: _numpy_aval, np.generic: _numpy_aval})


# --- the leaves of trees that users hand in or return, where each has to be an array ---

_EXPECTED = "expected arrays, numbers, and trees of them"


def array_leaves(value: object, what: str, cure: str = _EXPECTED) -> tuple[list[Any], PyTreeDef]:
    """The leaves and the structure of what a function was given.

    Raises TypeError for a leaf that is no array or number: what it is, its path, the leaf and its type; `cure`.

    >>> from tangrad.core import array_leaves
    >>> array_leaves({"x": 1.0}, "argument a")[0]
    [1.0]
    >>> array_leaves({"x": "one"}, "argument a")
    Traceback (most recent call last):
        ...
    TypeError: argument a['x'] is 'one' of type str; expected arrays, numbers, and trees of them
    """
    leaves, structure = tree_flatten(value)
    for path, leaf in _strangers(value, leaves):
        cure += "; a function is no operand: close over it" if callable(leaf) and cure is _EXPECTED else ""
        raise TypeError(f"{what}{path} is {leaf!r} of type {type(leaf).__name__}; {cure}")
    return leaves, structure


def returned_leaves(value: object, function: str, place: str = "result") -> tuple[list[Any], PyTreeDef]:
    """The leaves and the structure of what a user's function returned, or of the part of it that is named `place`.

    Raises TypeError for a leaf that is no array or number.

    >>> from tangrad.core import returned_leaves
    >>> returned_leaves((1.0, {"loss": "high"}), "step")
    Traceback (most recent call last):
        ...
    TypeError: step returned, at result[1]['loss'], 'high' of type str; expected arrays, numbers, and trees of them
    """
    leaves, structure = tree_flatten(value)
    for path, leaf in _strangers(value, leaves):
        returned = "returned" if place + path == "result" else f"returned, at {place}{path},"
        raise TypeError(f"{function} {returned} {leaf!r} of type {type(leaf).__name__}; {_EXPECTED}")
    return leaves, structure


def _strangers(value: object, leaves: Sequence[object]) -> list[tuple[str, object]]:
    """The leaves of a tree that are no arrays or numbers, each with its path."""
    if all([hasattr(type(leaf), "aval") or is_array_value(leaf) for leaf in leaves]):  # no call for an array
        return []
    return [(keystr(path), leaf) for path, leaf in tree_leaves_with_path(value) if not is_array_value(leaf)]
