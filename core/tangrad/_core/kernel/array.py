"""Arrays: what users hold. One base class for concrete arrays, tracers and literals, so that they read alike.

Operators, methods and properties are plugins: entries of the group `tangrad.array`, whose names are those of Python's
(`__add__`, `reshape`, `T`) and whose values are functions of the array, or properties. Here stand only the operators'
names: each forwards to what is registered for it, found at first use, which then takes its place in the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tangrad._core.composition.attributes import attributes
from tangrad._core.diagnostics.tracebacks import filter_traceback, method_boundaries, own_boundary
from tangrad._core.dtypes import objects, promotion
from tangrad._core.kernel.array_members import ArrayMembers
from tangrad._core.kernel.aval import ShapedArray
from tangrad._core.kernel.buffers import ALL_BUT_WRITING, check_format, exported, serve
from tangrad._core.kernel.keys import exact_equality


class ArrayOperators(ArrayMembers):
    """What arrays, tracers and literals share: shape, dtype, operators, methods. A subclass has `aval`."""

    __slots__ = ()
    __array_priority__ = 100  # NumPy must not take over mixed expressions
    aval: ShapedArray
    user_sharding: Any = None  # of an array on several devices, as its backend has it
    stated_sharding: Any = None  # over one device, of an array that was put there by it

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return bool(self.aval.weak_type)

    @property
    def itemsize(self) -> int:
        return int(self.aval.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize

    def __len__(self) -> int:
        return len(self.aval)

    def __iter__(self) -> Iterator[Array]:
        if not self.aval.shape:
            raise TypeError("iteration over an array without dimensions")
        return attributes["__iter__"](self)  # type: ignore[no-any-return]

    def __contains__(self, item: object) -> bool:
        return bool(attributes["__contains__"](self, item))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return attributes["__array_namespace__"](self, api_version=api_version)

    def _member(self, name: str) -> object:
        # Only names that the class lacks come here: plugins' methods and properties. `ndarray` is what the NumPy
        # backend looks for, to distinguish its own arrays and literals from all others.
        if name.startswith("__") or name == "ndarray":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            return attributes[name].__get__(self, type(self))
        except Exception as error:
            filter_traceback(error)
            raise

    if not TYPE_CHECKING:  # for checkers the names are those of the stub of members
        __getattr__ = _member

    __hash__ = None  # type: ignore[assignment]

    def to_numpy(self) -> np.ndarray:
        """The contents as a NumPy array, which must not be written to. Waits until they are computed.

        Of an array of an extended dtype (random keys): the numbers that its elements are made of.
        """
        raise NotImplementedError

    def _looked_at(self) -> np.ndarray:
        """The contents to be read only: it may be what backends compute with, and is not returned to users."""
        return self.to_numpy()

    def _scalar(self, convert: type[complex] | type[float] | type[int]) -> Any:
        if self.aval.shape:
            raise TypeError(f"only arrays without dimensions convert to Python scalars, got shape {self.aval.shape}")
        return convert(self._looked_at())

    def __bool__(self) -> bool:
        if self.aval.shape and self.aval.size != 1:
            raise ValueError(
                f"the truth value of an array of shape {self.aval.shape} is ambiguous; use x.any() or x.all()"
            )
        return bool(self._looked_at())

    def __int__(self) -> int:
        return int(self._scalar(int))

    def __float__(self) -> float:
        return float(self._scalar(float))

    def __complex__(self) -> complex:
        return complex(self._scalar(complex))

    def __index__(self) -> int:
        if self.aval.ndim or not objects.issubdtype(self.aval.dtype, np.integer):
            raise TypeError(
                f"only integer arrays without dimensions can be used as an index, got {self.aval.str_short()}"
            )
        return int(self.to_numpy())


def _forwarding(name: str, reflected: bool = False) -> Any:
    """The method that stands in the class until the plugin's function is known, which then takes its place."""

    def forwarding_operator(self: object, *args: object, **kwargs: object) -> object:
        try:
            operands = (*args, self) if reflected else (self, *args)
            return attributes[name](*operands, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    return own_boundary(forwarding_operator)


UNARY_OPERATORS = ("neg", "pos", "abs", "invert")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul")
BINARY_OPERATORS = (*ARITHMETIC, "and", "or", "xor", "lshift", "rshift")


_names = (*UNARY_OPERATORS, *COMPARISONS, *BINARY_OPERATORS, "getitem", "round")
_made = {f"__{name}__": _forwarding(f"__{name}__") for name in _names}
_made |= {f"__r{name}__": _forwarding(f"__{name}__", reflected=True) for name in BINARY_OPERATORS}
for _name, _method in _made.items():
    _method.__name__, _method.__qualname__ = _name, f"ArrayOperators.{_name}"
    setattr(ArrayOperators, _name, _method)
own_boundary(ArrayOperators._member)
attributes.serve(ArrayOperators)


class Array(ArrayOperators):
    """A concrete, immutable array on a device of some backend. `isinstance(x, tangrad.Array)` holds for tracers."""

    # Each backend has its own subclass, with a slot for its buffer.
    __slots__ = ("__weakref__", "aval")
    aval: ShapedArray

    def __init_subclass__(cls, has_memory: bool = True) -> None:
        if has_memory:
            serve(cls)

    def __setitem__(self, index: object, value: object) -> None:
        if (set_item := getattr(self.aval, "set_item", None)) is None:  # what is no array has one: a reference
            raise TypeError(f"arrays are immutable: x.at[{index!r}].set(value) returns a changed copy")
        set_item(self, index, value)

    def __delitem__(self, index: object) -> None:
        raise TypeError(
            f"arrays are immutable: del x[{index!r}] is not possible; tangrad.numpy.delete(x, {index!r}) returns a "
            f"copy without that part"
        )

    def _numbers(self) -> np.ndarray:
        """As `to_numpy`, for users. Raises TypeError for extended dtypes, which NumPy and Python do not know."""
        dtype: object = self.aval.dtype
        if isinstance(dtype, objects.ExtendedDType):
            raise TypeError(f"arrays of dtype {dtype} do not become NumPy arrays or Python numbers{dtype.way_out}")
        return self.to_numpy()

    def _looked_at(self) -> np.ndarray:
        return self._numbers()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        contents = self._numbers()
        if dtype is not None and np.dtype(dtype) != contents.dtype:
            if copy is False:
                raise ValueError(
                    f"converting {contents.dtype} to {np.dtype(dtype)} needs a copy, but copy=False was given"
                )
            return contents.astype(dtype)
        return contents.copy() if copy else contents

    def _owner(self) -> Any:
        """An object with the buffer protocol that owns the contents, in any layout. It is read-only."""
        return self._exported(ALL_BUT_WRITING)

    def _exported(self, flags: int) -> Any:
        """As `_owner`, in the layout that a consumer of the buffer protocol asks for."""
        check_format(self.aval.dtype, flags)
        return exported(self._numbers(), flags)

    def __buffer__(self, flags: int) -> memoryview:  # which Python asks for from 3.12 on
        return memoryview(self._owner() if flags == ALL_BUT_WRITING else self._exported(flags))

    def __format__(self, format_spec: str) -> str:
        if isinstance(self.aval.dtype, objects.ExtendedDType):
            return format(str(self), format_spec)
        # A scalar as Python formats numbers: of a float32 all digits are shown that a float64 has.
        return format(self.to_numpy() if self.aval.ndim else self.to_numpy()[()], format_spec)

    def __str__(self) -> str:
        return repr(self) if isinstance(self.aval.dtype, objects.ExtendedDType) else str(self.to_numpy())

    def __repr__(self) -> str:
        if isinstance(self.aval.dtype, objects.ExtendedDType):
            return f"Array({self.aval.shape}, dtype={self.aval.dtype}) overlaying:\n{self.to_numpy()}"
        weak = ", weak_type=True" if self.aval.weak_type else ""
        text, contents = f"[], shape={self.aval.shape}", self.to_numpy()
        if contents.size:
            text = np.array2string(contents, separator=", ", prefix="Array(")
        return f"Array({text}, dtype={objects.dtype_name(self.aval.dtype)}{weak})"

    def __copy__(self) -> Array:
        return self

    def __reduce__(self) -> Any:
        return type(self).backend.reduced(self)

    def block_until_ready(self) -> Array:
        """Wait until the array is computed; returns it."""
        type(self).backend.block_until_ready(self)
        return self

    def item(self, *index: int) -> Any:
        """One element as a Python number."""
        return self._looked_at().item(*index)

    def tolist(self) -> Any:
        """The contents as nested lists of Python numbers."""
        return self._looked_at().tolist()


NUMBERS = ("__bool__", "__int__", "__float__", "__complex__", "__index__")
CONVERSIONS = (*NUMBERS, "__array__", "__format__", "item", "tolist")
CONTAINER = ("__contains__", "__delitem__", "__iter__", "__len__", "__setitem__")
method_boundaries(Array, [*CONVERSIONS, *CONTAINER, "__buffer__", "block_until_ready"])


@final
@exact_equality
class Literal(ArrayOperators):
    """A scalar that is written into jaxprs. It passes through `bind` as a value, so staging need not look at it."""

    # `val`: the number, a NumPy scalar of the aval's dtype; `ndarray`: a read-only NumPy array without dimensions.
    __slots__ = ("__weakref__", "_hash", "aval", "ndarray", "val")
    backend = None  # the backend of the other operands takes it

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        array = np.array(val, dtype=aval.dtype)
        array.flags.writeable = False
        self.ndarray = array
        self.val = array[()]
        self.aval = aval
        self._hash = hash((aval, array.tobytes()))

    def __hash__(self) -> int:  # type: ignore[override]
        return self._hash

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.ndarray, dtype=dtype)

    def to_numpy(self) -> np.ndarray:
        return self.ndarray


LITERAL_CACHE_LIMIT = 1024
_literals: dict[object, Literal] = {}


def literal(value: Any, dtype: Any, weak_type: bool = False) -> Literal:
    """The literal for a Python or NumPy scalar, cached. Raises OverflowError if an integer does not fit `dtype`."""
    key = (type(value), value, dtype, weak_type)
    found = _literals.get(key)
    if found is not None and (value or found.ndarray.tobytes() == np.array(value, dtype).tobytes()):
        return found
    if type(value) is int and value not in (0, 1):  # which fit every dtype
        promotion.check_integer_fits(value, dtype)
    made = Literal(value, ShapedArray((), dtype, weak_type))
    if len(_literals) >= LITERAL_CACHE_LIMIT:
        _literals.clear()
    _literals[key] = made
    return made
