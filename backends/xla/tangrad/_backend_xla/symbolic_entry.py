"""The entry of a program whose shapes are symbolic, or that is for several platforms.

The function `main` takes the number of the platform, if there are several, and the arguments. It computes the
dimension variables from the sizes of the arguments, states what must hold of those, and calls the program, which takes
the platform's number and the sorted variables first. XLA compiles static shapes only: `Module.fill_in_sizes` puts them
in before that, and raises what does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.dimension_values import SIZE, Arithmetic
from tangrad._backend_xla.lowering import FunctionContext, Module, lower_function, ordered_effects
from tangrad._backend_xla.mesh_words import Layout, sharding_attributes
from tangrad._backend_xla.mlir import ir, lowering_rules
from tangrad.core import ClosedJaxpr, Primitive
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from tangrad._backend_xla.mlir import IrOperation, IrValue
    from tangrad.core.protocols import LoweringRule


PLATFORM_INDEX = "_platform_index"


def lower_with_entry(
    closed: ClosedJaxpr, name: str, platforms: Sequence[str], plan: Any, layout: Layout | None = None
) -> Module:
    """The StableHLO module of a program for one or several platforms.

    Args:
        platforms: their names, of which the rules of each are used.
        plan: how the dimension variables are found: see `tangrad._lax.symbolic.solving.Plan`.
        layout: of a program over several devices.

    Raises NotImplementedError for programs with ordered effects.
    """
    if ordered_effects(closed.jaxpr):
        raise NotImplementedError(f"{name} has ordered effects, whose tokens an exported program does not take")
    several = len(platforms) > 1
    leading = [*([PLATFORM_INDEX] if several else []), *plan.names]
    rules = PlatformRules(platforms) if several else None
    module = Module(name, platforms[0], layout=layout, leading=leading, rules=rules)
    module.is_portable = True
    if leading:  # what XlaCallModule and others that run such modules go by: sizes are to be put in first
        module.module.operation.attributes["jax.uses_shape_polymorphism"] = module.vocabulary.true
    _Entry(module, closed, name, plan, several).write()
    return module


class _Entry:
    def __init__(self, module: Module, closed: ClosedJaxpr, name: str, plan: Any, several: bool) -> None:
        self.module, self.closed, self.name, self.plan = module, closed, name, plan
        self.several = several

    def write(self) -> None:
        module, words = self.module, self.module.vocabulary
        in_types = [words.types[aval] for aval in self.closed.in_avals]
        out_types = [words.types[aval] for aval in self.closed.out_avals]
        index = [words.types[SIZE]] if self.several else []
        _, function = module.add_function("main", [*index, *in_types], out_types, self._attributes(), public=True)
        block = ir.Block.create_at_start(
            function.regions[0], [*index, *in_types], [words.unknown] * (len(index) + len(in_types))
        )
        ctx = self.ctx = FunctionContext(module, ir.InsertionPoint(block), words.unknown, "", {}, {})
        arguments = list(block.arguments)
        if self.several:
            ctx.sizes[PLATFORM_INDEX] = arguments.pop(0)
        self.arguments = arguments
        self.arithmetic = Arithmetic(ctx)
        for step in self.plan.steps:
            self._find(step)
        self._check_sizes()
        symbol = lower_function(module, self.closed, f"wrapped_{self.name}", f"jit({self.name})/")
        operands = [*[ctx.sizes[name] for name in module.leading], *arguments]
        callee = {"callee": ir.FlatSymbolRefAttr.get(symbol, words.context)}
        ctx.give(list(ctx.ops("func.call", out_types, operands, callee).results), "func.return")

    def _attributes(self) -> dict[str, Any]:
        """What the entry's arguments and results are beside their types."""
        words, meshes, jaxpr = self.module.vocabulary, self.module.meshes, self.closed.jaxpr
        found = {} if meshes is None else sharding_attributes(meshes, words, jaxpr, ())
        if self.several:
            marked = ir.DictAttr.get({"jax.global_constant": words.string(PLATFORM_INDEX)}, words.context)
            unmarked = [ir.DictAttr.get({}, words.context)] * len(jaxpr.invars)
            found["arg_attrs"] = ir.ArrayAttr.get([marked, *found.get("arg_attrs", unmarked)], words.context)
        return found

    def _actual(self, place: Any) -> ir.Value:
        """The size of a dimension of an argument, at run time."""
        dimension = {"dimension": self.module.vocabulary.integer(place.axis)}
        operand = self.arguments[place.argument]
        return self.ctx.op("stablehlo.get_dimension_size", self.ctx.types[SIZE], (operand,), dimension)

    def _find(self, step: Any) -> None:
        arithmetic, actual = self.arithmetic, self._actual(step.place)
        rest = self.plan.scope.size(step.rest)
        difference = actual if rest == 0 else arithmetic.subtract(actual, self.ctx.size(rest))
        if step.factor == 1:
            value = difference
        elif step.factor == -1:
            value = arithmetic.subtract(self.ctx.size(0), difference)
        else:
            sign = 1 if step.factor > 0 else -1
            numerator = difference if sign > 0 else arithmetic.subtract(self.ctx.size(0), difference)
            value = arithmetic.floordiv(numerator, self.ctx.size(abs(step.factor)))
        self.ctx.sizes[step.name] = value
        described = self._described(step.place)
        scope_low, _ = self.plan.scope.size_range(step.name)
        low = max(1, scope_low)
        self._assert("GE", value, self.ctx.size(low), f"{described} makes {step.name} {{0}}; it is at least {low}")
        if abs(step.factor) != 1:
            again = self.ctx.size(step.place.size)
            self._assert("EQ", actual, again, f"{described} has size {{0}}, which {step.place.size} is not")

    def _check_sizes(self) -> None:
        for place in self.plan.checks:
            if is_symbolic(place.size):
                expected = self.ctx.size(place.size)
                message = f"{self._described(place)} has size {{0}}, where {place.size} is {{1}}"
                self._assert("EQ", self._actual(place), expected, message)
        for text, left, sign, right in self.plan.scope.stated if self.plan.scope is not None else ():
            if (left.variables() | right.variables()) <= set(self.ctx.sizes):
                one, other = [self.ctx.size(self.plan.scope.size(side)) for side in (left, right)]
                message = f"the constraint {text} does not hold: its sides are {{0}} and {{1}}"
                self._assert("GE" if sign == ">=" else "EQ", one, other, message)

    def _described(self, place: Any) -> str:
        shape = ", ".join(map(str, self.plan.shapes[place.argument]))
        return f"{self.plan.labels[place.argument]} is of shape ({shape}); its dimension {place.axis}"

    def _assert(self, direction: str, a: ir.Value, b: ir.Value, message: str) -> None:
        words = self.module.vocabulary
        attributes = {
            "call_target_name": words.string("shape_assertion"),
            "api_version": words.integer32(2),
            "has_side_effect": words.true,
            "error_message": words.string(message),
        }
        holds = self.arithmetic.compare(direction, a, b)
        self.ctx.ops("stablehlo.custom_call", (), (holds, a, b), attributes)


