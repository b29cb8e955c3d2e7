"""What lowering rules are written with.

How to write the lowerings of a family (lower/elementwise.py is the exemplar):

- One file `lower/<family>.py` holds `lower = RuleSet("lower.xla", api=1)` and a table `primitive -> rule`; rules that
  do not fit in a line stand below it, named, with `@lower.rule(primitive)`. Rules for one platform only go into a
  rule set of kind `lower.xla.cpu`, `lower.xla.cuda`, … Entry points: group `tangrad.rules.lower.xla`, named as the
  family.
- A rule is `rule(ctx, *operands, **params)`: one MLIR value for each input of `ctx.eqn`, and the equation's
  parameters by name. It returns the value of the result, or a tuple of values if the primitive has several. Avals
  have been checked already: take types and shapes from `ctx.out_aval`, `ctx.in_avals`, never from `value.type`, which
  costs as much as an operation.
- `ctx.op(name, type, operands, attributes)` adds an operation with one result and returns the result; `ctx.ops(...)`
  is for several results or regions. Names are full (`stablehlo.add`, `chlo.erf`); attributes are a dictionary with
  the names of the StableHLO specification, made and remembered by `ctx.vocabulary`: `integers((0, 1))` for dimension
  lists, `integer(3)`, `integer32`, `string`, `elements(array)`, `parsed("#stablehlo<...>")` for all others. Where an
  operation has segments of operands, StableHLO wants no attribute for them, except for those it documents.
- `ctx.types[aval]` is the type of an aval. Make one for an intermediate value with `aval.update(...)`.
- `ctx.constant(array)`, `full(ctx, value, aval)`, `compare(...)`, `reduce(...)` and the rest of this file are the
  vocabulary; extend it rather than repeat it.
- Rank-0 operands beside shaped ones: `elementwise` and `broadcast_operands` handle them. StableHLO itself never
  broadcasts.
- A primitive that is best expressed by others gets a decomposition, not a lowering. Use the operations that JAX uses
  where there is a choice: the optimised programs are compared with JAX's.
- Jaxprs among the parameters: `ctx.inline(closed, operands)` lowers one in place, `ctx.call(closed, operands, name)`
  as a function of the module, and `ctx.region(operation, i, types)` gives a context for a region, ended by `give`.
- Shapes may hold symbolic dimensions: take sizes from avals. `broadcast`, `reshape`, `iota`, `pad`, `part` and
  `window` choose the operations that take their sizes as operands; `ctx.size(size)` is the value of a size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from tangrad._backend_xla.dimension_values import SIZE, Arithmetic, has_symbolic, shape_value, vector
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import ClosedJaxpr, ShapedArray, dtypes
from tangrad.dtypes import ExtendedDType

if TYPE_CHECKING:
    from collections.abc import Mapping

    RuleT = TypeVar("RuleT", bound=Callable[..., object])

    from jaxlib.mlir import ir

    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.manual import MappedAxes
    from tangrad._backend_xla.mlir import IrAttribute, IrOperation, IrType, IrValue
    from tangrad.core import Effect
    from tangrad.typing import Dimensions, DType


__all__ = [
    "accumulate", "broadcast", "broadcast_operands", "by_platform", "compare", "comparison", "comparison_kind",
    "convert", "custom_call", "elementwise", "fill_body", "full", "iota", "pad", "part", "physical_aval",
    "reduce", "reduce_by", "reducer", "reshape", "same_type", "scalar", "select", "transpose", "window",
]  # fmt: skip

Rule = Callable[..., "IrValue"]
Number: TypeAlias = complex | np.number | np.bool_ | np.ndarray
BOOL = dtypes.as_dtype(bool)


# --- rules in one line -----------------------------------------------------------------------------------------------


def elementwise(name: str, attributes: Callable[..., dict[str, IrAttribute]] | None = None) -> Rule:
    """The rule of an operation that works element by element; operands of rank 0 are broadcast.

    `attributes(ctx, **params)` makes the operation's attributes of the equation's parameters.
    """

    def rule(ctx: FunctionContext, *operands: IrValue, **params: object) -> IrValue:
        out = ctx.eqn.outvars[0].aval
        for atom in ctx.eqn.invars:
            if atom.aval.shape != out.shape:
                operands = tuple(broadcast_operands(ctx, operands, out.shape))
                break
        return ctx.op(name, ctx.types[out], operands, None if attributes is None else attributes(ctx, **params))

    return rule


def comparison(direction: str, total_order: bool = False) -> Rule:
    """The rule of a comparison: EQ, NE, LT, LE, GT or GE."""

    def rule(ctx: FunctionContext, x: IrValue, y: IrValue) -> IrValue:
        out = ctx.eqn.outvars[0].aval
        aval = ctx.eqn.invars[0].aval
        x, y = broadcast_operands(ctx, (x, y), out.shape)
        if isinstance(aval.dtype, ExtendedDType):
            return compare_keys(ctx, direction, x, y, aval.update(shape=out.shape))
        kind = "TOTALORDER" if total_order and dtypes.issubdtype(aval.dtype, np.inexact) else None
        return compare(ctx, direction, x, y, aval.update(shape=out.shape), kind)

    return rule


def by_platform(rule: RuleT) -> RuleT:
    """Mark a rule for all platforms that asks which one it is for: in a program for several it is run for each."""
    vars(rule)["by_platform"] = True
    return rule


# --- values ----------------------------------------------------------------------------------------------------------


def scalar(ctx: FunctionContext, value: Number, dtype: np.dtype) -> IrValue:
    """A constant of rank 0."""
    return ctx.constant(np.asarray(value, dtype))


def full(ctx: FunctionContext, value: Number, aval: ShapedArray) -> IrValue:
    """An array of the aval's type, filled with one number; of an extended dtype, each number inside the elements."""
    inner = physical_aval(aval)
    constant = ctx.constant(np.asarray(value, inner.dtype))
    return broadcast(ctx, constant, inner, ()) if inner.shape else constant


