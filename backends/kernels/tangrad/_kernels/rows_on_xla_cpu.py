"""Groups of equations over rows on XLA. The family of composites may not be installed: its rules have a file.

With the compiled kernels a group is one call. Without them it is a loop over blocks of rows, so few at a time that what
is between the operands and the results stays in the cache: of sums of rows and of columns together XLA makes several
loops, which write what they share to memory, and large memory is new to the process at each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._kernels.jobs import (
    ALL,
    COLUMN_PRODUCT,
    COLUMN_SUM,
    MULTIPLY_ADD,
    OF_COLUMN,
    OF_ROW,
    ONE,
    OPERATIONS,
    PLACE,
    ROW_MAXIMUM,
    ROW_PRODUCT,
    ROW_SUM,
    SOFTMAX,
    Job,
)
from tangrad._kernels.library import replaced
from tangrad._kernels.matrix_programs import KERNELS
from tangrad._kernels.on_xla_cpu import KIND, call, is_here
from tangrad._kernels.row_programs import BLOCKS
from tangrad.core import RuleSet, ShapedArray, find_primitive, literal, trace_to_closed_jaxpr
from tangrad.extend import lax
from tangrad.extend.custom_rules import composite_p

if TYPE_CHECKING:
    from tangrad.core import ClosedJaxpr

    Value = Any

# Elements of a block: with a dozen arrays of so many, most processors' caches of the second level are half full.
BLOCK = 1 << 15
# Of so many blocks sums of columns are added one after another: more would round too often.
TERMS = 16

# Several names may stand for one operation: the first is what it does.
FUNCTIONS = {
    number: find_primitive(name) for name, number in reversed(OPERATIONS.items()) if name.startswith("element")
}
OF_ONE = frozenset({OPERATIONS[f"elementwise.{name}"] for name in ("neg", "sqrt", "exp", "tanh", "log", "rsqrt")})
OF_ALL = frozenset({ROW_SUM, ROW_PRODUCT, ROW_MAXIMUM, COLUMN_SUM, COLUMN_PRODUCT})  # whatever it gives
DIMENSIONS = {ALL: (0, 1), OF_ROW: (0,), OF_COLUMN: (1,), ONE: ()}  # of (rows, columns)


def _lower(ctx: Any, *operands: Any, jaxpr: ClosedJaxpr, name: str, attributes: Any, **params: object) -> Any:
    if name not in KERNELS and name != BLOCKS:
        params |= {"jaxpr": jaxpr, "name": name, "attributes": attributes}
        return replaced(KIND, composite_p)(ctx, *operands, **params)
    if not is_here(ctx):
        return tuple(ctx.inline(jaxpr, operands))
    plan = attributes.values["plan"]
    if name in KERNELS:
        return call(ctx, Job(KERNELS[name], plan), *operands)
    program = _Program(plan, ctx.in_avals, ctx.out_avals)
    avals = [aval.strip_weak_type() for aval in ctx.in_avals]
    return tuple(ctx.inline(trace_to_closed_jaxpr(program.in_blocks, avals, "rows"), operands))


# --- in blocks of rows ------------------------------------------------------------------------------------------------


class _Program:
    """The instructions of a plan (`RowPlan`) as equations on blocks of rows."""

    def __init__(self, plan: Sequence[int], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> None:
        _, self.rows, self.columns, operands, temporaries, results, _ = plan[:7]
        self.first_result = operands + temporaries
        end = 7 + self.first_result + results
        self.kinds = plan[7:end]
        self.instructions = [plan[at : at + 5] for at in range(end, len(plan), 5)]
        self.out_avals = out_avals
        self.dtype = out_avals[0].dtype

    def in_blocks(self, *operands: Value) -> list[Value]:
        """The results: those of full blocks by a loop, then those of the rows that are left."""
        height = block_height(self.rows, self.columns)
        given = [lax.reshape(x, self._shape(kind, self.rows)) for x, kind in zip(operands, self.kinds)]
        kinds = self.kinds[self.first_result :]
        sums = (-(-self.rows // (height * TERMS)), self.columns)
        shapes = [sums if kind == OF_COLUMN else self._shape(kind, self.rows) for kind in kinds]

        def advanced(start: Value, made: Sequence[Value], height: int, at: Value) -> tuple[Value, ...]:
            """The results with those of the rows from `start` on; sums of columns are added to those in row `at`."""
            found = []
            for kind, before, now in zip(kinds, made, self._block(given, start, height)):
                if kind == OF_COLUMN:
                    now = lax.reshape(now, (1, self.columns))
                    now = lax.add_p.bind(_part(before, at, now.aval.shape), now)
                found.append(_put(before, now, at if kind == OF_COLUMN else start))
            return tuple(found)

        def step(number: Value, made: Sequence[Value]) -> tuple[Value, ...]:
            number_of = lambda size: literal(size, number.aval.dtype)
            start = lax.mul_p.bind(number, number_of(height))
            return advanced(start, made, height, lax.div_p.bind(number, number_of(TERMS)))

        zeros = tuple([_spread(literal(0, self.dtype), (), shape) for shape in shapes])
        count, left = divmod(self.rows, height)
        made = lax.fori_loop(0, count, step, zeros)
        if left:
            made = advanced(literal(count * height, "int32"), made, left, literal(count // TERMS, "int32"))
        totals = [lax.reduce_sum_p.bind(x, axes=(0,)) if kind == OF_COLUMN else x for kind, x in zip(kinds, made)]
        return [lax.reshape(x, aval.shape) for x, aval in zip(totals, self.out_avals)]

    def _shape(self, kind: int, rows: int) -> tuple[int, ...]:
        return {ALL: (rows, self.columns), OF_ROW: (rows,), OF_COLUMN: (self.columns,)}.get(kind, ())

    def _block(self, given: Sequence[Value], start: Value, height: int) -> list[Value]:
        """What a block of rows gives."""
        values: dict[int, Value] = {}
        for number, (x, kind) in enumerate(zip(given, self.kinds)):
            values[number] = _part(x, start, self._shape(kind, height)) if kind in (ALL, OF_ROW) else x
        for operation, result, *read in self.instructions:
            kind = ALL if operation in OF_ALL else self.kinds[result]
            shape = self._shape(kind, height)
            operands = [_spread(values[number], DIMENSIONS[self.kinds[number]], shape) for number in read]
            values[result] = _made(operation, *operands)
        return [values[number] for number in range(self.first_result, len(self.kinds))]


def _made(operation: int, x: Value, y: Value, z: Value) -> Value:
    """The result of an instruction."""
    if operation in (ROW_SUM, ROW_PRODUCT, COLUMN_SUM, COLUMN_PRODUCT):
        terms = lax.mul_p.bind(x, y) if operation in (ROW_PRODUCT, COLUMN_PRODUCT) else x
        return lax.reduce_sum_p.bind(terms, axes=(1,) if operation in (ROW_SUM, ROW_PRODUCT) else (0,))
    if operation == ROW_MAXIMUM:
        return lax.reduce_max_p.bind(x, axes=(1,))
    if operation == SOFTMAX:
        greatest = lax.reduce_max_p.bind(x, axes=(1,))
        powers = lax.exp_p.bind(lax.sub_p.bind(x, _spread(greatest, (0,), x.aval.shape)))
        return lax.div_p.bind(powers, _spread(lax.reduce_sum_p.bind(powers, axes=(1,)), (0,), x.aval.shape))
    if operation == PLACE:
        columns = lax.iota_p.bind(dtype=x.aval.dtype, shape=x.aval.shape, dimension=1)
        return lax.select_n_p.bind(lax.eq_p.bind(columns, x), _spread(literal(0, y.aval.dtype), (), y.aval.shape), y)
    if operation == MULTIPLY_ADD:
        return lax.add_p.bind(lax.mul_p.bind(x, y), z)
    return FUNCTIONS[operation].bind(*([x] if operation in OF_ONE else [x, y]))


def block_height(rows: int, columns: int) -> int:
    """How many rows a block has: such that few are left, or none."""
    most = max(1, min(rows, BLOCK // columns))
    fitting = [height for height in range(most, most // 2, -1) if rows % height == 0]
    return fitting[0] if fitting else most


def _spread(x: Value, dimensions: tuple[int, ...], shape: tuple[int, ...]) -> Value:
    """A number, those of rows, or those of columns, repeated."""
    return x if x.aval.ndim == len(shape) else lax.broadcast_in_dim(x, shape, dimensions)


def _part(x: Value, start: Value, shape: tuple[int, ...]) -> Value:
    return lax.dynamic_slice_p.bind(x, *_place(x, start), slice_sizes=shape)


def _put(x: Value, part: Value, start: Value) -> Value:
    return lax.dynamic_update_slice_p.bind(x, part, *_place(x, start))


def _place(x: Value, start: Value) -> list[Value]:
    return [start, *[literal(0, start.aval.dtype)] * (x.aval.ndim - 1)]


def rule_set() -> RuleSet:
    """The rule of composites, with or without the kernels."""
    made: RuleSet = RuleSet(KIND, api=1, override=True)
    made.table({composite_p: _lower})
    return made


composites = rule_set()
