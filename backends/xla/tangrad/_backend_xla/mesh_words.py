"""Shardings in programs: as meshes and axes of the dialect `sdy`, which XLA's partitioner Shardy reads.

A module names each mesh once; a mesh is a grid of the program's devices, numbered in the order of its partitions.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.jaxlib_api import physical_aval, tiling_of
from tangrad._backend_xla.mlir import Vocabulary, ir
from tangrad.core import Jaxpr, ShapedArray, Sharding
from tangrad.core.tools import sub_jaxprs

if TYPE_CHECKING:
    from collections.abc import Container

    from tangrad._backend_xla.mlir import IrAttribute, IrOperation, IrValue
    from tangrad.core import Device


class Layout:
    """How a program is sharded over several devices.

    Attributes:
        devices: in the order of the partitions.
        inputs: the sharding of each argument.
        outputs: of each result, None where the compiler chooses; () where it always does.
        model: a sharding over these devices, of whose kind the others are made.
    """

    __slots__ = ("_numbers", "devices", "inputs", "model", "outputs")

    def __init__(
        self,
        devices: Sequence[Device],
        inputs: Sequence[Sharding],
        outputs: Sequence[Any],
        model: Sharding,
    ) -> None:
        self.devices = tuple(devices)
        self.model = model
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._numbers = {device: number for number, device in enumerate(self.devices)}

    def numbers(self, sharding: Sharding) -> list[int]:
        """The numbers of a sharding's devices, in the order of its grid."""
        return [self._numbers[device] for device in sharding.device_order]

    def sharding_of(self, chosen: object, ndim: int) -> Sharding:
        """The sharding that the compiler chose, of an array of `ndim` dimensions."""
        tiles, order = tiling_of(chosen, ndim)
        devices = [self.devices[number] for number in order] if order else self.devices
        return self.model.resharded(tiles, devices)