# --- several platforms ----------------------------------------------------------------------------------------------


class PlatformRules(dict[Any, Any]):
    """Primitive -> lowering rule; where the platforms' programs differ, one that chooses at run time."""

    def __init__(self, platforms: Sequence[str]) -> None:
        super().__init__()
        self.platforms = tuple(platforms)
        self.tables = [lowering_rules(platform) for platform in platforms]

    def __missing__(self, primitive: Primitive) -> LoweringRule:
        rules = [table[primitive] for table in self.tables]
        # A rule of a platform's own may serve others too (of two vendors, say), and still ask which one it is for.
        is_general = [table.cell(primitive).status != "rule" for table in self.tables]
        same = all(is_general) and not hasattr(rules[0], "by_platform")
        made = self[primitive] = rules[0] if same else _chosen(rules, self.platforms)
        return made


def _chosen(rules: Sequence[Any], platforms: Sequence[str]) -> LoweringRule:
    def rule(ctx: FunctionContext, *operands: ir.Value, **params: object) -> IrValue | tuple[IrValue, ...]:
        types = [ctx.types[aval] for aval in ctx.out_avals]
        case = ctx.ops("stablehlo.case", types, (ctx.sizes[PLATFORM_INDEX],), None, len(rules))
        for position, (own, platform) in enumerate(zip(rules, platforms, strict=True)):
            with ctx.module.on_platform(platform):
                inner, _ = ctx.region(case, position, (), captures=True)
                found = own(inner, *operands, **params)
            inner.give(found if ctx.eqn.primitive.multiple_results else (found,))
        first, *others = case.regions
        if all([_are_alike(first, region, {}) for region in others]):  # a choice that XLA could not see through
            case.operation.erase()
            with ctx.module.on_platform(platforms[0]):
                return rules[0](ctx, *operands, **params)
        results = tuple(case.results)
        return results if ctx.eqn.primitive.multiple_results else results[0]

    return rule


def _are_alike(one: Any, other: Any, values: dict[IrValue, IrValue]) -> bool:
    """Whether two regions have the same operations; `values`: those of the one that are known to be of the other."""
    blocks = list(zip(one.blocks, other.blocks, strict=False))
    if len(blocks) != len(one.blocks) or len(blocks) != len(other.blocks):
        return False
    for block, its in blocks:
        values.update(zip(block.arguments, its.arguments, strict=False))
        operations = [[step.operation for step in steps.operations] for steps in (block, its)]
        if _types(block.arguments) != _types(its.arguments) or len(operations[0]) != len(operations[1]):
            return False
        if not all([_are_same(a, b, values) for a, b in zip(*operations, strict=True)]):
            return False
    return True


def _are_same(a: IrOperation, b: IrOperation, values: dict[IrValue, IrValue]) -> bool:
    attributes = _attributes(a)
    if a.name != b.name or _types(a.results) != _types(b.results) or attributes is None or attributes != _attributes(b):
        return False
    if [values.get(operand, operand) for operand in a.operands] != list(b.operands):
        return False
    values.update(zip(a.results, b.results, strict=True))
    regions = [list(operation.regions) for operation in (a, b)]
    return len(regions[0]) == len(regions[1]) and all(map(_are_alike, *regions, [values] * len(regions[0])))


def _types(values: Any) -> list[object]:
    return [value.type for value in values]


def _attributes(operation: IrOperation) -> dict[str, object] | None:
    found: Any = operation.attributes
    try:
        return {name: found[name] for name in found}
    except TypeError:  # the bindings know no elements of complex numbers
        return None
