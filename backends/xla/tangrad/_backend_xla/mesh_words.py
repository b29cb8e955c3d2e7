"""Shardings in programs: as meshes and axes of the dialect `sdy`, which XLA's partitioner Shardy reads.

A module names each mesh once; a mesh is a grid of the program's devices, numbered in the order of its partitions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.jaxlib_api import physical_aval, tiling_of
from tangrad.core import ShapedArray, Sharding

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.vocabulary import Vocabulary


class Layout:
    """How a program is sharded over several devices.

    Attributes:
        devices: in the order of the partitions.
        inputs: the sharding of each argument.
        outputs: of each result, None where the compiler chooses; () where it always does.
        model: a sharding over these devices, of whose kind the others are made.
    """

    __slots__ = ("_numbers", "devices", "inputs", "model", "outputs")

    def __init__(self, devices: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], model: Any) -> None:
        self.devices = tuple(devices)
        self.model = model
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._numbers = {device: number for number, device in enumerate(self.devices)}

    def numbers(self, sharding: Sharding) -> list[int]:
        """The numbers of a sharding's devices, in the order of its grid."""
        return [self._numbers[device] for device in sharding.device_order]

    def sharding_of(self, chosen: Any, ndim: int) -> Sharding:
        """The sharding that the compiler chose, of an array of `ndim` dimensions."""
        tiles, order = tiling_of(chosen, ndim)
        devices = [self.devices[number] for number in order] if order else self.devices
        return self.model.resharded(tiles, devices)  # type: ignore[no-any-return]


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

    def attribute(self, sharding: Sharding, ndim: int, open_dimensions: Any = frozenset()) -> Any:
        """The attribute `sdy.sharding` for values of `ndim` dimensions, of which the compiler may cut some further."""
        return self._words.parsed(f"#sdy.sharding{self.text(sharding, ndim, open_dimensions)}")

    def text(self, sharding: Sharding, ndim: int, open_dimensions: Any = frozenset()) -> str:
        """The same as text, without its first word."""
        names = axis_names(sharding)
        dimensions = []
        for number, axes in enumerate(sharding.dimension_axes(ndim)):
            words = [f'"{names[axis]}"' for axis in axes if axis in names]
            if number in open_dimensions:
                words.append("?")
            dimensions.append("{" + ", ".join(words) + "}")
        return f"<@{self._symbol(sharding, names)}, [{', '.join(dimensions)}]>"

    def manual_computation(
        self, ctx: Any, operands: Sequence[Any], inputs: Any, outputs: Any, mesh: Sharding, axes: Sequence[Any]
    ) -> Any:
        """The operation whose region, yet empty, is written for one device along axes of a mesh.

        Args:
            inputs, outputs: for each a sharding and the type of the whole.
            mesh: any sharding over the mesh.
        """
        names = axis_names(mesh)
        listed = ", ".join([f'"{names[axis]}"' for axis in axes])
        attributes = {
            "in_shardings": self._per_value(inputs),
            "out_shardings": self._per_value(outputs),
            "manual_axes": self._words.parsed(f"#sdy<manual_axes{{{listed}}}>"),
        }
        types = [ctx.types[aval] for _, aval in outputs]
        return ctx.ops("sdy.manual_computation", types, operands, attributes, regions=1)

    def on_first_device(self, count: int) -> Any:
        """The attribute of an operation with so many results that the first device alone does."""
        symbol = self.declared("#sdy.mesh<[], device_ids=[0]>", "first_device")
        values = ", ".join([f"<@{symbol}, []>"] * max(count, 1))
        return self._words.parsed(f"#sdy.sharding_per_value<[{values}]>")

    def on_every_device(self, ndim: int) -> Any:
        """The attribute `sdy.sharding` for values of `ndim` dimensions that every device has whole."""
        symbol = self.declared(f'#sdy.mesh<["devices"={len(self.layout.devices)}]>', "every_device")
        return self._words.parsed(f"#sdy.sharding<@{symbol}, [{', '.join(['{}'] * ndim)}]>")

    def _per_value(self, pairs: Any) -> Any:
        texts = [self.text(sharding, physical_aval(aval).ndim) for sharding, aval in pairs]
        return self._words.parsed(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")

    def _symbol(self, sharding: Sharding, names: dict[Any, str]) -> str:
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


def axis_names(sharding: Sharding) -> dict[Any, str]:
    """The axes of a sharding's grid -> their names in a program: their own, if these are words."""
    return {
        name: name if isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name) else f"axis_{number}_"
        for number, (name, _) in enumerate(sharding.grid)
    }


def constrained(
    ctx: Any, value: ir.Value, aval: ShapedArray, sharding: Sharding, open_dimensions: Any = frozenset()
) -> ir.Value:
    """A value of type `aval`, constrained to a sharding; itself in a program for one device, and in a part
    that is mapped over the devices of another mesh.
    """
    meshes, manual = ctx.module.meshes, ctx.module.manual
    if meshes is None or (manual is not None and not manual.is_over(sharding)):
        return value
    attribute = meshes.attribute(sharding, physical_aval(aval).ndim, open_dimensions)
    return ctx.op("sdy.sharding_constraint", ctx.types[aval], (value,), {"sharding": attribute})


def constrained_by_type(ctx: Any, value: Any, aval: Any) -> ir.Value:
    """A value constrained to the sharding in its type; along axes that are not in types the compiler decides."""
    return constrained(ctx, value, aval, aval.placed, frozenset() if aval.stated else range(aval.ndim))