class Meshes:
    """The meshes of one module.

    Attributes:
        layout: how the program is sharded.
    """

    __slots__ = ("_declare", "_symbols", "_words", "layout")

    def __init__(self, layout: Layout, words: Vocabulary, declare: Any) -> None:
        self.layout = layout
        self._words = words
        self._declare = declare
        self._symbols: dict[str, str] = {}
        words.load_sharding_dialect()

    def attribute(self, sharding: Sharding, ndim: int, open_dimensions: Container[int] = frozenset()) -> IrAttribute:
        """The attribute `sdy.sharding` for values of `ndim` dimensions, of which the compiler may cut some further."""
        return self._words.parsed(f"#sdy.sharding{self.text(sharding, ndim, open_dimensions)}")

    def text(self, sharding: Sharding, ndim: int, open_dimensions: Container[int] = frozenset()) -> str:
        """The same as text, without its first word."""
        names = axis_names(sharding)
        dimensions = []
        for number, axes in enumerate(sharding.dimension_axes(ndim)):
            words = [f'"{names[axis]}"' for axis in axes if axis in names]
            if number in open_dimensions:
                words.append("?")
            dimensions.append("{" + ", ".join(words) + "}")
        shares = getattr(sharding, "summed_axes", ())  # a value of which devices hold shares to be summed
        summed = f", unreduced={{{', '.join([chr(34) + names[axis] + chr(34) for axis in shares])}}}" if shares else ""
        return f"<@{self._symbol(sharding, names)}, [{', '.join(dimensions)}]{summed}>"

    def manual_computation(
        self,
        ctx: Any,
        operands: Sequence[IrValue],
        inputs: Sequence[tuple[Sharding, ShapedArray]],
        outputs: Sequence[tuple[Sharding, ShapedArray]],
        mesh: Sharding,
        axes: Sequence[Hashable],
    ) -> IrOperation:
        """The operation whose region, yet empty, is written for one device along axes of a mesh.

        Args:
            inputs, outputs: for each a sharding and the type of the whole. Along axes of the mesh that are left to the
                compiler it may cut them further, in the middle of what it cuts around and within.
            mesh: any sharding over the mesh.
        """
        types_of_axes: Any = mesh
        auto = [axis for axis in types_of_axes.mesh.auto_axes if axis not in axes]
        names = axis_names(mesh)
        listed = ", ".join([f'"{names[axis]}"' for axis in axes])
        attributes = {
            "in_shardings": self._per_value(inputs, is_open=bool(auto)),
            "out_shardings": self._per_value(outputs, is_open=bool(auto)),
            "manual_axes": self._words.parsed(f"#sdy<manual_axes{{{listed}}}>"),
        }
        types = [ctx.types[aval] for _, aval in outputs]
        return ctx.ops("sdy.manual_computation", types, operands, attributes, regions=1)

    def on_first_device(self, count: int) -> IrAttribute:
        """The attribute of an operation with so many results that the first device alone does."""
        symbol = self.declared("#sdy.mesh<[], device_ids=[0]>", "first_device")
        values = ", ".join([f"<@{symbol}, []>"] * max(count, 1))
        return self._words.parsed(f"#sdy.sharding_per_value<[{values}]>")

    def on_every_device(self, ndim: int) -> IrAttribute:
        """The attribute `sdy.sharding` for values of `ndim` dimensions that every device has whole."""
        symbol = self.declared(f'#sdy.mesh<["devices"={len(self.layout.devices)}]>', "every_device")
        return self._words.parsed(f"#sdy.sharding<@{symbol}, [{', '.join(['{}'] * ndim)}]>")

    def _per_value(self, pairs: Sequence[tuple[Sharding, ShapedArray]], is_open: bool) -> IrAttribute:
        ranks = [physical_aval(aval).ndim for _, aval in pairs]
        open_to = [range(ndim if is_open else 0) for ndim in ranks]
        texts = [self.text(s, ndim, further) for (s, _), ndim, further in zip(pairs, ranks, open_to, strict=True)]
        return self._words.parsed(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")

    def _symbol(self, sharding: Sharding, names: dict[Hashable, str]) -> str:
        numbers = self.layout.numbers(sharding)
        axes = ", ".join([f'"{names[name]}"={size}' for name, size in sharding.grid])
        order = "" if numbers == list(range(len(numbers))) else f", device_ids={numbers}"
        return self.declared(f"#sdy.mesh<[{axes}]{order}>", "mesh")

    def declared(self, text: str, name: str) -> str:
        """The symbol of a mesh, which is declared when it is first named."""
        symbol = self._symbols.get(text)
        if symbol is None:
            taken = list(self._symbols.values())
            symbol = self._symbols[text] = name if name not in taken else f"{name}_{len(taken)}"
            self._declare("sdy.mesh", {"sym_name": self._words.string(symbol), "mesh": self._words.parsed(text)})
        return symbol


def axis_names(sharding: Sharding) -> dict[Hashable, str]:
    """The axes of a sharding's grid -> their names in a program: their own, if these are words."""
    return {
        name: name if isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name) else f"axis_{number}_"
        for number, (name, _) in enumerate(sharding.grid)
    }


def constrained(
    ctx: Any, value: ir.Value, aval: ShapedArray, sharding: Sharding, open_dimensions: Container[int] = frozenset()
) -> ir.Value:
    """A value of type `aval`, constrained to a sharding; itself in a program for one device, and in a part
    that is mapped over the devices of another mesh.
    """
    meshes, manual = ctx.module.meshes, ctx.module.manual
    if meshes is None or (manual is not None and not manual.is_over(sharding)):
        return value
    attribute = meshes.attribute(sharding, physical_aval(aval).ndim, open_dimensions)
    return ctx.op("sdy.sharding_constraint", ctx.types[aval], (value,), {"sharding": attribute})


def are_shares(aval: Any) -> bool:
    """Whether devices hold shares of the values of a type."""
    return aval.infer_types is not None and bool(aval.placed.summed_axes)


def as_shares(ctx: Any, value: IrValue, aval: Any, sharding: Any) -> ir.Value:
    """A value of type `aval` as the shares that devices get by a sharding.

    The partitioner makes shares of parts, and of what is whole; for anything else it ends the process.
    """
    shares, cuts = sharding.summed_axes, sharding.dimension_axes(aval.ndim)
    known = None if aval.infer_types is None else [tuple([a for a in cut if a not in shares]) for cut in aval.axes]
    made: Any = value.owner
    if getattr(made, "name", "") == "sdy.sharding_constraint":
        if made.attributes["sharding"] == ctx.module.meshes.attribute(sharding, physical_aval(aval).ndim):
            return value
    if known != list(cuts):
        value = constrained(ctx, value, aval, sharding.with_axes(cuts))
    return constrained(ctx, value, aval, sharding)