def iota(ctx: FunctionContext, aval: ShapedArray, dimension: int) -> IrValue:
    """The indices along a dimension."""
    if ctx.sizes and has_symbolic(aval.shape):
        attributes = {"iota_dimension": ctx.vocabulary.integer(dimension)}
        return ctx.op("stablehlo.dynamic_iota", ctx.types[aval], (shape_value(ctx, aval.shape),), attributes)
    return ctx.op("stablehlo.iota", ctx.types[aval], (), {"iota_dimension": ctx.vocabulary.integer(dimension)})


def broadcast(ctx: FunctionContext, x: IrValue, out_aval: ShapedArray, dimensions: Sequence[int]) -> IrValue:
    """`x` broadcast to the aval's shape: dimension i of `x` becomes `dimensions[i]`."""
    out = physical_aval(out_aval)
    extra = tuple(range(len(out_aval.shape), len(out.shape)))  # the dimensions inside an element of an extended dtype
    attributes = {"broadcast_dimensions": ctx.vocabulary.integers((*dimensions, *extra))}
    if ctx.sizes and has_symbolic(out.shape):
        operands = (x, shape_value(ctx, out.shape))
        return ctx.op("stablehlo.dynamic_broadcast_in_dim", ctx.types[out_aval], operands, attributes)
    return ctx.op("stablehlo.broadcast_in_dim", ctx.types[out_aval], (x,), attributes)


def broadcast_operands(ctx: FunctionContext, operands: Sequence[IrValue], shape: Dimensions) -> list[IrValue]:
    """The equation's operands, those of rank 0 broadcast to `shape`."""
    return [
        value if atom.aval.shape == shape else broadcast(ctx, value, atom.aval.update(shape=shape), ())
        for value, atom in zip(operands, ctx.eqn.invars)
    ]


