"""`Dimension`: a size that is no number yet, and the primitive of its value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tangrad._lax.symbolic.normal import UNIT, ZERO, extremum, normal, quotient, remainder
from tangrad._lax.symbolic.polynomials import MAX, MIN, InconclusiveDimensionOperation, Polynomial, number
from tangrad._lax.symbolic.proofs import Interval, Knowledge, interval, never_negative
from tangrad._lax.symbolic.solving import INTEGERS, evaluate_polynomial, filled_in, plan
from tangrad.core import Array, PrimitiveSet, ShapedArray, as_array, dtypes, literal
from tangrad.core.arguments import SymbolicDimension, is_symbolic, max_size

if TYPE_CHECKING:
    from tangrad.typing import DType, Params, Value


# --- The value of a dimension: what a symbolic dimension is where a program computes with it ---


dimensions = PrimitiveSet("dimensions", api=1)


def _value(*, dimension: object, dtype: DType) -> Any:
    """Of a size that is a number."""
    if is_symbolic(dimension):
        raise ValueError(
            f"the dimension {dimension} has no value here: symbolic dimensions are computed with in exported programs, "
            "whose arguments determine their sizes"
        )
    return literal(dimension, dtype, True)


def _evaluated(_: object, params: Params) -> Array:
    return as_array(_value(**params))


@dimensions.primitive(name="dimension_as_value", weak_type="own", evaluate=_evaluated, decompose=_value)
def dimension_as_value_p(*, dimension: object, dtype: DType) -> ShapedArray:
    """A dimension, symbolic or a number, as an integer without dimensions, weakly typed."""
    return ShapedArray((), dtypes.as_dtype(dtype), True)


# ----------------------------------------------------------------------------------------------------------------------
# `Dimension`: a size that is no number yet. It calculates and compares like an integer, as far as that is decided.


class Dimension(SymbolicDimension):
    """A polynomial in dimension variables, for shapes; made by `symbolic_shape`, immutable.

    `+ - * // % **` give dimensions or, where the variables cancel, integers. `==` is true where both are always the
    same, and false elsewhere. `<`, `<=`, `>`, `>=` and `bool` raise InconclusiveDimensionOperation where the answer
    depends on the sizes. With floating-point numbers and arrays, and in `/`, it is an array of an integer.

    Attributes:
        scope: the `SymbolicScope` of its variables.
        polynomial: its canonical form.

    >>> from tangrad.export import symbolic_shape
    >>> a, b = symbolic_shape("a, b")
    >>> (a + b) * (a - b), 2 * a - a - a, (4 * a + 2) // 4
    (a^2 - b^2, 0, a)
    >>> a + 1 > 1, a * b >= b
    (True, True)
    """

    __slots__ = ("__weakref__", "polynomial", "scope")
    __array_priority__ = 100  # NumPy's arrays leave mixed arithmetic to this class
    __array_ufunc__ = None
    scope: Any
    polynomial: Polynomial

    def __init__(self, scope: Knowledge, polynomial: Polynomial) -> None:
        self.scope = scope
        self.polynomial = polynomial

    def __repr__(self) -> str:
        return self.polynomial.text

    def __hash__(self) -> int:
        return hash(self.polynomial)

    def __eq__(self, other: object) -> bool:
        return type(other) is Dimension and self.scope is other.scope and self.polynomial == other.polynomial

    def __copy__(self) -> Dimension:
        return self

    def __deepcopy__(self, _: object) -> Dimension:
        return self

    def variables(self) -> tuple[str, ...]:
        """The names of its variables, sorted."""
        return tuple(sorted(self.polynomial.variables()))

    def bounds(self) -> Interval:
        """The integers (or infinities) that bound it, by interval arithmetic: both ends are safe, not tight."""
        return interval(self.polynomial, self.scope)

    def evaluate(self, sizes: Any, arithmetic: Any = None) -> int:
        return evaluate_polynomial(self.polynomial, sizes, arithmetic or INTEGERS)

    def extremum(self, largest: bool, sizes: tuple[object, ...]) -> Any:
        return _extremum(self.scope, largest, sizes)

    def plan(self, shapes: Any, labels: Any = ()) -> Any:
        return plan(shapes, labels)

    def filled_in(self, value: Any, sizes: Any) -> Any:
        return filled_in(value, sizes)

    def __tangrad_array__(self) -> Value:
        return dimension_as_value_p.bind(dimension=self, dtype=dtypes.default_int_dtype())

    # --- arithmetic ---

    def __neg__(self) -> int | Dimension:
        return dimension(self.scope, self.polynomial.scaled(-1))

    def __pos__(self) -> Dimension:
        return self

    def __abs__(self) -> int:
        return max_size(self, -self)

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is not int or exponent < 0:
            return self.__tangrad_array__() ** exponent
        result: Any = 1
        for _ in range(exponent):
            result = result * self
        return result

    def __truediv__(self, other: Any) -> Value:
        return self.__tangrad_array__() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.__tangrad_array__()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    # --- comparisons ---

    def __ge__(self, other: object) -> bool:
        return _compared(self, other, ">=", 1)

    def __le__(self, other: object) -> bool:
        return _compared(self, other, "<=", -1)

    def __gt__(self, other: object) -> bool:
        return _negated(_compared(self, other, ">", -1))

    def __lt__(self, other: object) -> bool:
        return _negated(_compared(self, other, "<", 1))

    def __bool__(self) -> bool:
        if never_negative(self.polynomial - UNIT, self.scope):
            return True
        if never_negative(self.polynomial.scaled(-1) - UNIT, self.scope):
            return True
        raise InconclusiveDimensionOperation(
            f"whether the dimension {self} is 0 depends on the sizes. If it never is, say so: "
            f'symbolic_shape(..., constraints=("{self} >= 1",))'
        )

    # --- no number ---

    def __index__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"the dimension {self} is no number yet: what needs its value is computed with arrays instead "
            f"(tangrad.numpy.array({self})), or is not to be had of symbolic dimensions"
        )

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __reduce__(self) -> Any:
        raise TypeError(
            f"the dimension {self} belongs to a scope of this process and is not pickled: pickle its text, and parse "
            "it with symbolic_shape"
        )


def dimension(scope: Knowledge, polynomial: Polynomial) -> Dimension | int:
    """A polynomial as a size: an integer where it is constant, else a `Dimension`, in canonical form."""
    polynomial = normal(polynomial, scope)
    constant = polynomial.constant
    return Dimension(scope, polynomial) if constant is None else constant


def polynomial_of(value: Any, scope: object) -> Polynomial | None:
    """A size as a polynomial; None for what is no size. Raises ValueError for a dimension of another scope."""
    if type(value) is Dimension:
        if value.scope is not scope:
            raise ValueError(
                f"the dimension {value} belongs to another scope than what it meets here: variables of one program "
                "come from one scope; pass scope=... to symbolic_shape, or write all shapes in one call"
            )
        return value.polynomial
    if isinstance(value, (bool, float, complex)) or getattr(value, "shape", ()) != ():
        return None
    if hasattr(type(value), "aval"):
        return None
    try:
        return number(operator.index(value))
    except TypeError:
        return None


def _arithmetic(name: str, of_polynomials: Callable[[Polynomial, Polynomial, Knowledge], Polynomial]) -> None:
    """Give `Dimension` a binary operator, and its reflection."""
    on_values = getattr(operator, f"__{name}__")

    def method(self: Dimension, other: object) -> Any:
        polynomial = polynomial_of(other, self.scope)
        if polynomial is None:
            return _with_values(on_values, self, other)
        return dimension(self.scope, of_polynomials(self.polynomial, polynomial, self.scope))

    def reflected(self: Dimension, other: object) -> object:
        polynomial = polynomial_of(other, self.scope)
        if polynomial is None:
            return _with_values(lambda one, another: on_values(another, one), self, other)
        return dimension(self.scope, of_polynomials(polynomial, self.polynomial, self.scope))

    for prefix, made in (("__", method), ("__r", reflected)):
        made.__name__ = f"{prefix}{name}__"
        made.__qualname__ = f"Dimension.{made.__name__}"
        setattr(Dimension, made.__name__, made)


def _with_values(function: Callable[..., object], size: Dimension, other: object) -> object:
    """Arithmetic with what is no size: a number or an array. NotImplemented for anything else."""
    if isinstance(other, (bool, float, complex)) or hasattr(other, "dtype"):
        return function(size.__tangrad_array__(), other)
    return NotImplemented


_arithmetic("add", lambda a, b, _: a + b)
_arithmetic("sub", lambda a, b, _: a - b)
_arithmetic("mul", lambda a, b, _: a * b)
_arithmetic("floordiv", quotient)
_arithmetic("mod", remainder)


def _extremum(scope: Any, largest: bool, sizes: tuple[object, ...]) -> int | Dimension:
    kind = MAX if largest else MIN
    operands = [found for size in sizes if (found := polynomial_of(size, scope)) is not None]
    if len(operands) < len(sizes):
        raise TypeError(f"{kind} of sizes takes integers and dimensions, got {sizes}")
    return dimension(scope, extremum(kind, operands, scope))


def _compared(one: Dimension, other: Any, sign: str, direction: int) -> bool:
    """Whether `one - other`, times the direction, is never negative; NotImplemented for what is no size."""
    polynomial = polynomial_of(other, one.scope)
    if polynomial is None:
        if isinstance(other, (bool, float)) or hasattr(other, "dtype"):
            return _ON_VALUES[sign](one.__tangrad_array__(), other)
        return NotImplemented
    difference = (one.polynomial - polynomial).scaled(direction)
    if difference == ZERO or never_negative(difference, one.scope):
        return True
    if never_negative(difference.scaled(-1) - UNIT, one.scope):
        return False
    raise inconclusive(f"{one} {sign} {other}", *_as_constraints(one, other, sign))


def _as_constraints(one: Any, other: int, sign: str) -> tuple[str, str]:
    """The comparison, and its contrary, in the words of constraints, which know `>=` and `==` alone."""
    return {
        ">=": (f"{one} >= {other}", f"{other} >= {one + 1}"),
        "<=": (f"{other} >= {one}", f"{one} >= {other + 1}"),
        ">": (f"{one} >= {other + 1}", f"{other} >= {one}"),
        "<": (f"{other} >= {one + 1}", f"{one} >= {other}"),
    }[sign]


def inconclusive(question: str, always: str, never: str) -> InconclusiveDimensionOperation:
    """The error of a comparison that is true for some sizes and false for others."""
    return InconclusiveDimensionOperation(
        f"whether {question} depends on the sizes. If it always holds, say so: "
        f'symbolic_shape(..., constraints=("{always}",)); if it never does: ("{never}",)'
    )


_ON_VALUES = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def _negated(answer: bool) -> bool:
    """`a < b` is `not a >= b`; what is no answer about sizes is handed on."""
    return not answer if answer is True or answer is False else answer