# What the partitioner takes shares through as they are. For other operations, and what goes into regions, it sums them
# and takes the sum for a share (jaxlib 0.10.2): those get sums, of which shares are made again.
_KEEP_SHARES = frozenset([
    *("elementwise." + name for name in ("add", "sub", "neg", "mul", "div", "select_n", "convert_element_type")),
    *("structure." + name for name in ("transpose", "reshape", "broadcast_in_dim", "concatenate", "squeeze", "copy")),
    "autodiff.add_any", "batching.move_axis", "reductions.reduce_sum", "contractions.dot_general",
    "sharding.sharding_constraint", "sharding.auto_axes",
])  # fmt: skip
_REGIONS = frozenset(["control_flow." + name for name in ("while", "scan", "cond")])


def _keeps_shares(eqn: Any) -> bool:
    """Whether an equation works on shares as they are; those of programs that are written in its place do."""
    name = eqn.primitive.identity
    return name in _KEEP_SHARES or (name not in _REGIONS and next(sub_jaxprs(eqn.params), None) is not None)


def operands_of(ctx: Any, eqn: Any, operands: list[IrValue]) -> list[IrValue]:
    """The operands of an equation: where it does not work on shares, what is summed of them."""
    if not any([are_shares(atom.aval) for atom in eqn.invars]) or _keeps_shares(eqn):
        return operands
    return [_summed(ctx, value, atom.aval) for value, atom in zip(operands, eqn.invars, strict=True)]


def result_of(ctx: Any, value: IrValue, aval: Any) -> ir.Value:
    """A result, constrained to the sharding in its type; along axes that are not in types the compiler decides."""
    if aval.infer_types is None:
        return value
    if are_shares(aval):
        return constrained(ctx, value, aval, aval.placed) if _keeps_shares(ctx.eqn) else _shared(ctx, value, aval)
    if ctx.eqn.primitive.multiple_results:
        return value
    return constrained(ctx, value, aval, aval.placed, frozenset() if aval.stated else range(aval.ndim))


def entering(ctx: Any, jaxpr: Jaxpr, inputs: Sequence[IrValue]) -> Sequence[IrValue]:
    """What goes into a program: in a region shares are made anew, of sums."""
    variables = [*jaxpr.constvars, *jaxpr.invars]
    if not any([are_shares(var.aval) for var in variables]) or not _is_region(ctx):
        return inputs
    return [
        _shared(ctx, value, var.aval) if are_shares(var.aval) else value
        for value, var in zip(inputs, variables, strict=True)
    ]


def leaving(ctx: Any, jaxpr: Jaxpr, outs: list[IrValue]) -> list[IrValue]:
    """What comes out of a program: of a region sums of shares."""
    if not any([are_shares(atom.aval) for atom in jaxpr.outvars]) or not _is_region(ctx):
        return outs
    return [_summed(ctx, value, atom.aval) for value, atom in zip(outs, jaxpr.outvars, strict=True)]


def _is_region(ctx: Any) -> bool:
    return ctx.ip.block.owner.operation.name not in ("func.func", "sdy.manual_computation")


def _summed(ctx: Any, value: IrValue, aval: Any) -> ir.Value:
    return constrained(ctx, value, aval, aval.placed.with_axes(aval.axes)) if are_shares(aval) else value


def _shared(ctx: Any, value: IrValue, aval: Any) -> ir.Value:
    return constrained(ctx, _summed(ctx, value, aval), aval, aval.placed)


def results_as_shares(ctx: Any, jaxpr: Jaxpr, results: Sequence[IrValue]) -> list[IrValue]:
    """A program's results, those constrained that devices are to get shares of: of others the partitioner knows."""
    stated = ctx.module.meshes.layout.outputs or (None,) * len(results)
    return [
        as_shares(ctx, value, atom.aval, sharding) if getattr(sharding, "summed_axes", ()) else value
        for value, atom, sharding in zip(results, jaxpr.outvars, stated, strict=True)
    ]


