"""How results are sharded, given how operands are: rules of kind `sharding`, for values with explicit shardings.

A rule gets, for each operand, its type and the axes that cut each dimension, and the types of the results without such;
it gives for each result the axes, or a whole type. What only the user can decide is an error that names
what to write. Primitives that carry programs need no rule: the types of the programs' results are the answer.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._sharding.manual_types import (
    NOTHING,
    Combining,
    Unclear,
    UnreducedKind,
    cases,
    check_divides,
    linear_in,
    of_any,
    of_collective,
    of_type,
    product_of,
    quotient_of,
)
from tangrad._sharding.primitives import auto_axes_p, is_of_parts
from tangrad.core import (
    AbstractValue,
    Primitive,
    RuleKind,
    RuleSet,
    ShapedArray,
    as_array,
    as_operand,
    calls_rules,
    dtypes,
    get_aval,
    rule_table,
    trace_to_closed_jaxpr,
)
from tangrad.core.backends import AbstractToken
from tangrad.core.caches import free_after_fork, register_cache
from tangrad.core.tools import sub_jaxprs

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.core.protocols import ShardingRule
    from tangrad.typing import ArrayLike, Params, Value


Axes = tuple[tuple[Hashable, ...], ...]  # for each dimension, the axes of the mesh that cut it

SHARDING = rule_table("sharding")
_known: set[Primitive] = set()  # those that remember types which rules have returned


@register_cache
def clear_caches() -> None:
    """Have primitives forget what rules returned: others may return something else."""
    while _known:
        _known.pop().clear_cache()


class ShardingTypeError(TypeError):
    """The sharding of a result is ambiguous, or those of operands do not go together.

    >>> import tangrad
    >>> from tangrad.sharding import AxisType, PartitionSpec as P, ShardingTypeError
    >>> mesh = tangrad.make_mesh((1,), ("x",), AxisType.Explicit)
    >>> with tangrad.set_mesh(mesh):
    ...     rows = tangrad.numpy.ones((2, 2), device=P("x"))
    ...     try:
    ...         rows.T @ rows
    ...     except ShardingTypeError:
    ...         print((tangrad.numpy.matmul(rows.T, rows, out_sharding=P())).shape)
    (2, 2)
    """


class Operand(NamedTuple):
    """One operand, as rules see it.

    Attributes:
        aval: its type.
        axes: for each dimension the axes that cut it.
    """

    aval: Any
    axes: Axes


@calls_rules("sharding")
def types_of_results(
    primitive: Primitive, avals: tuple[Any, ...], params: Params, infer: Callable[..., Any]
) -> ShapedArray | tuple[ShapedArray, ...]:
    """The types of a primitive's results, or of its one. Raises ShardingTypeError."""
    if SHARDING.cell(primitive).status != "rule" and next(sub_jaxprs(params), None) is not None:
        return infer(avals, params)
    _known.add(primitive)
    out = infer(tuple([aval.plain for aval in avals]), params)
    outs = out if primitive.multiple_results else (out,)
    model = _model(primitive, avals)
    operands = tuple([Operand(aval, axes_of_type(aval)) for aval in avals])
    try:
        rule = SHARDING[primitive]
        found = rule(operands, outs, params)
        if not _are_axes(found):
            raise TypeError(
                f"the sharding rule of {primitive.identity!r} returned {found!r}; expected a tuple with, for "
                "each result, a tuple of the axes that cut each of its dimensions"
            )
        stated = all([isinstance(axes, AbstractValue) for axes in found])
        how = NOTHING if stated else getattr(rule, "combining", of_any)(avals, outs)
        types = tuple([_typed(model, aval, axes, how) for aval, axes in zip(outs, found, strict=True)])
    except Unclear as unclear:
        raise ShardingTypeError(_message(primitive, avals, *unclear.args)) from None
    return types if primitive.multiple_results else types[0]


def _are_axes(found: object) -> bool:
    """Whether what a rule returned has, for each result, its type or a sequence of tuples of axes."""
    return isinstance(found, (tuple, list)) and all([isinstance(one, AbstractValue) or _cuts(one) for one in found])


def _cuts(axes: object) -> bool:
    return isinstance(axes, (tuple, list)) and all([isinstance(cut, tuple) for cut in axes])


