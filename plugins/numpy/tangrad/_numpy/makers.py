"""Makers of the functions of one and two operands that work element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from tangrad._numpy.fusing import Fused, fused_pair
from tangrad._numpy.operands import (
    ARRAY_LIKE,
    align,
    direct_pairs,
    inexact_dtypes,
    note_direct,
    number_beside,
    numeric_dtypes,
    operand,
    promote_inexact,
    scalar_operands,
    strong,
)
from tangrad.core import EVAL_TRACE, Array, Primitive, api_boundary, filter_traceback, own_boundary, thread
from tangrad.core.arguments import can_represent_array
from tangrad.core.caches import DirectCalls
from tangrad.typing import ArrayLike, Axis, DTypeLike, Value

if TYPE_CHECKING:
    import numpy as np

# --- What type checkers know of the universal functions: plain functions that have methods as attributes ---


class Ufunc(Protocol):
    @property
    def __name__(self) -> str: ...
    @property
    def nin(self) -> int: ...
    @property
    def nout(self) -> int: ...
    @property
    def nargs(self) -> int: ...
    @property
    def identity(self) -> Any: ...


class UnaryUfunc(Ufunc, Protocol):
    def __call__(self, x: ArrayLike, /) -> Array: ...
    def at(self, a: ArrayLike, indices: object, /, *, inplace: Literal[False]) -> Array: ...


class BinaryUfunc(Ufunc, Protocol):
    def __call__(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def reduce(
        self,
        a: ArrayLike,
        axis: Axis = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def accumulate(self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None) -> Array: ...
    def reduceat(
        self, a: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array: ...
    def at(self, a: ArrayLike, indices: object, b: ArrayLike, /, *, inplace: Literal[False]) -> Array: ...
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array: ...


# --- Makers of the functions of one and two operands that work element by element ---
# A function of two operands has two forms. The public one raises for what is no array. The operator, which arrays call
# for `x + y`, answers NotImplemented to values that it does not know, so that Python asks the other operand.
#
# Most calls have two operands of one type, or an array and a Python number: such go to the primitive after one or two
# look-ups, without the 0.1 µs of `bind`. (Promotion and broadcasting in general cost ten times as much as those.)


PREPARES_OPERANDS = True  # `written_by_user` asks: functions here call for others

Binary = Callable[[Any, Any], Any]
OfTwoToPair: TypeAlias = Callable[[ArrayLike, ArrayLike], tuple[Array, Array]]

_SEQUENCES = (list, tuple, set, dict)
_NUMBERS = frozenset({int, float})
_ONE_DTYPE = "An array of the shape and dtype in which `x` and `y` meet."


# --- one operand ---


def unary(
    name: str,
    general: Callable[[Any], Any],
    summary: str,
    returns: str,
    example: str,
    fuse: int = 0,
    family: str = "numpy",
) -> Callable[[ArrayLike], Any]:
    """A public function of one operand from its general form, which takes an operand.

    `fuse`: how many results the general form has, if it is to be one operation, of that family, which is then the
    attribute `fused`; 0: it is not.
    """
    fused = Fused(name, general, fuse > 1, family) if fuse else None
    run: Any = general if fused is None else fused.of_one

    def function(x: ArrayLike) -> Array:
        try:
            return run(x if hasattr(type(x), "aval") else operand(name, x))
        except Exception as error:
            filter_traceback(error)
            raise

    made = _documented(function, name, unary_documentation(summary, returns, example))
    made.fused = fused
    return made


def unary_inexact(
    name: str, primitive: Primitive, documentation: str, weak: bool = True
) -> Callable[[ArrayLike], Array]:
    """A public function that computes in floats: integers and booleans are converted.

    `weak`: whether the result of a weakly typed operand is one.
    """
    calls = DirectCalls()

    def function(x: Any, /) -> Array:
        try:
            trace = thread.trace
            if trace is EVAL_TRACE:
                try:
                    return calls[x.aval](x)
                except (AttributeError, KeyError):
                    pass  # no array, or of a type that was not met before
            aval = x.aval if hasattr(type(x), "aval") else None
            if aval is not None and aval.dtype in inexact_dtypes and (weak or not aval.weak_type):
                if trace is EVAL_TRACE:
                    return calls.apply(aval, primitive, (x,))
                return trace.process_primitive(primitive, (x,), {})  # what `bind` does, a call less
            (made,) = promote_inexact(name, x)
            return primitive.bind(made if weak else strong(made))
        except Exception as error:
            filter_traceback(error)
            raise

    made = _documented(function, name, documentation)
    made.__annotations__["x"] = "ArrayLike"  # what is asked of it above is not known of any
    return made


# --- two operands ---


def general_form(name: str, primitive: Primitive, boolean: Primitive | None = None) -> Binary:
    """Promotion, broadcasting, then the primitive; `boolean` in its place where both are booleans."""
    bind = primitive.bind

    def general(x: ArrayLike, y: object) -> Value:
        first, second = align(name, x, y)
        if boolean is not None and first.aval.dtype.kind == "b":
            return boolean.bind(first, second)
        return bind(first, second)

    return fused_pair(name, general)


def fast(primitive: Primitive, otherwise: Binary, direct_dtypes: set[np.dtype]) -> Binary:
    """`primitive` where the first array has one of these dtypes and the other operand fits it, else `otherwise`."""
    calls = DirectCalls()

    def function(x: Any, y: Any, /) -> Any:
        try:
            trace, first, second = thread.trace, type(x), type(y)
            if trace is EVAL_TRACE:
                try:
                    if second is float or second is int:  # 0.0 == -0.0, and they are two numbers
                        return calls[x.aval, second](x, scalar_operands[x.aval, second, y or str(y)])
                    if first is float or first is int:
                        return calls[first, y.aval](scalar_operands[y.aval, first, x or str(x)], y)
                    return calls[x.aval, y.aval](x, y)
                except (AttributeError, KeyError):
                    pass  # no array, a number or types that were not met before
            # Asked of the type: objects that stand for arrays may pass on what they are asked for.
            aval = x.aval if hasattr(first, "aval") else None
            other = y.aval if hasattr(second, "aval") else None
            if aval is not None and other is not None:
                key: Any = (aval, other)
                if aval is not other and key not in direct_pairs:
                    note_direct(aval, other)
                    return otherwise(x, y)
                if aval.dtype not in direct_dtypes:
                    return otherwise(x, y)
            elif aval is not None:
                number = number_beside(aval, y) if aval.dtype in direct_dtypes else None
                if number is None:
                    return otherwise(x, y)
                key, y = (aval, second), number
            else:
                number = number_beside(other, x) if other is not None and other.dtype in direct_dtypes else None
                if number is None:
                    return otherwise(x, y)
                key, x = (first, other), number
            if trace is EVAL_TRACE:
                return calls.apply(key, primitive, (x, y))
            return trace.process_primitive(primitive, (x, y), {})
        except Exception as error:
            filter_traceback(error)
            raise

    return function


def public_form(name: str, general: Binary, summary: str, example: str, **options: Any) -> Binary:
    """The public function of two operands; with `primitive`, the fast path is tried first, for the dtypes `direct`.

    `written`: the function itself, where it is to be found by its own name. `by_name`: whether the operands may be
    given as x1 and x2, as some of NumPy's functions allow. The function has the operation that its general
    form is, if it is one, as its attribute `fused`.
    """
    primitive = options.get("primitive")
    returns = options.get("returns", _ONE_DTYPE)
    if primitive is not None:
        function: Any = fast(primitive, general, options.get("direct", numeric_dtypes))
    elif options.get("written") is not None:
        function = api_boundary(options["written"])
    elif options.get("by_name"):

        def named(x1: ArrayLike, x2: ArrayLike) -> Array:
            return general(x1, x2)

        function = api_boundary(named)
        documentation = binary_documentation(summary, _of_named(returns), example, "x1, x2")
        return _with_operation(_documented(function, name, documentation), general)
    else:

        def of_two(x: ArrayLike, y: ArrayLike, /) -> Array:
            return general(x, y)

        function = api_boundary(of_two)
    return _with_operation(_documented(function, name, binary_documentation(summary, returns, example)), general)


def _with_operation(function: Any, general: Binary) -> Any:
    function.fused = getattr(general, "fused", None)
    return function


def _of_named(returns: str) -> str:
    return returns.replace("`x`", "`x1`").replace("`y`", "`x2`")


def operator_form(
    name: str, symbol: str, general: Binary, primitive: Primitive | None = None, direct: Any = numeric_dtypes
) -> Binary:
    """What arrays call for an operator: the same fast path, NotImplemented for operands that are no arrays."""

    def guarded_operator(x: object, y: object) -> object:
        try:
            return general(x, y) if acceptable(symbol, x, y) else NotImplemented
        except Exception as error:  # it is in the class, where nothing else would do it
            filter_traceback(error)
            raise

    function: Any = guarded_operator if primitive is None else fast(primitive, guarded_operator, direct)
    return _documented(function, name, f"The operator {symbol} of arrays.")


def acceptable(symbol: str, x: object, y: object) -> bool:
    """Whether both operands are arrays or numbers. Raises TypeError for sequences.

    An array beside a list would otherwise end in Python's own message, or in a comparison by identity.
    """
    for value in (x, y):
        if type(value) in _NUMBERS or isinstance(value, Array):
            continue
        if not isinstance(value, ARRAY_LIKE) and not can_represent_array(value):
            if type(value) in _SEQUENCES:
                kinds = f"{type(x).__name__!r} and {type(y).__name__!r}"
                raise TypeError(
                    f"unsupported operand types for {symbol}: {kinds}; convert sequences with tangrad.numpy.asarray"
                )
            return False
    return True


def binary_pair(
    name: str, symbol: str, primitive: Primitive, general: Binary, summary: str, example: str, **options: object
) -> tuple[Any, Any]:
    """The public function and the operator of one operation."""
    public = public_form(name, general, summary, example, primitive=primitive, **options)
    return public, operator_form(name, symbol, general, primitive, options.get("direct", numeric_dtypes))


# --- documentation ---


def _documented(function: Callable[..., object], name: str, documentation: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation
    return own_boundary(function)


def unary_documentation(summary: str, returns: str, example: str) -> str:
    """The docstring of a function of one operand."""
    return _documentation(summary, "x: an array or number.", returns, "", example)


def binary_documentation(summary: str, returns: str, example: str, operands: str = "x, y") -> str:
    """The docstring of a function of two operands."""
    arguments = f"{operands}: arrays or numbers, broadcast against each other."
    return _documentation(summary, arguments, returns, "    ValueError: for shapes that do not fit.\n", example)


def _documentation(summary: str, arguments: str, returns: str, raises: str, example: str) -> str:
    return (
        f"{summary}\n\nArgs:\n    {arguments}\n\nReturns:\n    {returns}\n\nRaises:\n"
        f"    TypeError: for what is no array or number, and for dtypes that the operation does not take.\n{raises}\n"
        f">>> import tangrad\n>>> {example}\n"
    )
