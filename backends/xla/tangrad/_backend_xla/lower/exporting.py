"""How a call of an exported program becomes StableHLO: its module's functions are taken into this one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla import jaxlib_calls
from tangrad._backend_xla.dimension_values import SIZE
from tangrad._backend_xla.kernel_types import check_kernels
from tangrad._backend_xla.mesh_words import constrained
from tangrad._backend_xla.mlir import IrValue, ir, read_portable_artifact
from tangrad._backend_xla.module_contents import ENTRY, MESH, check_functions, contents
from tangrad._backend_xla.symbolic_entry import PLATFORM_INDEX
from tangrad.core import RuleSet, find_primitive, rule_table
from tangrad.extend.export import call_exported_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext, Module
    from tangrad._backend_xla.mlir import IrModule, IrOperation, IrType
    from tangrad.core import ShapedArray
    from tangrad.export import Exported


lower = RuleSet("lower.xla", api=1)


@lower.rule(call_exported_p)
def _call_exported(ctx: FunctionContext, *operands: IrValue, exported: Exported) -> tuple[IrValue, ...]:
    _check_devices(ctx.module, exported)
    has_choice = exported.uses_global_constants and len([one for one in exported.platforms if one != "numpy"]) > 1
    if not has_choice:
        for platform in ctx.module.platforms:
            exported.check_platform(platform)
    symbol, in_types, out_types, order = _taken_in(ctx.module, exported)
    operands = tuple(_sharded(ctx, operands, ctx.in_avals, exported.in_shardings, order))
    if has_choice:
        operands = (_platform(ctx, exported), *operands)
    wanted = [ctx.types[aval] for aval in ctx.out_avals]
    _check_types(exported, "arguments", in_types, [operand.type for operand in operands])
    _check_types(exported, "results", out_types, wanted)
    ctx.module.has_unknown_sizes = True
    callee = {"callee": ir.FlatSymbolRefAttr.get(symbol, ctx.vocabulary.context)}
    call = ctx.ops("func.call", out_types, _as_types(ctx, operands, in_types), callee)
    results = _as_types(ctx, list(call.results), wanted)
    return tuple(_sharded(ctx, results, ctx.out_avals, exported.out_shardings, order))


def _check_devices(module: Module, exported: Exported) -> None:
    """Raise ValueError for a program over several devices that is called in one for another number of them."""
    here = 1 if module.meshes is None else len(module.meshes.layout.devices)
    if exported.nr_devices not in (1, here):
        raise ValueError(
            f"Function {exported.fun_name} was exported for {exported.nr_devices} devices and is called in a context "
            f"with {here} devices: put its arguments on a mesh of {exported.nr_devices}, "
            "device_put(x, exported.in_shardings_jax(mesh)[0])"
        )
    if exported.nr_devices > 1 and module.manual is not None:
        raise NotImplementedError(
            f"{exported.fun_name} was exported for {exported.nr_devices} devices, and is called in a part that is "
            "mapped over devices; call it outside of shard_map"
        )


def _sharded(
    ctx: FunctionContext,
    values: Sequence[IrValue],
    avals: Sequence[ShapedArray],
    shardings: Sequence[Any],
    order: Sequence[int],
) -> list[IrValue]:
    """Values, of a program over several devices, with its annotations of how they are sharded; `order`: the numbers of
    the devices here that are its own first, second, …."""
    meshes = ctx.module.meshes
    if meshes is None:
        return list(values)
    devices = [meshes.layout.devices[number] for number in order]
    return [
        value if sharding is None else constrained(ctx, value, aval, sharding.on(devices))
        for value, aval, sharding in zip(values, avals, shardings, strict=True)
    ]


def _as_types(ctx: FunctionContext, values: Sequence[IrValue], types: Sequence[IrType]) -> list[IrValue]:
    """Values whose types say more or less of their sizes than those wanted."""
    return [
        value if value.type == kind else ctx.op("stablehlo.convert", kind, (value,))
        for value, kind in zip(values, types, strict=True)
    ]


def _check_types(exported: Exported, what: str, own: Sequence[object], stated: Sequence[object]) -> None:
    """Raise ValueError unless the types of the module's entry are those that the program states, but for sizes that
    one of them leaves open."""
    if len(own) != len(stated) or not all(map(_agree, own, stated)):
        expected, given = [", ".join(map(str, types)) for types in (stated, own)]
        raise ValueError(f"{exported.fun_name}: its module has the {what} ({given}), and its types say ({expected})")


def _agree(one: object, other: object) -> bool:
    if one == other:
        return True
    if not (isinstance(one, ir.RankedTensorType) and isinstance(other, ir.RankedTensorType)):
        return False
    if one.element_type != other.element_type or one.rank != other.rank:
        return False
    return all(
        [
            one.is_dynamic_dim(axis) or other.is_dynamic_dim(axis) or one.get_dim_size(axis) == other.get_dim_size(axis)
            for axis in range(one.rank)
        ]
    )


def _platform(ctx: FunctionContext, exported: Exported) -> IrValue:
    """The number of the platform at hand among those of the program."""
    own, known = ctx.module.platforms, tuple(exported.module_platforms)
    for platform in own:
        exported.check_platform(platform)
    if len(own) == 1:
        return ctx.constant(np.int32(known.index(own[0]) if own[0] in known else 0))
    if own == known:
        return ctx.sizes[PLATFORM_INDEX]
    case = ctx.ops("stablehlo.case", [ctx.types[SIZE]], (ctx.sizes[PLATFORM_INDEX],), None, len(own))
    for position, platform in enumerate(own):
        inner, _ = ctx.region(case, position, ())
        inner.give([inner.constant(np.int32(known.index(platform)))])
    return case.result


def _taken_in(module: Any, exported: Exported) -> tuple[str, Sequence[IrType], Sequence[IrType], Sequence[int]]:
    """The symbol of a program's entry in this module, its types, and the numbers of its devices here; its functions are
    copied at its first call."""
    found = module.functions.get(exported)
    if found is None:
        found = module.functions[exported] = _copied(module, exported)
    return found


def _make_callable(targets: Collection[str], platforms: Sequence[str]) -> None:
    if not targets:
        return
    with suppress(LookupError):  # where tangrad-ffi is not installed there are no functions of users
        foreign = find_primitive("foreign.ffi_call")
        rule_table("lower.xla").get_rule(foreign)  # the rule's module supplies them
    for platform in platforms:
        jaxlib_calls.make_callable(targets, platform)


# What counts devices by their numbers, beside meshes.
_NUMBERED = re.compile(
    r"sdy\.manual_computation|stablehlo\.(all_\w+|collective_\w+|reduce_scatter|partition_id|replica_id)"
)


def _order(module: Module, exported: Exported, operations: Collection[str], targets: Collection[str]) -> list[int]:
    """The numbers here of the devices that a program has as its first, second, …: in the order of the mesh that its
    arguments are on, so that they stay where they are; as here, where it counts on their numbers."""
    if module.meshes is None:
        return []
    layout = module.meshes.layout
    here = list(range(len(layout.devices)))
    numbers = layout.numbers(layout.model)
    counted = "Sharding" in targets or any([_NUMBERED.fullmatch(name) for name in operations])
    if counted or sorted(numbers) != here or exported.nr_devices != len(here):
        return here
    first = next((one for one in (*exported.in_shardings, *exported.out_shardings) if one is not None), None)
    own = here if first is None or not first.order else first.order
    return [number for _, number in sorted(zip(own, numbers, strict=True))]


def _copied(module: Module, exported: Exported) -> tuple[str, Sequence[IrType], Sequence[IrType], Sequence[int]]:
    words = module.vocabulary
    if module.meshes is not None:
        words.load_sharding_dialect()
    other = read_portable_artifact(exported.mlir_module_serialized, words.context)
    check_functions(other)
    found = contents(other)
    exported.check_contents(found.operations, found.targets)
    check_kernels(other, exported.fun_name)
    module.checks_of_sizes.append(partial(check_kernels, name=exported.fun_name))
    _make_callable(found.targets, module.platforms)
    order = _order(module, exported, found.operations, found.targets)
    meshes = [operation.operation for operation in other.body.operations if operation.operation.name == MESH]
    functions = [operation.operation for operation in other.body.operations if operation.operation.name != MESH]
    if any([name.startswith("sdy.") and name != MESH for name in found.operations]):
        _take_meshes(module, other, meshes, exported, order)
    names = {}
    for function in functions:
        old = ir.StringAttr(function.attributes["sym_name"]).value
        new = module.symbol(f"{exported.fun_name}_{old}")
        ir.SymbolTable.replace_all_symbol_uses(old, new, other.operation)
        ir.SymbolTable.set_symbol_name(function, new)
        names[old] = new
    entry = names[ENTRY]
    for function in functions:
        function.attributes["sym_visibility"] = words.string("private")
        copy = function.clone(module.end)
        if ir.StringAttr(copy.attributes["sym_name"]).value == entry:
            kind = ir.FunctionType(ir.TypeAttr(copy.attributes["function_type"]).value)
            for attribute in ("arg_attrs", "res_attrs"):
                if attribute in copy.attributes:
                    del copy.attributes[attribute]
            types = list(kind.inputs), list(kind.results)
    return entry, *types, order


_AXIS = re.compile(r'"=(\d+)')  # of `#sdy.mesh<["x"=4, "y"=2], device_ids=[...]>`
_GRID = '#sdy.mesh<["'
_DEVICES = re.compile(r", device_ids=\[([\d, ]+)\]")


def _renumbered(text: str, order: Sequence[int], size: int) -> str:
    """A mesh of so many devices with their numbers here; one without axes is a single device."""
    found = _DEVICES.search(text)
    own = [int(number) for number in found[1].split(",")] if found else range(size)
    numbers = [order[number] for number in own]
    stated = "" if text.startswith(_GRID) and numbers == list(range(size)) else f", device_ids={numbers}"
    return f"{_DEVICES.sub('', text)[:-1]}{stated}>"


def _take_meshes(
    module: Any, other: IrModule, meshes: Sequence[IrOperation], exported: Exported, order: Sequence[int]
) -> None:
    """Name the meshes of a sharded module as this one does, which declares those that it does not have.

    Raises ValueError for shardings in a program that is declared for one device, and for meshes of another size.
    """
    if exported.nr_devices == 1:
        raise ValueError(f"{exported.fun_name} is declared for one device, and its module is sharded over several")
    renamed = []
    for number, mesh in enumerate(meshes):
        text, old = str(mesh.attributes["mesh"]), ir.StringAttr(mesh.attributes["sym_name"]).value
        between = f"\0{number}"  # no name of another mesh
        size = prod([int(count) for count in _AXIS.findall(text)])
        if text.startswith(_GRID) and size != exported.nr_devices:
            raise ValueError(
                f"{exported.fun_name} is for {exported.nr_devices} devices, and its mesh {old!r} is of {size}"
            )
        ir.SymbolTable.replace_all_symbol_uses(old, between, other.operation)
        if list(order) != list(range(exported.nr_devices)):
            text = _renumbered(text, order, size)
        renamed.append((between, module.meshes.declared(text, old)))
    for between, new in renamed:
        ir.SymbolTable.replace_all_symbol_uses(between, new, other.operation)