def _message(primitive: Primitive, avals: Sequence[Any], why: str, what: str = "") -> str:
    """The text of an error; `what`: what kind of mistake it is, in the field's terms."""
    types = f"{what}: " * bool(what) + ", ".join([aval.str_short() for aval in avals])
    types = types if what else f"of {types}"
    if any([aval.infer_types is not None and is_of_parts(aval.placed) for aval in avals]):
        return (
            f"{primitive.name} {types}: {why}. Combine shares first (lax.psum, lax.psum_scatter), or mark operands "
            f"as the others are (lax.pcast)"
        )
    return (
        f"{primitive.name} {types}: {why}. State the result's sharding (out_sharding=, where the function has it; "
        f"tangrad.sharding.auto_axes(f, out_sharding=...) around any), or move an operand first: "
        f"tangrad.sharding.reshard(x, P(...))"
    )


def axes_of_type(aval: Any) -> Axes:
    """For each dimension the axes by which it is cut in a type."""
    return ((),) * len(aval.shape) if aval.infer_types is None else aval.axes


def _model(primitive: Primitive, avals: Sequence[Any]) -> object:
    """A type with the mesh that all have which have one."""
    sharded = [aval for aval in avals if aval.infer_types is not None]
    for aval in sharded[1:]:
        if aval.placed.mesh != sharded[0].placed.mesh:
            why = f"they are sharded over two meshes, {sharded[0].placed.mesh} and {aval.placed.mesh}"
            raise ShardingTypeError(_message(primitive, avals, why))
    return sharded[0]


def _typed(model: Any, aval: ShapedArray, axes: Any, how: Combining) -> Any:
    if isinstance(axes, AbstractValue):
        return axes
    if isinstance(aval, AbstractToken) or (not any(axes) and how == NOTHING):
        return aval
    sizes = model.placed.mesh.shape
    used: set[object] = {*how.unreduced, *how.reduced}
    for dimension, (size, cut) in enumerate(zip(aval.shape, axes, strict=True)):
        for axis in cut:
            if axis in used:
                what = (
                    "a dimension of the result, which is to be combined along it,"
                    if axis in how[0] | how[1]
                    else ("two dimensions of the result")
                )
                raise Unclear(f"{what} would be cut along the mesh axis {axis!r}")
            used.add(axis)
            if axis not in sizes:
                raise Unclear(f"the result is cut along {axis!r}, which is no axis of {model.placed.mesh}")
        check_divides(dimension, size, cut, sizes)
    return model.cut_by(axes, aval, how)


def missing_rule(primitive: Primitive) -> ShardingRule:
    """Of a primitive without a rule: nothing is known, unless it has no results, or operands are not cut at all."""

    def rule(operands: tuple[Operand, ...], results: tuple[Any, ...], params: Params) -> tuple[Axes, ...]:
        if results and any([cut for operand in operands for cut in operand.axes]):
            raise Unclear(f"there is no rule of kind 'sharding' for {primitive.identity!r}")
        return tuple([((),) * len(out.shape) for out in results])

    return rule


def rule_by_decomposition(primitive: Primitive) -> ShardingRule:
    """The rule of a primitive that consists of others: what theirs say."""

    def rule(operands: tuple[Operand, ...], results: tuple[Any, ...], params: Params) -> tuple[Any, ...]:
        def run(*args: Value) -> Sequence[Value]:
            # Not `decomposed`, which compares the types with the primitive's own: those are what is asked for.
            decompose: Any = primitive.decompose
            out = decompose(*args, **params)
            return out if primitive.multiple_results else (out,)

        closed = trace_to_closed_jaxpr(run, [operand.aval for operand in operands], primitive.name)
        typed = zip(closed.out_avals, results, strict=True)
        return tuple([out if aval.infer_types is None else aval.update(weak_type=out.weak_type) for aval, out in typed])

    return rule


# --- what rules are made of ---


