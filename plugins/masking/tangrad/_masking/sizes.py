"""The sizes of one call of a masked function, and how `mask` rules are written:
`(args, shapes, *, sizes, **params) -> results`.

`args` are padded arrays, `shapes` their logical shapes, in which some sizes are symbolic; `params` are as the function
saw them. The results are padded arrays of whatever logical shapes the primitive infers: what is beyond these may be
anything. `sizes` is a `Sizes`: it knows padded and logical sizes, and fills what does not count.

Nothing beyond a logical size may reach a result, nor a derivative. So a rule that brings together elements of different
positions fills its operands first with what does not matter; and one whose transpose does so (a broadcast is that of a
sum) fills its results with 0, or what comes back at positions that do not count, NaN perhaps, would be added to a
cotangent that does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.core import Array, Literal, Primitive, RuleSet, dtypes, literal
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import (
    add_p,
    and_p,
    broadcast_in_dim_p,
    div_p,
    iota_p,
    lt_p,
    max_p,
    min_p,
    mul_p,
    ne_p,
    rem_p,
    select_n_p,
    sub_p,
)
from tangrad.extend.symbolic import INTEGERS, Arithmetic, evaluate

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, Params, Value, Values


# --- The error of shapes that are not what is written of them ---------------------------------------------------------


class ShapeError(ValueError):
    """A function's result has another shape than in its spec.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.shapecheck(["(m, n)", "n"], "n")(lambda A, b: np.dot(A, b))
    Traceback (most recent call last):
        ...
    tangrad._masking.sizes.ShapeError: the result is of shape (m,), but its spec 'n' means (n,)
    """


# ----------------------------------------------------------------------------------------------------------------------
# The sizes of one call of a masked function: of each dimension variable the padded size, and the logical one.


INT32 = np.dtype("int32")


def number(value: Any) -> Value:
    """A size as an operand: an integer becomes a literal of dtype int32."""
    return literal(value, INT32) if type(value) is int else value


def _floored(a: Value, b: Value) -> Value:
    """The quotient rounded down; the primitive rounds towards 0."""
    quotient, zero = div_p.bind(a, b), literal(0, INT32)
    left = rem_p.bind(a, b)
    differs = ne_p.bind(lt_p.bind(left, zero), lt_p.bind(b, zero))
    below = and_p.bind(differs, ne_p.bind(left, zero))
    return select_n_p.bind(below, quotient, sub_p.bind(quotient, literal(1, INT32)))


ARRAYS = Arithmetic(
    number,
    add_p.bind,
    mul_p.bind,
    _floored,
    lambda a, b: sub_p.bind(a, mul_p.bind(_floored(a, b), b)),
    max_p.bind,
    min_p.bind,
)


class Sizes:
    """What rules ask: how large a dimension is, and what is within.

    Attributes:
        padded_sizes: for each variable the size that arrays have, an integer.
        logical_sizes: for each variable the size that counts, an integer, or a scalar of dtype int32, maybe traced.
    """

    __slots__ = ("_arithmetic", "logical_sizes", "padded_sizes")

    def __init__(self, padded_sizes: Mapping[str, int], logical_sizes: Mapping[str, object]) -> None:
        self.padded_sizes = padded_sizes
        known = all([type(size) is int for size in logical_sizes.values()])
        self.logical_sizes = {name: size if known else number(size) for name, size in logical_sizes.items()}
        self._arithmetic = INTEGERS if known else ARRAYS

    def padded(self, value: object) -> Any:
        """A size, or a parameter with sizes in it, as arrays have it: in integers."""
        if is_symbolic(value):
            return evaluate(value, self.padded_sizes)
        if type(value) is tuple and any([is_symbolic(item) or type(item) is tuple for item in value]):
            return tuple([self.padded(item) for item in value])
        return value

    def padded_params(self, params: Mapping[str, object]) -> Params:
        """Parameters with the padded sizes in the place of the symbolic ones."""
        return {name: self.padded(value) for name, value in params.items()}

    def logical(self, size: object) -> Any:
        """A size that counts: an integer where all are known, else maybe a scalar of dtype int32."""
        return evaluate(size, self.logical_sizes, self._arithmetic) if is_symbolic(size) else size

    def valid(self, shape: Sequence[object], along: Collection[int] | None = None) -> Value | None:
        """Which elements of a padded array count: booleans of its padded shape; None where all do.

        Args:
            shape: its logical shape.
            along: the dimensions whose padding is asked for; None: all.
        """
        padded = self.padded(tuple(shape))
        found = None
        for dimension, size in enumerate(shape):
            if is_symbolic(size) and (along is None or dimension in along):
                positions = iota_p.bind(dtype=INT32, shape=padded, dimension=dimension)
                within = lt_p.bind(positions, number(self.logical(size)))
                found = within if found is None else and_p.bind(found, within)
        return found

    def fill(self, x: Value, shape: Sequence[object], value: object, along: Collection[int] | None = None) -> Any:
        """A padded array with `value` in the place of all that does not count.

        Args:
            x: the array; random keys and the like are returned as they are.
            shape: its logical shape.
            value: a number, or an array without dimensions.
            along: the dimensions whose padding is replaced; None: all.
        """
        dtype = x.aval.dtype
        if isinstance(dtype, dtypes.ExtendedDType) or dtype == dtypes.float0:
            return x
        valid = self.valid(shape, along)
        if valid is None:
            return x
        scalar = value if hasattr(type(value), "aval") else literal(value, dtype, x.aval.weak_type)
        around = broadcast_in_dim_p.bind(scalar, shape=valid.aval.shape, broadcast_dimensions=())
        return select_n_p.bind(valid, around, x)


def positionwise(mask: RuleSet, *primitives: Primitive) -> None:
    """Register the rule of primitives whose results depend, at each position, on their operands at that position.

    Operands without dimensions beside others are repeated first.
    """
    for primitive in primitives:
        mask.add(primitive, positionwise_rule(primitive))


def positionwise_rule(primitive: Primitive) -> Callable[..., Array | Literal]:
    def rule(args: Values, shapes: Sequence[Dimensions], *, sizes: Sizes, **params: object) -> Value:
        shape = next((shape for shape in shapes if shape), ())
        operands = [
            arg if own or type(arg) is Literal else repeated(arg, (), shape, (), sizes)
            for arg, own in zip(args, shapes)
        ]
        return primitive.bind(*operands, **sizes.padded_params(params))

    return rule


def repeated(
    x: Value, own_shape: Sequence[object], shape: Sequence[object], dimensions: tuple[int, ...], sizes: Sizes
) -> Value:
    """An array repeated to a logical shape; what does not count is 0, and adds nothing to a cotangent of `x`.

    Args:
        own_shape: the logical shape of `x`; `dimensions`: which dimensions of the result its dimensions become.
    """
    out = broadcast_in_dim_p.bind(x, shape=sizes.padded(tuple(shape)), broadcast_dimensions=dimensions)
    kept = {target for target, size in zip(dimensions, own_shape) if size == shape[target]}
    is_new = any([is_symbolic(size) and d not in kept for d, size in enumerate(shape)])
    return sizes.fill(out, shape, 0) if is_new and type(x) is not Literal else out


def whole(mask: RuleSet, *primitives: Primitive) -> None:
    """Register the rule of primitives that take padded arrays as they are, each position by itself, in any layout."""
    for primitive in primitives:
        mask.add(primitive, whole_rule(primitive))


def whole_rule(primitive: Primitive) -> Callable[..., Value | Values]:
    return lambda args, shapes, *, sizes, **params: primitive.bind(*args, **sizes.padded_params(params))


def filled(mask: RuleSet, primitive: Primitive, value: Callable[[np.dtype], object]) -> None:
    """Register the rule of a primitive of one operand that brings its positions together.

    Args:
        value: `dtype -> number`: what does not count is replaced by it, as it must change nothing.
    """
    mask.add(primitive, filled_rule(primitive, value))


def filled_rule(primitive: Primitive, value: Callable[[np.dtype], object]) -> Callable[..., Value | Values]:
    def rule(args: Values, shapes: Sequence[Dimensions], *, sizes: Sizes, **params: object) -> Value:
        (x,), (shape,) = args, shapes
        filled_x = sizes.fill(x, shape, value(x.aval.dtype))
        return primitive.bind(filled_x, **sizes.padded_params(params))

    return rule


def stacked(mask: RuleSet, ranks: Mapping[Primitive, int | Sequence[int]]) -> None:
    """Register the rule of primitives of matrices and the like, whose leading dimensions may be padded, and no others.

    Args:
        ranks: for each primitive the number of last dimensions that belong together; one for each operand, or for all.
    """
    for primitive, rank in ranks.items():
        mask.add(primitive, stacked_rule(primitive, rank))


def stacked_rule(primitive: Primitive, ranks: int | Sequence[int]) -> Callable[..., Value | Values]:
    def rule(args: Values, shapes: Sequence[Dimensions], *, sizes: Sizes, **params: object) -> Value | Values:
        counts = [ranks] * len(args) if isinstance(ranks, int) else ranks
        for shape, count in zip(shapes, counts):
            check_whole(primitive, shape, range(len(shape) - count, len(shape)))
        avals = tuple([arg.aval.update(shape=shape) for arg, shape in zip(args, shapes)])
        inferred = primitive.infer(avals, params)
        operands = [sizes.fill(arg, shape, 0) for arg, shape in zip(args, shapes)]
        out = primitive.bind(*operands, **sizes.padded_params(params))
        if not primitive.multiple_results:
            return sizes.fill(out, inferred.shape, 0)
        return tuple([sizes.fill(one, aval.shape, 0) for one, aval in zip(out, inferred, strict=True)])

    return rule


def check_whole(primitive: Primitive, shape: Sequence[object], dimensions: Iterable[int]) -> None:
    """Raise NotImplementedError for a primitive that cannot be applied over masked sizes, where there are some."""
    if any([is_symbolic(shape[d]) for d in dimensions]):
        raise NotImplementedError(
            f"mask: {primitive.identity!r} over a dimension whose size is masked, of shape {tuple(shape)}; only other "
            "dimensions of it may be padded"
        )


# The forms by their names, which need no import: `mask.form("whole", sort_p)`.
FORMS: dict[str, Callable[..., Callable[..., Value | Values]]] = {
    "positionwise": positionwise_rule,
    "whole": whole_rule,
    "filled": filled_rule,
    "stacked": stacked_rule,
}