def reshape(ctx: FunctionContext, x: IrValue, out_aval: ShapedArray) -> IrValue:
    """The elements in another shape."""
    if ctx.sizes:  # static results too: StableHLO does not infer that sizes that it does not know make up theirs
        shape = shape_value(ctx, physical_aval(out_aval).shape)
        return ctx.op("stablehlo.dynamic_reshape", ctx.types[out_aval], (x, shape))
    return ctx.op("stablehlo.reshape", ctx.types[out_aval], (x,))


def transpose(ctx: FunctionContext, x: IrValue, out_aval: ShapedArray, permutation: Sequence[int]) -> IrValue:
    """The dimensions in another order."""
    extra = tuple(range(len(permutation), len(physical_aval(out_aval).shape)))
    attributes = {"permutation": ctx.vocabulary.integers((*permutation, *extra))}
    return ctx.op("stablehlo.transpose", ctx.types[out_aval], (x,), attributes)


def same_type(ctx: FunctionContext, name: str, *operands: IrValue) -> IrValue:
    """An operation whose result has the type of its first operand: for rules made of several operations."""
    return ctx.op(name, operands[0].type, operands)


def index_of_partition(ctx: FunctionContext, manual: MappedAxes, names: Sequence[Hashable]) -> IrValue:
    """The place of the device along mapped axes, the first varying slowest, as a scalar of int32."""
    words = ctx.vocabulary
    number = ctx.op(manual.number, ctx.types[ShapedArray((), np.dtype(np.uint32))], ())
    place = ctx.op("stablehlo.convert", ctx.types[SIZE], (number,))
    table = np.zeros_like(manual.index_table(names[0]))
    for name in names:
        table = table * manual.environment.size(name) + manual.index_table(name)
    sizes = {"slice_sizes": words.integers((1,))}
    row = ctx.op(
        "stablehlo.dynamic_slice", ctx.types[ShapedArray((1,), SIZE.dtype)], (ctx.constant(table), place), sizes
    )
    return reshape(ctx, row, SIZE)


def select(ctx: FunctionContext, predicate: IrValue, on_true: IrValue, on_false: IrValue, aval: ShapedArray) -> IrValue:
    """`on_true` where the predicate (of the aval's shape or rank 0) holds."""
    return ctx.op("stablehlo.select", ctx.types[aval], (predicate, on_true, on_false))


def pad(
    ctx: FunctionContext, x: IrValue, value: IrValue, out_aval: ShapedArray, config: Sequence[tuple[int, int, int]]
) -> IrValue:
    """`x` with `value` around it: `(low, high, interior)` for each dimension."""
    words = ctx.vocabulary
    low, high, interior = zip(*config, strict=True) if config else ((), (), ())
    if ctx.sizes and has_symbolic((*low, *high, *out_aval.shape)):
        operands = (x, value, *[shape_value(ctx, amounts) for amounts in (low, high, interior)])
        return ctx.op("stablehlo.dynamic_pad", ctx.types[out_aval], operands)
    attributes = {
        "edge_padding_low": words.integers(tuple(low)),
        "edge_padding_high": words.integers(tuple(high)),
        "interior_padding": words.integers(tuple(interior)),
    }
    return ctx.op("stablehlo.pad", ctx.types[out_aval], (x, value), attributes)


def part(
    ctx: FunctionContext,
    x: IrValue,
    out_aval: ShapedArray,
    starts: Sequence[int],
    limits: Sequence[int],
    steps: Sequence[int],
) -> IrValue:
    """The part of `x` between known places, in steps; of an extended dtype, with all that is inside its elements."""
    words, out = ctx.vocabulary, physical_aval(out_aval)
    extra = out.shape[len(out_aval.shape) :]
    starts, limits, steps = (*starts, *[0] * len(extra)), (*limits, *extra), (*steps, *[1] * len(extra))
    if ctx.sizes and has_symbolic((*starts, *limits, *out.shape)):
        operands = (x, *[shape_value(ctx, places) for places in (starts, limits, steps)])
        return ctx.op("stablehlo.real_dynamic_slice", ctx.types[out_aval], operands)
    attributes = {
        "start_indices": words.integers(starts),
        "limit_indices": words.integers(limits),
        "strides": words.integers(steps),
    }
    return ctx.op("stablehlo.slice", ctx.types[out_aval], (x,), attributes)


