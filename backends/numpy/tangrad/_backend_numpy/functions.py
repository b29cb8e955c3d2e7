"""What the steps of a program call: NumPy's functions, each with the Python text that calls it.

A `Function` is known to the code generator by its *nature* and by its text. The nature is what may be assumed of the
memory of its result:

- `ELEMENTWISE`: each element of the result is computed from the operands' elements at the same place, into memory of
  its own; operands of different shapes broadcast as NumPy has it. Such steps write over operands that are not needed
  any more, and run in blocks.
- `FRESH`: the result is in memory of its own, which nothing else refers to; it may be overwritten when it is dead.
- `VIEW`: the result may show memory of the operands. If it has as many elements as its operand it shows each of them
  once.
- `UNKNOWN`: nothing is known: neither result nor operands are ever overwritten.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.size_text import shape_text
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from typing import Protocol, TypeAlias

    from tangrad.typing import Dimensions

    Results: TypeAlias = np.ndarray | tuple[np.ndarray, ...]

    class Layout(Protocol):
        """What is known of an array of a program before it runs, as of a `Stored`; sizes may be symbolic."""

        shape: Dimensions
        dtype: np.dtype

        @property
        def size(self) -> int: ...


ELEMENTWISE, FRESH, VIEW, UNKNOWN = "elementwise", "fresh", "view", "unknown"
NATURES = (ELEMENTWISE, FRESH, VIEW, UNKNOWN)

# `out=...` asks a ufunc for an array where it would return a scalar; since NumPy 2.3. Before, `asarray` makes one of
# it.
_HAS_ELLIPSIS_OUT = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 3)

Bind = Callable[[object, str], str]


class Function:
    """One callable that steps use.

    Attributes:
        nature: see the module.
        key: equal keys mean interchangeable functions; None: this one is like no other.
        writes_into: whether `text_into` is possible.
        updates: whether the result is the first operand with a part replaced.
        is_matrix_product: whether it is the product of two matrices if its result has two dimensions.
    """

    __slots__ = ()
    nature = UNKNOWN
    key: Any = None  # a property in some
    writes_into = False
    updates = False
    is_matrix_product = False

    def direct(self, scalar: bool) -> Callable[..., Results]:
        """A Python callable of the operands; `scalar`: the result has no dimensions, and must be an array still."""
        raise NotImplementedError

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        """The expression that computes the result. `bind(object, hint)` gives a name for an object."""
        raise NotImplementedError

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        """The statements that write the result into `out`."""
        raise NotImplementedError

    def may_overwrite(self, position: int) -> bool:
        """Whether `out` may be the operand at `position`."""
        return False

    def flops(self, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> int:
        """An estimate of the arithmetic that a call does: one operation per element of the results."""
        return 0 if self.nature is VIEW else sum([stored.size for stored in outputs])


class Ufunc(Function):
    """A NumPy ufunc with one result. With a signature (matmul) it is not elementwise, but fresh."""

    __slots__ = ("is_matrix_product", "nature", "ufunc")
    writes_into = True

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc
        self.is_matrix_product = ufunc is np.matmul
        self.nature = ELEMENTWISE if ufunc.signature is None else FRESH

    @property
    def key(self) -> Hashable:
        return self.ufunc

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        ufunc = self.ufunc
        if not scalar:
            return ufunc
        if _HAS_ELLIPSIS_OUT:
            return partial(ufunc, out=...)
        return lambda *operands: np.asarray(ufunc(*operands))

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        name, arguments = bind(self.ufunc, self.ufunc.__name__), ", ".join(operands)
        if not scalar:
            return f"{name}({arguments})"
        if _HAS_ELLIPSIS_OUT:
            return f"{name}({arguments}, out=...)"
        return f"{bind(np.asarray, 'asarray')}({name}({arguments}))"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        # A third argument is quicker as it is, but deprecated for maximum and minimum.
        keyword = "out=" if self.ufunc in (np.maximum, np.minimum) else ""
        return [f"{bind(self.ufunc, self.ufunc.__name__)}({', '.join(operands)}, {keyword}{out})"]

    def may_overwrite(self, position: int) -> bool:
        return self.nature is ELEMENTWISE

    def flops(self, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> int:
        if self.ufunc is np.matmul:
            return int(2 * outputs[0].size * inputs[0].shape[-1])
        return super().flops(inputs, outputs)


# NumPy's scalars compute as its ufuncs do, in a tenth of the time that a ufunc takes for arrays without dimensions.
_OPERATORS: dict[np.ufunc, Callable[..., object]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


def on_scalars(function: Function, inputs: Sequence[Layout]) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
    """What computes a ufunc of two arrays without dimensions as scalars; None where nothing is known to do."""
    operation = _OPERATORS.get(function.ufunc) if type(function) is Ufunc else None
    if operation is None or any([stored.shape != () or stored.dtype.kind not in "biuf" for stored in inputs]):
        return None
    if any([stored.dtype.isbuiltin != 1 for stored in inputs]):
        return None
    compute, asarray = operation, np.asarray
    return lambda x, y: asarray(compute(x[()], y[()]))


class Reduction(Function):
    """`ufunc.reduce` over some axes, or over axes kept with size 1."""

    __slots__ = ("axes", "keepdims", "ufunc")
    nature = FRESH
    writes_into = True

    def __init__(self, ufunc: np.ufunc, axes: Sequence[int], keepdims: bool = False) -> None:
        self.ufunc = ufunc
        self.axes: int | tuple[int, ...] | None = tuple(axes)
        self.keepdims = keepdims

    @property
    def key(self) -> Hashable:
        return self.ufunc, self.axes, self.keepdims

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        axes, keepdims = self.axes, self.keepdims
        reduce: Callable[..., np.ndarray] = self.ufunc.reduce
        if not scalar:
            return lambda x: reduce(x, axes, x.dtype, None, keepdims)
        if _HAS_ELLIPSIS_OUT:
            return lambda x: reduce(x, axes, x.dtype, out=...)
        return lambda x: np.asarray(reduce(x, axes, x.dtype))

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        if not scalar:
            return self._call(operands, bind, "None")
        if _HAS_ELLIPSIS_OUT:
            return self._call(operands, bind, "out=...")
        return f"{bind(np.asarray, 'asarray')}({self._call(operands, bind, 'None')})"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        return [self._call(operands, bind, out)]

    def flops(self, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> int:
        return int(inputs[0].size)

    def _call(self, operands: Sequence[str], bind: Bind, out: str) -> str:
        # The dtype is stated: NumPy would add up small integers in a wider one.
        name = bind(self.ufunc.reduce, f"{self.ufunc.__name__}_reduce")
        (x,) = operands
        keepdims = ", keepdims=True" if self.keepdims else ""
        return f"{name}({x}, {self.axes!r}, {x}.dtype, {out}{keepdims})"


class Method(Function):
    """A method of arrays that gives a view or, where there is none, a copy: reshape, transpose, view, …"""

    __slots__ = ("arguments", "name", "nature")

    def __init__(self, name: str, *arguments: object, nature: str = VIEW) -> None:
        self.name = name
        self.arguments = arguments
        self.nature = nature

    @property
    def key(self) -> Hashable:
        try:
            hash(self.arguments)
        except TypeError:
            return None
        return self.name, self.arguments

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        method = operator.methodcaller(self.name, *self.arguments)
        return (lambda x: np.asarray(method(x))) if scalar and self.nature is not VIEW else method

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        arguments = ", ".join([_literal(argument, bind) for argument in self.arguments])
        call = f"{operands[0]}.{self.name}({arguments})"
        return f"{bind(np.asarray, 'asarray')}({call})" if scalar and self.nature is not VIEW else call


class Part(Function):
    """`x.real` or `x.imag`: a view of half of each element."""

    __slots__ = ("name",)
    nature = VIEW

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def key(self) -> tuple[str, str]:
        return "part", self.name

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return operator.attrgetter(self.name)

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{operands[0]}.{self.name}"


class Index(Function):
    """`x[index]` with integers and slices: a view. Where no dimension is left the index had better end in `...`."""

    __slots__ = ("index",)
    nature = VIEW

    def __init__(self, index: object) -> None:
        self.index = index

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        getter = operator.itemgetter(self.index)
        return (lambda x: np.asarray(getter(x))) if self._makes_scalars(scalar) else getter

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        element = f"{operands[0]}[{bind(self.index, 'index')}]"
        return f"{bind(np.asarray, 'asarray')}({element})" if self._makes_scalars(scalar) else element

    def _makes_scalars(self, scalar: bool) -> bool:
        return scalar and not (isinstance(self.index, tuple) and Ellipsis in self.index)


class Cast(Function):
    """The elements in another dtype, converted as NumPy does."""

    __slots__ = ("dtype",)
    nature = ELEMENTWISE
    writes_into = True

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    @property
    def key(self) -> Hashable:
        return "cast", self.dtype

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return operator.methodcaller("astype", self.dtype)

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{operands[0]}.astype({bind(self.dtype, self.dtype.name)})"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        return [f"{bind(np.copyto, 'copyto')}({out}, {operands[0]}, 'unsafe')"]


class Where(Function):
    """`where(mask, x, y)`."""

    __slots__ = ()
    nature = ELEMENTWISE
    key = "where"
    writes_into = True

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return np.where

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(np.where, 'where')}({', '.join(operands)})"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        mask, x, y = operands
        copyto = bind(np.copyto, "copyto")
        if out == x:
            return [f"{copyto}({out}, {y}, where={bind(np.logical_not, 'logical_not')}({mask}))"]
        first = [] if out == y else [f"{copyto}({out}, {y})"]
        return [*first, f"{copyto}({out}, {x}, where={mask})"]

    def may_overwrite(self, position: int) -> bool:
        return position > 0


class Opaque(Function):
    """Any other callable."""

    __slots__ = ("function", "key", "nature")

    def __init__(self, function: Callable[..., Results], nature: str = UNKNOWN, key: Hashable = None) -> None:
        self.function = function
        self.nature = nature
        self.key = key

    def direct(self, scalar: bool) -> Callable[..., Results]:
        function = self.function
        return (lambda *operands: np.asarray(function(*operands))) if scalar else function

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        call = f"{bind(self.function, getattr(self.function, '__name__', 'function'))}({', '.join(operands)})"
        return f"{bind(np.asarray, 'asarray')}({call})" if scalar else call


class Broadcast(Function):
    """An array repeated to a larger shape, without copying: strides of 0."""

    __slots__ = ("key", "shape", "view")
    nature = VIEW

    def __init__(self, stored: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.key = ("broadcast", stored, shape)
        self.view = _broadcast_view(stored, shape, dtype)

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return self.view

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(self.view, 'broadcast')}({operands[0]})"


def _broadcast_view(
    stored: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype
) -> Callable[[np.ndarray], np.ndarray]:
    """`np.broadcast_to` for one shape: 0.2 µs where NumPy's own, in Python, takes 2.3."""
    strides, step = [], dtype.itemsize
    for size in reversed(stored):
        strides.append(0 if size == 1 else step)
        step *= size
    strides += [0] * (len(shape) - len(stored))
    strides.reverse()
    fixed, ndarray = tuple(strides), np.ndarray
    if dtype.isbuiltin != 1 or 0 in shape:  # dtypes of ml_dtypes cannot be exported as buffers
        return lambda x: np.broadcast_to(x, shape)

    def broadcast(x: np.ndarray) -> np.ndarray:
        # Of a transposed array, which is contiguous in another order, the memory would be read in the wrong one.
        return ndarray(shape, dtype, x, 0, fixed) if x.flags.c_contiguous else np.broadcast_to(x, shape)

    return broadcast


WHERE = Where()


def function_of(function: object, nature: str = UNKNOWN) -> Function:
    """What is known of a callable: ufuncs, and the method and item getters of `operator`, are recognised."""
    if isinstance(function, Function):
        return function
    if isinstance(function, np.ufunc) and function.nout == 1:
        return Ufunc(function)
    if isinstance(function, operator.methodcaller):
        reduced: Any = function.__reduce__()
        kind, arguments = reduced[:2]
        if kind is operator.methodcaller:  # with keywords it reduces to something else
            return Method(*arguments, nature=nature)
    if isinstance(function, operator.itemgetter):
        indices = function.__reduce__()[1]
        if len(indices) == 1:
            return Index(indices[0])
    if not callable(function):
        raise TypeError(f"a kernel must be a callable of NumPy arrays, got {function!r}")
    return Opaque(function, nature)


def _literal(argument: object, bind: Bind) -> str:
    """Sizes and tuples of them are written into the text; any other object is bound to a name."""
    if type(argument) is int or (type(argument) is tuple and all([type(item) is int for item in argument])):
        return repr(argument)
    if type(argument) is tuple and any([is_symbolic(item) for item in argument]):
        return shape_text(argument)
    return bind(argument, "argument")
