"""From jaxprs to StableHLO.

A *module* is one program for XLA; a *function context*, `ctx`, is what lowering rules get: it knows the equation at
hand and puts operations at the current place. A rule of kind `lower.xla` is

    rule(ctx, *operands, **params) -> ir.Value, or a tuple of them for a primitive with several results

with one MLIR value for each input of the equation. See helpers.py for how rules are written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from tangrad._backend_xla import mesh_words
from tangrad._backend_xla.dimension_values import SIZE, size_value
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad._backend_xla.manual import AxisEnvironment, MappedAxes, ReplicaAxes, no_axes
from tangrad._backend_xla.mesh_words import Layout, Meshes, Parts
from tangrad._backend_xla.mlir import (
    IrAttribute,
    IrModule,
    IrOperation,
    IrType,
    IrValue,
    Vocabulary,
    ir,
    lowering_rules,
    refined,
    vocabulary,
)
from tangrad.core import Array, ClosedJaxpr, Device, Effect, Jaxpr, JaxprEqn, Literal, ShapedArray, calls_rules
from tangrad.core.backends import AbstractToken

_create = ir.Operation.create
Attributes: TypeAlias = dict[str, IrAttribute] | None


class Module:
    """A StableHLO module under construction.

    Attributes:
        vocabulary: types and attributes.
        rules: primitive -> lowering rule, of the platform it is for.
        platform: "cpu", "cuda"; `platforms`: all that it is for, where there are several.
        axes: the named axes that are mapped over devices, with their replica groups.
        meshes: the meshes that shardings name, where the program is for several devices, else None.
        manual: the axes of a mesh, or of replicas, that the part at hand is mapped over, or None.
        parts: into how many parts the arguments and the results are cut along each dimension, or None.
        host_callbacks: Python functions that the program calls, in the order of their numbers.
        keep_alive: objects that must live as long as the compiled program.
        when_compiled: functions of the devices that it was compiled for, called then.
        leading: names of the sizes that every function but the entry takes first, as scalars of int32: the dimension
            variables, and the number of the platform where there are several.
        functions: what has been lowered as a function: jaxpr -> symbol. constants: arrays that are known by identity.
        has_unknown_sizes: whether sizes must be filled in before it is compiled; is_portable: whether others read it.
        keeps_calls: whether XLA is asked to keep the calls of regions; kept_calls, looping_calls: of them and of loops.
        has_large_products: whether some contraction is not small (`compiler_options.is_small_product`).
    """

    def __init__(
        self,
        name: str,
        platform: str = "cpu",
        axes: AxisEnvironment = no_axes,
        layout: Layout | None = None,
        parts: Parts | None = None,
        leading: Sequence[str] = (),
        rules: Any = None,
    ) -> None:
        self.parts = parts
        self.leading = tuple(leading)
        self.has_unknown_sizes = self.is_portable = self.has_large_products = False
        self.checks_of_sizes: list[Callable[[IrModule], None]] = []  # called with the module when it has all sizes
        self.vocabulary: Vocabulary = vocabulary()
        self.platform = platform
        self.platforms: tuple[str, ...] = getattr(rules, "platforms", (platform,))
        self.rules = lowering_rules(platform) if rules is None else rules
        self.axes = axes
        self.host_callbacks: list[object] = []
        self.keep_alive: list[object] = []
        self.when_compiled: list[Callable[[Sequence[Device]], object]] = []
        self.functions: dict[Hashable, str] = {}
        # XLA's partitioner and its code for GPUs take calls apart by ways of their own: there nothing is asked of it.
        self.keeps_calls = platform == "cpu" and layout is None and not (parts or axes.names or rules)
        self.kept_calls = self.looping_calls = 0
        self.constants: list[Any] = []
        self._symbols: dict[str, int] = {}
        self.module = ir.Module.create(self.vocabulary.unknown)
        attributes = self.module.operation.attributes
        attributes["sym_name"] = self.vocabulary.string(_module_name(f"jit_{name}"))
        attributes["mhlo.num_replicas"] = self.vocabulary.integer32(axes.replica_count)
        partitions = (
            (parts and mesh_words.part_count(parts)) or axes.partition_count if layout is None else len(layout.devices)
        )
        attributes["mhlo.num_partitions"] = self.vocabulary.integer32(partitions)
        self.end = ir.InsertionPoint(self.module.body)
        self.meshes: Meshes | None = None if layout is None else Meshes(layout, self.vocabulary, self._declare)
        self.manual: MappedAxes | None = ReplicaAxes(axes) if axes.names else None
        self._channels = 0

    @contextmanager
    def on_platform(self, platform: str | None) -> Iterator[None]:
        """What is lowered within is for one platform of several; None: for all of them."""
        if platform is None or self.platforms == (platform,):
            yield
            return
        before = self.platform, self.platforms, self.rules, self.functions
        self.platform, self.platforms = platform, (platform,)
        self.rules, self.functions = lowering_rules(platform), {}
        try:
            yield
        finally:
            self.platform, self.platforms, self.rules, self.functions = before

    def next_channel(self) -> int:
        """The number of one more channel, by which the parts of a collective find each other."""
        self._channels += 1
        return self._channels

    def _declare(self, name: str, attributes: dict[str, object]) -> None:
        """An operation of the module itself, before its functions."""
        first = ir.InsertionPoint.at_block_begin(self.module.body)
        _create(name, (), (), attributes, None, 0, self.vocabulary.unknown, first)

    def symbol(self, name: str) -> str:
        """A function name that is not taken."""
        taken = self._symbols.get(name)
        self._symbols[name] = 0 if taken is None else taken + 1
        return name if taken is None else self.symbol(f"{name}_{taken}")

    def add_function(
        self,
        name: str,
        in_types: Sequence[IrType],
        out_types: Sequence[IrType],
        attributes: Mapping[str, object],
        public: bool = False,
    ) -> tuple[str, IrOperation]:
        """A new function without a body: its symbol and its operation."""
        words = self.vocabulary
        symbol = self.symbol(name)
        function_type = ir.FunctionType.get(list(in_types), list(out_types), words.context)
        operation = _create(
            "func.func",
            (),
            (),
            {
                "sym_name": words.string(symbol),
                "function_type": ir.TypeAttr.get(function_type, words.context),
                "sym_visibility": words.string("public" if public else "private"),
                **attributes,
            },
            None,
            1,
            words.unknown,
            self.end,
        )
        return symbol, operation

    def fill_in_sizes(self) -> None:
        """Put the sizes of the entry's arguments through the program, all of whose sizes they determine.

        Raises ValueError for what the program states of its sizes and does not hold.
        """
        self.module = refined(self.module, self.vocabulary.context, self.meshes is not None)
        for check in self.checks_of_sizes:
            check(self.module)
        self.has_unknown_sizes = False

    def add_host_callback(self, callback: object) -> int:
        """Register a Python function that the program calls; its number."""
        self.host_callbacks.append(callback)
        return len(self.host_callbacks) - 1


def _module_name(name: str) -> str:
    """What XLA takes as the name of a module."""
    return "".join([letter if letter.isalnum() or letter in "_.-" else "_" for letter in name]) or "main"


class FunctionContext:
    """What a lowering rule works with: one function, or one region, that is being filled.

    Attributes:
        module: the module.
        vocabulary, types: types and attributes; `types[aval]` is the MLIR type of an aval.
        eqn: the equation at hand.
        tokens: ordered effect -> the token that the next operation with it must wait for.
        ip, location: where the next operation goes, and what it is ascribed to.
        prefix: what stands before the names of locations, such as "jit(f)/".
        sizes: the values of the module's leading sizes, by name; empty where no shape is symbolic.
    """

    __slots__ = (
        "_constants",
        "_rules",
        "eqn",
        "ip",
        "location",
        "module",
        "prefix",
        "sizes",
        "tokens",
        "types",
        "vocabulary",
    )

    def __init__(
        self,
        module: Module,
        ip: Any,
        location: Any,
        prefix: str,
        tokens: dict[Effect, IrValue],
        constants: dict[Any, Any],
    ) -> None:
        self.module = module
        self.prefix = prefix
        self.vocabulary = module.vocabulary
        self.types = module.vocabulary.types
        self.eqn: Any = None
        self.sizes: dict[str, IrValue] = {}
        self.tokens = tokens
        self.ip = ip
        self.location = location
        self._constants = constants
        self._rules = module.rules

    # --- about the equation -----------------------------------------------------------------------------------------

    @property
    def in_avals(self) -> list[ShapedArray]:
        """The types of the equation's inputs: shapes and dtypes."""
        return [atom.aval.plain for atom in self.eqn.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the equation's results."""
        return [var.aval for var in self.eqn.outvars]

    @property
    def out_aval(self) -> ShapedArray:
        """The type of the equation's one result."""
        return self.eqn.outvars[0].aval

    @property
    def out_type(self) -> IrType:
        """The MLIR type of the equation's one result."""
        return self.types[self.eqn.outvars[0].aval]

    # --- operations -------------------------------------------------------------------------------------------------

    def op(self, name: str, result_type: IrType, operands: Sequence[IrValue], attributes: Attributes = None) -> IrValue:
        """Add an operation with one result; the result."""
        return _create(name, (result_type,), operands, attributes, None, 0, self.location, self.ip).result

    def ops(
        self,
        name: str,
        result_types: Sequence[IrType],
        operands: Sequence[IrValue],
        attributes: Attributes = None,
        regions: int = 0,
    ) -> IrOperation:
        """Add an operation with any number of results and empty regions; the operation."""
        return _create(name, result_types, operands, attributes, None, regions, self.location, self.ip)

    def literal(self, literal: Literal) -> IrValue:
        """A scalar of the jaxpr as a constant; once for each function."""
        found = self._constants.get(id(literal))
        if found is None:
            attribute = self.vocabulary.literal(literal)
            found = self.op("stablehlo.constant", self.types[literal.aval], (), {"value": attribute})
            self._constants[id(literal)] = found
        return found

    def constant(self, contents: object, aval: ShapedArray | None = None) -> IrValue:
        """A constant with the contents of a NumPy array (or what becomes one), of its dtype or the aval's."""
        array = np.asarray(contents, None if aval is None else physical_aval(aval).dtype)
        return self.op(
            "stablehlo.constant", self.vocabulary.type_of_array(array), (), {"value": self.vocabulary.elements(array)}
        )

    def size(self, size: object) -> IrValue:
        """A size, symbolic or not, as a scalar of int32; computed once for each function."""
        found = self._constants.get(("size", size))
        if found is None:
            found = self._constants["size", size] = size_value(self, size)
        return found

    def region(
        self, operation: IrOperation, index: int, in_types: Sequence[IrType], captures: bool = False
    ) -> tuple[FunctionContext, list[IrValue]]:
        """Begin a region of an operation: a context that fills it, and the values of its arguments.

        With `captures`, values of this function may be used inside (`stablehlo.case`, `stablehlo.while`); reducers
        may not.
        """
        block = ir.Block.create_at_start(operation.regions[index], list(in_types), [self.location] * len(in_types))
        inner = FunctionContext(
            self.module,
            ir.InsertionPoint(block),
            self.location,
            self.prefix,
            {},
            dict(self._constants) if captures else {},
        )
        inner.eqn, inner.sizes = self.eqn, self.sizes if captures else {}
        return inner, list(block.arguments)

    def give(self, values: Sequence[IrValue], name: str = "stablehlo.return") -> None:
        """End a region with its results."""
        _create(name, (), values, None, None, 0, self.location, self.ip)

    # --- jaxprs inside equations ------------------------------------------------------------------------------------

    def inline(self, closed: ClosedJaxpr, operands: Sequence[IrValue]) -> list[IrValue]:
        """Lower a jaxpr here; the values of its results."""
        eqn, location = self.eqn, self.location
        consts = [self.constant_of(const) for const in closed.consts]
        outs = self.lower_jaxpr(closed.jaxpr, [*consts, *operands])
        self.eqn, self.location = eqn, location
        return outs

    def call(self, closed: ClosedJaxpr, operands: Sequence[IrValue], name: str, hints: Any = None) -> list[IrValue]:
        """Call a jaxpr as a function of the module, which has it once however often it is called; its results.

        `hints`: a dictionary attribute for XLA, such as that it is to keep the call.
        """
        symbol = self.lower_jaxpr_as_function(closed, name)
        effects = ordered_effects(closed.jaxpr)
        words = self.vocabulary
        attributes = {"callee": ir.FlatSymbolRefAttr.get(symbol, words.context)}
        if hints is not None:
            attributes["mhlo.frontend_attributes"] = hints
        operation = self.ops(
            "func.call",
            [words.token] * len(effects) + [self.types[aval] for aval in closed.out_avals],
            [*self.sizes.values(), *[self.tokens[effect] for effect in effects], *operands],
            attributes,
        )
        results: list[IrValue] = list(operation.results)
        self.tokens.update(zip(effects, results, strict=False))
        return results[len(effects) :]

    def lower_jaxpr_as_function(self, closed: ClosedJaxpr, name: str) -> str:
        """The symbol of the private function of a jaxpr: `(tokens of its effects, inputs) -> (tokens, outputs)`."""
        module = self.module
        key = closed if module.manual is None else (closed, module.manual.key())  # collectives in it are for these axes
        symbol = module.functions.get(key)
        if symbol is None:
            symbol = lower_function(module, closed, name, f"{self.prefix}jit({name})/")
            module.functions[key] = symbol
        return symbol

    def constant_of(self, value: Array) -> ir.Value:
        """A constant of a jaxpr, whatever holds it, as a value."""
        if type(value) is Literal:
            return self.literal(value)
        found = self._constants.get(id(value))
        if found is None:
            if isinstance(value.aval, AbstractToken):
                return self.op("stablehlo.create_token", self.vocabulary.token, ())
            found = self._constants[id(value)] = self.constant(physical_contents(value), value.aval)
            self.module.constants.append(value)
        return found

    @calls_rules("lower.xla", "eqn")
    def lower_jaxpr(self, jaxpr: Jaxpr, inputs: Sequence[ir.Value]) -> list[ir.Value]:
        """Lower the equations of a jaxpr here. `inputs`: the values of its constants and arguments."""
        on_mesh = self.module.meshes is not None
        inputs = mesh_words.entering(self, jaxpr, inputs) if on_mesh else inputs
        env: dict[object, IrValue] = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))
        rules = self._rules
        locate, prefix, types = self.vocabulary.locations.of, self.prefix, self.types
        eqn = None
        try:
            for eqn in jaxpr.eqns:
                operands = [self.literal(atom) if type(atom) is Literal else env[atom] for atom in eqn.invars]
                primitive = eqn.primitive
                self.eqn = eqn
                self.location = locate(eqn.source_info, primitive.name, prefix)
                operands = mesh_words.operands_of(self, eqn, operands) if on_mesh else operands
                out = rules[primitive](self, *operands, **eqn.params)
                if not primitive.multiple_results:
                    if not isinstance(out, ir.Value):
                        raise TypeError(f"expected the value of the result, got {out!r}")
                    var = eqn.outvars[0]
                    if out.type != types[var.aval]:
                        raise _wrong_type(out, types[var.aval])
                    env[var] = mesh_words.result_of(self, out, var.aval) if on_mesh else out
                elif isinstance(out, (tuple, list)) and len(out) == len(eqn.outvars):
                    for var, value in zip(eqn.outvars, out):
                        if not isinstance(value, ir.Value) or value.type != types[var.aval]:
                            raise _wrong_type(value, types[var.aval])
                        env[var] = mesh_words.result_of(self, value, var.aval) if on_mesh else value
                else:
                    raise TypeError(f"expected a tuple of {len(eqn.outvars)} values, got {out!r}")
        except Exception as error:
            if eqn is not None:
                _note_equation(error, eqn)
            raise
        found = [self.literal(atom) if type(atom) is Literal else env[atom] for atom in jaxpr.outvars]
        return mesh_words.leaving(self, jaxpr, found) if on_mesh else found