def joined(axes: Sequence[Axes]) -> Axes:
    """Dimension by dimension: by what operands of one shape are cut together. Raises Unclear where they disagree."""
    found = list(axes[0])
    for other in axes[1:]:
        for dimension, cut in enumerate(other):
            if cut and found[dimension] and cut != found[dimension]:
                raise Unclear(
                    f"dimension {dimension} is cut along {found[dimension]} and along {cut}",
                    "got incompatible shardings for broadcasting",
                )
            found[dimension] = found[dimension] or cut
    return tuple(found)


def uncut_along(operand: Operand, dimensions: Sequence[int], what: str) -> None:
    """Raise Unclear for an operand that is cut along one of these dimensions, which `what` needs whole."""
    for dimension in dimensions:
        if operand.axes[dimension]:
            raise Unclear(f"{what} needs dimension {dimension} whole, and it is cut along {operand.axes[dimension]}")


def summed(operands: Sequence[Operand], cuts: Sequence[tuple[Hashable, ...]]) -> frozenset[Any]:
    """Of what cuts dimensions that a sum goes over, the axes along which it is to stay shares of the devices."""
    typed = [operand.aval.placed for operand in operands if operand.aval.infer_types is not None]
    return frozenset([axis for cut in cuts for axis in cut if all([axis in placed.summing for placed in typed])])


def with_shares(operand: Operand, result: ShapedArray, axes: Axes, unreduced: frozenset[Any]) -> Any:
    """The type of a result that is cut by axes, of which devices have shares along others."""
    return operand.aval.cut_by(axes, result, Combining(unreduced, frozenset(), UnreducedKind.sum))


def without(axes: Axes, dimensions: Sequence[int]) -> Axes:
    """Less some of the dimensions."""
    return tuple([cut for dimension, cut in enumerate(axes) if dimension not in dimensions])


def positionwise(rules: RuleSet[ShardingRule], *primitives: Primitive) -> None:
    """Register the rule of primitives whose results depend, at each position, on their operands at that position.

    Operands without dimensions are those of every position.
    """
    for primitive in primitives:
        rules.add(primitive, _positionwise)


def _positionwise(operands: tuple[Operand, ...], results: tuple[object, ...], params: Params) -> tuple[Axes, ...]:
    rank = max([len(operand.axes) for operand in operands])
    found = joined([operand.axes for operand in operands if len(operand.axes) == rank])
    return (found,) * len(results)


def along(name: str, rules: RuleSet[ShardingRule], *primitives: Primitive) -> None:
    """The same of primitives that need one dimension whole, whose number is their parameter `name`."""
    for primitive in primitives:
        rules.add(primitive, _along(primitive, name))


def _along(primitive: Primitive, name: str) -> ShardingRule:
    def rule(operands: tuple[Operand, ...], results: tuple[object, ...], params: Params) -> tuple[Axes, ...]:
        for operand in operands:
            uncut_along(operand, (params[name],), f"Arguments to {primitive.name} must be unsharded along {name}: it")
        return (joined([operand.axes for operand in operands]),) * len(results)

    return rule


def dropping(name: str, rules: RuleSet[ShardingRule], *primitives: Primitive) -> None:
    """Register the rule of primitives of one operand that do without the dimensions of their parameter `name`."""
    for primitive in primitives:
        rules.add(primitive, _dropping(primitive, name))


def _dropping(primitive: Primitive, name: str) -> ShardingRule:
    def rule(operands: tuple[Operand, ...], results: tuple[object, ...], params: Params) -> tuple[Axes, ...]:
        return (without(operands[0].axes, params[name]),) * len(results)

    return rule


def stacked(rules: RuleSet[ShardingRule], whole: dict[Primitive, int | tuple[int, ...]]) -> None:
    """Register the rule of primitives that work on each element of a stack by itself, such as on each matrix.

    Args:
        whole: how many dimensions at the end an element has, which must not be cut; for each operand, or for all. The
            dimensions before them are the stack's, and cut as all operands say.
    """
    for primitive, count in whole.items():
        rules.add(primitive, _stack_rule(primitive, count))