def window(
    ctx: FunctionContext,
    x: IrValue,
    in_aval: ShapedArray,
    out_aval: ShapedArray,
    starts: Sequence[IrValue],
    start_aval: ShapedArray,
) -> IrValue:
    """The part of the size of `out_aval` at computed places, moved so that it is within `x`; both avals physical."""
    if not ctx.sizes or not has_symbolic(out_aval.shape):
        sizes = {"slice_sizes": ctx.vocabulary.integers(out_aval.shape)}
        return ctx.op("stablehlo.dynamic_slice", ctx.types[out_aval], (x, *starts), sizes)
    arithmetic = Arithmetic(ctx)
    firsts = []
    for start, full_size, size in zip(starts, in_aval.shape, out_aval.shape):
        start = start if start_aval.dtype == SIZE.dtype else convert(ctx, start, start_aval, SIZE)
        firsts.append(arithmetic.minimum(arithmetic.maximum(start, ctx.size(0)), ctx.size(full_size - size)))
    # The end as one sum of vectors: by that XLA sees how many elements there are, though not where.
    first = vector(ctx, firsts)
    end = same_type(ctx, "stablehlo.add", first, shape_value(ctx, out_aval.shape))
    operands = (x, first, end, shape_value(ctx, (1,) * len(firsts)))
    return ctx.op("stablehlo.real_dynamic_slice", ctx.types[out_aval], operands)


def custom_call(
    ctx: FunctionContext,
    target: str,
    out_avals: Sequence[ShapedArray],
    operands: Sequence[IrValue],
    *,
    backend_config: dict[str, object] | None = None,
    has_side_effect: bool = False,
    aliases: dict[int, int] | None = None,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    api_version: int = 4,
    more: Mapping[str, object] | None = None,
) -> list[IrValue]:
    """Call a registered function (`jaxlib_calls.register_custom_call`); the values of its results.

    Args:
        backend_config: attributes by name, as MLIR attributes or Python numbers and strings.
        aliases: result -> operand whose memory it takes over.
        operand_layouts, result_layouts: dimensions from the fastest varying; default: row-major.
        more: further attributes.
    """
    ir, words = ctx.vocabulary.ir, ctx.vocabulary
    attributes = {
        "call_target_name": words.string(target),
        "api_version": words.integer32(api_version),
        "has_side_effect": words.true if has_side_effect else words.false,
        "backend_config": ir.DictAttr.get(
            {name: words.attribute(value) for name, value in (backend_config or {}).items()}, words.context
        ),
    }
    attributes.update(more or {})
    arrays = [physical_aval(aval) for aval in out_avals if isinstance(aval, ShapedArray)]  # the others are tokens
    if any([has_symbolic(aval.shape) for aval in arrays]):
        # The sizes of the results are operands after the others; memory is not taken over, whose sizes are not known.
        first = len(operands)
        shapes = [shape_value(ctx, aval.shape) for aval in arrays]
        operands, aliases = [*operands, *shapes], None
        places = np.arange(first, first + len(shapes), dtype=np.int64)
        attributes["indices_of_shape_operands"] = words.elements(places)
        if operand_layouts is not None:
            operand_layouts = [*operand_layouts, *[(0,)] * len(shapes)]
    if aliases:
        attributes["output_operand_aliases"] = ir.ArrayAttr.get(
            [words.output_alias(result, operand, len(out_avals)) for result, operand in aliases.items()], words.context
        )
    if operand_layouts is not None:
        attributes["operand_layouts"] = words.layouts(operand_layouts)
    if result_layouts is not None:
        attributes["result_layouts"] = words.layouts(result_layouts)
    call = ctx.ops("stablehlo.custom_call", [ctx.types[aval] for aval in out_avals], operands, attributes)
    return list(call.results)