# For each argument, and for each result, the number of parts along each dimension, or None for the whole.
Parts = tuple[Sequence[tuple[int, ...] | None], Sequence[tuple[int, ...] | None]]


def donation_attributes(words: Vocabulary, jaxpr: Jaxpr, donated: Sequence[bool]) -> dict[str, IrAttribute]:
    """Which argument's memory each result takes over: the first free one of a donated argument of equal type.

    For the others, of the size of a result of another type, the compiler finds it.
    """
    aliases = donation_aliases(jaxpr, donated)
    found: list[dict[str, IrAttribute]] = [{"jax.buffer_donor": words.true} if give else {} for give in donated]
    for position, result in aliases.items():
        found[position] = {"tf.aliasing_output": words.integer32(result)}
    return {"arg_attrs": ir.ArrayAttr.get([ir.DictAttr.get(one, words.context) for one in found], words.context)}


def sharding_attributes(meshes: Meshes, words: Vocabulary, jaxpr: Jaxpr, donated: Sequence[bool]) -> dict[str, Any]:
    """How arguments and results are sharded, and which arguments may be written over: the compiler finds by what."""
    layout = meshes.layout
    arguments, results = [], []
    for position, (var, sharding) in enumerate(zip(jaxpr.invars, layout.inputs, strict=True)):
        found = {"sdy.sharding": meshes.attribute(sharding, physical_aval(var.aval).ndim)}
        if donated and donated[position]:
            found["jax.buffer_donor"] = words.true
        arguments.append(ir.DictAttr.get(found, words.context))
    for atom, sharding in zip(jaxpr.outvars, layout.outputs or (None,) * len(jaxpr.outvars), strict=True):
        stated = {} if sharding is None else {"sdy.sharding": meshes.attribute(sharding, physical_aval(atom.aval).ndim)}
        results.append(ir.DictAttr.get(stated, words.context))
    return {
        "arg_attrs": ir.ArrayAttr.get(arguments, words.context),
        "res_attrs": ir.ArrayAttr.get(results, words.context),
    }


def part_attributes(words: Vocabulary, parts: Parts, donated: Sequence[bool]) -> dict[str, IrAttribute]:
    """The same by numbers of parts, in XLA's own notation: the partitions take the parts in row-major order."""
    found: dict[str, IrAttribute] = {}
    for name, tilings in zip(("arg_attrs", "res_attrs"), parts, strict=True):
        each = [{"mhlo.sharding": words.string(_tiling_text(tiling))} for tiling in tilings]
        if name == "arg_attrs":
            for attributes, give in zip(each, donated, strict=False):
                if give:
                    attributes["jax.buffer_donor"] = words.true
        found[name] = ir.ArrayAttr.get([ir.DictAttr.get(one, words.context) for one in each], words.context)
    return found


def part_count(parts: Parts) -> int:
    """The number of partitions that values are cut into; 0 where none is."""
    counts = [int(np.prod(tiling)) for tilings in parts for tiling in tilings if tiling is not None]
    return max(counts, default=0)


def _tiling_text(tiling: Sequence[int] | None) -> str:
    if tiling is None:
        return "{replicated}"
    devices = ",".join(map(str, range(int(np.prod(tiling)))))
    return f"{{devices=[{','.join(map(str, tiling))}]{devices}}}"


def donation_aliases(jaxpr: Jaxpr, donated: Sequence[bool]) -> dict[int, int]:
    """Donated argument -> the result that is written over it."""
    free: dict[object, list[int]] = {}
    for position, (var, give) in enumerate(zip(jaxpr.invars, donated, strict=True)):
        if give:
            free.setdefault((var.aval.shape, var.aval.dtype), []).append(position)
    aliases = {}
    for result, atom in enumerate(jaxpr.outvars):
        candidates = free.get((atom.aval.shape, atom.aval.dtype))
        if candidates:
            aliases[candidates.pop(0)] = result
    return aliases