def _stack_rule(primitive: Primitive, whole: int | tuple[int, ...]) -> ShardingRule:
    def rule(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
        counts = (whole,) * len(operands) if isinstance(whole, int) else whole
        stacks = []
        for operand, count in zip(operands, counts, strict=True):
            at = len(operand.axes) - count
            uncut_along(operand, range(at, len(operand.axes)), primitive.name)
            stacks.append(operand.axes[:at])
        stack = joined(stacks)
        return tuple([(*stack, *[()] * (len(out.shape) - len(stack))) for out in results])

    return rule


def _anew(rule: ShardingRule) -> ShardingRule:
    """The same rule as another object, of which something may be noted."""
    return lambda operands, results, params: rule(operands, results, params)


# The forms by their names, which need no import: `sharding.form("along", sort_p, using=["dimension"])`.
FORMS: dict[str, Callable[..., ShardingRule]] = {
    "positionwise": lambda primitive: _positionwise,
    "linear": lambda primitive, rule=None: linear_in()(rule or _anew(_positionwise)),
    "product": lambda primitive: product_of(_anew(_positionwise)),
    "linear of cases": lambda primitive: cases(_anew(_positionwise)),
    "quotient": lambda primitive: quotient_of(_anew(_positionwise)),
    "along": _along,
    "dropping": _dropping,
    "stacked": _stack_rule,
}


sharding = RuleKind(
    "sharding",
    api=1,
    signature="(operands, results, params) -> axes of each result",
    doc="the mesh axes that cut each dimension of the results, given those of the operands, where types have shardings",
    derive=rule_by_decomposition,
    default=missing_rule,
    forms=FORMS,
    optional=True,
)


# --- Types of arrays with a sharding along the explicit axes of a mesh ---
# Such a type is that of shape and dtype (`plain`), and a sharding. What operations make of it is determined by rules of
# kind `sharding`: see `propagation`. Types are interned, so that caches compare them by identity.

_interned: weakref.WeakValueDictionary[object, ShardedType] = weakref.WeakValueDictionary()
_lock = free_after_fork(threading.RLock())


class ShardedType(ShapedArray):
    """A type that records along which explicit axes of a mesh each dimension is cut; along one at least.

    Attributes:
        plain: shape and dtype alone.
        placed: the sharding, a `NamedSharding` over devices that names explicit axes only, with an entry for each
            dimension.
    """

    __slots__ = ("placed", "plain")
    plain: ShapedArray
    placed: Any

    def __new__(cls, plain: ShapedArray, placed: Any) -> ShardedType:
        with _lock:
            found = _interned.get((plain, placed))
            if found is None:
                found = object.__new__(cls)
                found.shape, found.dtype, found.ndim = plain.shape, plain.dtype, plain.ndim
                found.weak_type, found.named_shape = plain.weak_type, plain.named_shape
                found.plain, found.placed = plain, placed
                _interned[plain, placed] = found
            return found

    def infer_types(
        self, primitive: Primitive, avals: tuple[object, ...], params: Params, infer: Callable[..., object]
    ) -> ShapedArray | tuple[ShapedArray, ...]:
        """The types of the results of a primitive, one of whose operands has such a type."""
        return types_of_results(primitive, avals, params, infer)

    @property
    def sharding(self) -> Any:
        """The sharding, by the shape of the mesh."""
        return self.placed.abstract()

    @property
    def axes(self) -> Axes:
        """For each dimension the axes that cut it."""
        return self.placed.dimension_axes(self.ndim)

    @property
    def stated(self) -> Any:
        """The sharding that results of the type must have; None where a compiler may cut them further."""
        return self.placed if self.placed.combining != NOTHING or not self.placed.mesh.auto_axes else None

    def cut_by(self, axes: Sequence[tuple[object, ...]], plain: ShapedArray, how: Combining = NOTHING) -> ShapedArray:
        """`plain` as a type that records by which axes of this mesh its dimensions are cut; `how` it is combined."""
        return self.placed.with_axes(axes, how).type_of(plain)

    def of_collective(self, plain: ShapedArray, axes: Axes, names: Sequence[Hashable], does: str) -> ShapedArray:
        """The type of what a collective along mapped axes makes of such values: `does` as of the function."""
        return self.cut_by(axes, plain, of_collective(self, names, does))

    @property
    def is_combined(self) -> bool:
        """Whether parts of values along some axes are still to be combined, or were, which cotangents record."""
        return self.placed.combining != NOTHING

    @property
    def dual(self) -> ShardedType:
        """The type of cotangents."""
        how = self.placed.combining
        return self if how == NOTHING else ShardedType(self.plain, self.placed.with_axes(self.axes, how.dual))

    def update(self, **changes: object) -> ShapedArray:
        """A copy with some parts replaced. A type of another shape has no sharding."""
        plain = self.plain.update(**changes)
        return ShardedType(plain, self.placed) if plain.shape == self.shape else plain

    def without_dimension(self, position: int) -> ShapedArray:
        """The type of the slices of an array along a dimension, which are sharded as the whole is."""
        plain = self.plain.update(shape=self.shape[:position] + self.shape[position + 1 :])
        return self.cut_by(self.axes[:position] + self.axes[position + 1 :], plain, self.placed.combining)

    def with_dimension(self, position: int, size: object) -> ShapedArray:
        """The type of a stack of arrays, along a new dimension that is not cut."""
        plain = self.plain.update(shape=(*self.shape[:position], size, *self.shape[position:]))
        return self.cut_by((*self.axes[:position], (), *self.axes[position:]), plain, self.placed.combining)

    def along_dimension(self, position: int) -> ShapedArray:
        """The type of masks along a dimension, sharded as the whole is."""
        return self.cut_by(self.axes[position : position + 1], ShapedArray((self.shape[position],), np.dtype(bool)))

    def of_rows(self, row: Any) -> ShapedArray:
        """Of vectors: the type of arrays of such rows, cut along the first dimension as the vectors are."""
        return self._widened(row.plain.update(shape=(*self.shape, *row.shape)), ((), *axes_of_type(row)), 0)

    def cut_as(self, dimension: int, value: Value, position: int) -> Value:
        """`value`, cut along its dimension at `position` as values of this type are along `dimension`."""
        aval, vectors = value.aval, self.along_dimension(dimension)
        if not isinstance(vectors, ShardedType):
            return value
        target: Any = vectors._widened(aval.plain, axes_of_type(aval), position, of_type(aval))
        return value if target is aval else target.constrain(value)

    def _widened(self, plain: ShapedArray, axes: Axes, position: int, how: Combining = NOTHING) -> ShapedArray:
        """Of vectors: a type that is cut along a dimension as they are, unless others use an axis already."""
        used = {*how.unreduced, *how.reduced, *[axis for cut in axes for axis in cut]}
        own = () if used.intersection(self.axes[0]) else self.axes[0]
        return self.cut_by((*axes[:position], own or axes[position], *axes[position + 1 :]), plain, how)

    def constrain(self, value: ArrayLike) -> Array:
        """A value of this shape, constrained to the sharding of the type."""
        return self.placed.constrain(value)

    def as_summed(self, value: ArrayLike, axes: frozenset[Any]) -> Array:
        """A value of this type, with one by which sums over what axes cut stay shares of the devices."""
        if is_of_parts(self.placed):  # no axis that is left cuts them
            return as_array(as_operand(value))
        return self.placed.with_axes(self.axes, self.placed.combining).with_summing(axes).constrain(value)

    def as_plain(self, value: Any) -> Array:
        """A value of this type, with the plain type."""
        if self.placed.combining.unreduced or is_of_parts(self.placed):
            value = self.placed.with_axes(self.axes).constrain(value)
        return auto_axes_p.bind(value, axes=None) if get_aval(value).infer_types is not None else value

    def _dimensions(self) -> str:
        dimensions = [
            f"{size}@{axes[0] if len(axes) == 1 else axes}" if axes else str(size)
            for size, axes in zip(self.shape, self.axes, strict=True)
        ]
        names = "".join([f";{name}:{size}" for name, size in self.named_shape])
        pairs = zip("UR", self.placed.combining)
        names += "".join([f"{{{letter}:{','.join(sorted(map(str, axes)))}}}" for letter, axes in pairs if axes])
        return f"[{','.join(dimensions)}{names}]"

    def to_tangent_aval(self) -> ShapedArray:
        if dtypes.issubdtype(self.dtype, np.inexact):
            return self
        return self.plain.to_tangent_aval()

    def __reduce__(self) -> tuple[object, ...]:
        return ShardedType, (self.plain, self.placed)