def _wrong_type(value: object, expected: IrType) -> TypeError:
    found = f"a value of type {value.type}" if isinstance(value, ir.Value) else repr(value)
    return TypeError(f"the lowering rule gave {found}; the primitive's result is of type {expected}")


def _note_equation(error: Exception, eqn: JaxprEqn) -> None:
    """Add to an error which equation was being lowered, and where the user wrote it."""
    place = "" if eqn.source_info is None else f", from {eqn.source_info.summarize()}"
    note = f"while lowering {eqn.primitive.identity!r} to StableHLO{place}"
    if note not in getattr(error, "__notes__", ()):  # of what leads to itself it would be added at every step
        error.add_note(note)


def ordered_effects(jaxpr: Jaxpr) -> list[Effect]:
    """The ordered effects of a jaxpr, in an order that every caller agrees on."""
    if not jaxpr.effects:
        return []
    return sorted(
        [effect for effect in jaxpr.effects if effect.ordered], key=lambda effect: (type(effect).__name__, str(effect))
    )


def physical_contents(value: Array) -> np.ndarray:
    """The contents of a constant as its buffer holds them."""
    aval = physical_aval(value.aval)
    if aval is value.aval:
        return value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value, aval.dtype)
    if value.aval.size == 0 or aval.dtype == np.bool_:
        return np.zeros(aval.shape, aval.dtype)
    return value.to_numpy()