# --- comparisons and conversions -------------------------------------------------------------------------------------

_kinds: dict[Any, str] = {}


def comparison_kind(dtype: DType) -> str:
    """How StableHLO compares elements of a dtype: FLOAT, SIGNED or UNSIGNED."""
    found = _kinds.get(dtype)
    if found is None:
        if dtypes.issubdtype(dtype, np.inexact):
            found = "FLOAT"
        else:
            found = "SIGNED" if dtypes.issubdtype(dtype, np.signedinteger) else "UNSIGNED"
        _kinds[dtype] = found
    return found


def compare(
    ctx: FunctionContext, direction: str, x: IrValue, y: IrValue, aval: ShapedArray, kind: str | None = None
) -> IrValue:
    """Compare two values of type `aval`."""
    parsed = ctx.vocabulary.parsed
    attributes = {
        "comparison_direction": parsed(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": parsed(f"#stablehlo<comparison_type {kind or comparison_kind(aval.dtype)}>"),
    }
    return ctx.op("stablehlo.compare", ctx.types[ShapedArray(aval.shape, BOOL)], (x, y), attributes)


def compare_keys(ctx: FunctionContext, direction: str, x: IrValue, y: IrValue, aval: ShapedArray) -> IrValue:
    """Compare values of an extended dtype: they are equal if all numbers inside are. Only EQ and NE have a meaning."""
    if direction not in ("EQ", "NE"):
        raise TypeError(f"elements of dtype {aval.dtype} have no order; they can be compared for equality only")
    inner = physical_aval(aval)
    different = compare(ctx, direction, x, y, inner)
    name, start = ("stablehlo.and", True) if direction == "EQ" else ("stablehlo.or", False)
    axes = tuple(range(len(aval.shape), len(inner.shape)))
    out = ShapedArray(aval.shape, BOOL)
    return reduce(ctx, reducer(name), [different], [scalar(ctx, start, BOOL)], axes, [out])[0]


def convert(ctx: FunctionContext, x: IrValue, in_aval: ShapedArray, out_aval: ShapedArray) -> IrValue:
    """The elements in the dtype of `out_aval`. Truth values are `x != 0`; complex numbers lose their imaginary part."""
    source, target = in_aval.dtype, out_aval.dtype
    if target is BOOL and source is not BOOL:
        return compare(ctx, "NE", x, full(ctx, 0, in_aval), in_aval)
    if dtypes.issubdtype(source, np.complexfloating) and not dtypes.issubdtype(target, np.complexfloating):
        in_aval = in_aval.update(dtype=dtypes.to_floating_dtype(source))
        x = ctx.op("stablehlo.real", ctx.types[in_aval], (x,))
    return ctx.op("stablehlo.convert", ctx.types[out_aval], (x,))


# --- reductions ------------------------------------------------------------------------------------------------------

Body = Callable[..., Sequence["IrValue"]]


def reducer(name: str) -> Body:
    """The body of a reduction by one operation, such as `stablehlo.add`."""

    def body(ctx: FunctionContext, x: IrValue, y: IrValue) -> Sequence[IrValue]:
        return (ctx.op(name, x.type, (x, y)),)

    return body


def reduce(
    ctx: FunctionContext,
    body: Body,
    operands: Sequence[IrValue],
    initial: Sequence[IrValue],
    axes: Sequence[int],
    out_avals: Sequence[ShapedArray],
) -> list[IrValue]:
    """Reduce over `axes`. `body(ctx, *accumulators, *elements)` combines scalars, in a region of its own."""
    types = [ctx.types[physical_aval(aval)] for aval in out_avals]
    attributes = {"dimensions": ctx.vocabulary.integers(tuple(axes))}
    operation = ctx.ops("stablehlo.reduce", types, [*operands, *initial], attributes, regions=1)
    fill_body(ctx, operation, body, [physical_aval(aval).dtype for aval in out_avals])
    return list(operation.results)


def reduce_by(
    ctx: FunctionContext, name: str, x: IrValue, initial: Number, axes: Sequence[int], out_aval: ShapedArray
) -> IrValue:
    """Reduce one operand over `axes` by one operation, from the number `initial`."""
    return reduce(ctx, reducer(name), [x], [scalar(ctx, initial, out_aval.dtype)], axes, [out_aval])[0]


def fill_body(
    ctx: FunctionContext, operation: IrOperation, body: Body, element_dtypes: Sequence[np.dtype], region: int = 0
) -> None:
    """Fill a region that combines scalars: of reduce, reduce_window, scatter and the like."""
    scalars = [ctx.types[ShapedArray((), dtype)] for dtype in element_dtypes]
    inner, arguments = ctx.region(operation, region, [*scalars, *scalars])
    inner.give(body(inner, *arguments))


def accumulate(closed: ClosedJaxpr) -> Body:
    """The body of a reduction by a jaxpr of scalars."""

    def body(inner: FunctionContext, *arguments: IrValue) -> Sequence[IrValue]:
        return inner.inline(closed, arguments)

    return body


# --- Loops of StableHLO, for lowerings that are made of them ---

State = list["IrValue"]


def loop(
    ctx: FunctionContext,
    effects: Sequence[Effect],
    state: Sequence[ir.Value],
    avals: Sequence[ShapedArray],
    condition: Callable[[FunctionContext, State], IrValue],
    body: Callable[[FunctionContext, State], Sequence[IrValue]],
) -> State:
    """A `while` whose state is the tokens of `effects` and values of types `avals`; the last values."""
    count = len(effects)
    types = [*[ctx.vocabulary.token] * count, *[ctx.types[aval] for aval in avals]]
    tokens = [ctx.tokens[effect] for effect in effects]
    loop = ctx.ops("stablehlo.while", types, [*tokens, *state], None, 2)
    test, arguments = ctx.region(loop, 0, types, captures=True)
    test.tokens.update(zip(effects, arguments, strict=False))
    test.give([condition(test, arguments[count:])])
    inner, arguments = ctx.region(loop, 1, types, captures=True)
    inner.tokens.update(zip(effects, arguments, strict=False))
    results = body(inner, arguments[count:])
    inner.give([*[inner.tokens[effect] for effect in effects], *results])
    outs: State = list(loop.results)
    ctx.tokens.update(zip(effects, outs, strict=False))
    return outs[count:]


# --- calls -----------------------------------------------------------------------------------------------------------

KEPT = '{inlineable = "false"}'  # XLA's inliner leaves such calls


def call_built(
    ctx: FunctionContext,
    build: Callable[..., Sequence[IrValue]],
    operands: Sequence[IrValue],
    out_types: Sequence[IrType],
    hints: str,
    key: Hashable = None,
) -> State:
    """Call a function that `build` fills, given its context and its arguments; with a key, once in a module."""
    module, words = ctx.module, ctx.vocabulary
    symbol = None if key is None else module.functions.get(key)
    if symbol is None:
        types = [operand.type for operand in operands]
        symbol, function = module.add_function(build.__name__, types, out_types, {})
        block = words.ir.Block.create_at_start(function.regions[0], types, [words.unknown] * len(types))
        inner = type(ctx)(module, words.ir.InsertionPoint(block), ctx.location, ctx.prefix, {}, {})
        inner.give(build(inner, *block.arguments), "func.return")
        if key is not None:
            module.functions[key] = symbol
    attributes = {
        "callee": words.ir.FlatSymbolRefAttr.get(symbol, words.context),
        "mhlo.frontend_attributes": words.parsed(hints),
    }
    return list(ctx.ops("func.call", out_types, operands, attributes).results)