def lower_function(
    module: Module, closed: ClosedJaxpr, name: str, prefix: str, *, public: bool = False, donated: Sequence[bool] = ()
) -> str:
    """Add a jaxpr to the module as a function: `(sizes, tokens, inputs) -> (tokens, outputs)`.

    A public one has no tokens. Nor has it sizes: a module with such has an entry of its own (`symbolic_entry`).
    """
    words = module.vocabulary
    jaxpr = closed.jaxpr
    effects = ordered_effects(jaxpr)
    out_types = [words.types[atom.aval] for atom in jaxpr.outvars]
    tokens = [] if public else [words.token] * len(effects)
    sizes = [] if public else [words.types[SIZE]] * len(module.leading)
    in_types = [*sizes, *tokens, *[words.types[var.aval] for var in jaxpr.invars]]
    attributes: dict[str, IrAttribute] = {}
    if public and module.meshes is not None:
        attributes = mesh_words.sharding_attributes(module.meshes, words, jaxpr, donated)
    elif public and module.parts is not None:
        attributes = mesh_words.part_attributes(words, module.parts, donated)
    elif any(donated):
        attributes = mesh_words.donation_attributes(words, jaxpr, donated)
    symbol, function = module.add_function(name, in_types, [*tokens, *out_types], attributes, public)
    block = ir.Block.create_at_start(function.regions[0], in_types, [words.unknown] * len(in_types))
    ctx = FunctionContext(module, ir.InsertionPoint(block), words.unknown, prefix, {}, {})
    arguments = list(block.arguments)
    if sizes:
        ctx.sizes = dict(zip(module.leading, arguments, strict=False))
        arguments = arguments[len(sizes) :]
    if public:
        arguments = [*[ctx.op("stablehlo.create_token", words.token, ()) for _ in effects], *arguments]
    ctx.tokens.update(zip(effects, arguments, strict=False))
    consts = [ctx.constant_of(const) for const in closed.consts]
    results = ctx.lower_jaxpr(jaxpr, [*consts, *arguments[len(effects) :]])
    ctx.location = words.unknown
    results = mesh_words.results_as_shares(ctx, jaxpr, results) if public and module.meshes is not None else results
    ctx.give([*([] if public else [ctx.tokens[effect] for effect in effects]), *results], "func.return")
    return symbol


def lower_to_module(
    closed: ClosedJaxpr,
    name: str,
    platform: str,
    donated: Sequence[bool] = (),
    axes: AxisEnvironment = no_axes,
    layout: Layout | None = None,
    parts: Parts | None = None,
    keeps_calls: bool = True,
) -> Module:
    """The StableHLO module of a program; `layout`: of one for several devices; `parts`: of one cut by numbers.

    `keeps_calls`: whether regions stay calls, where they can.
    """
    module = Module(name, platform, axes, layout, parts)
    module.keeps_calls &= keeps_calls
    lower_function(module, closed, "main", f"jit({name})/", public=True, donated=donated)
    return module
