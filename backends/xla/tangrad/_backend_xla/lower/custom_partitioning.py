"""How functions that say how they are divided become StableHLO: a custom call that the partitioner asks about.

The program of a part is traced and lowered when the partitioner has decided, from within the compiler.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from tangrad._backend_xla import failures, jaxlib_calls
from tangrad._backend_xla.jaxlib_api import HloSharding
from tangrad._backend_xla.lowering import Module, lower_function
from tangrad._backend_xla.manual import AxisEnvironment, ManualAxes
from tangrad._backend_xla.mlir import bytecode
from tangrad._backend_xla.sharded import hlo_sharding
from tangrad.core import ClosedJaxpr, RuleSet, decomposition_jaxpr
from tangrad.extend.sharding import custom_partitioning_p, uncut

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mesh_words import Layout
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.core import ShapedArray, Sharding


TARGET = "TangradCustomPartitioning"
lower = RuleSet("lower.xla", api=1)

_numbers = itertools.count()
_calls: WeakValueDictionary[bytes, _Call] = WeakValueDictionary()  # those of programs that are being compiled


@lower.rule(custom_partitioning_p)
def _(ctx: FunctionContext, *operands: IrValue, jaxpr: ClosedJaxpr, how: Any) -> tuple[IrValue, ...]:
    module, words = ctx.module, ctx.vocabulary
    mesh = None if module.meshes is None else getattr(module.meshes.layout.model, "mesh", None)
    if mesh is None or module.meshes is None or module.manual is not None or module.is_portable:
        return tuple(ctx.inline(decomposition_jaxpr(custom_partitioning_p, ctx.in_avals, ctx.eqn.params), operands))
    jaxlib_calls.register_partitioner(TARGET, _partition)
    call = _Call(how, module.meshes.layout, mesh, module.platform, ctx.in_avals, jaxpr.out_avals)
    key = str(next(_numbers))
    _calls[key.encode()] = call
    module.keep_alive.append(call)
    made = ctx.ops(
        "stablehlo.custom_call",
        [ctx.types[aval] for aval in ctx.out_avals],
        operands,
        {
            "call_target_name": words.string(TARGET),
            "api_version": words.integer32(2),
            "has_side_effect": words.false,
            "backend_config": words.ir.StringAttr.get(key, words.context),
            "sdy.sharding_rule": words.ir.Attribute.parse(
                f"#sdy.op_sharding_rule<{how.rule(mesh, ctx.in_avals, jaxpr.out_avals)}>", words.context
            ),
        },
    )
    return tuple(made.results)


class _Call:
    """One call in one program: what the partitioner's questions are answered by."""

    def __init__(
        self,
        how: Any,
        layout: Layout,
        mesh: object,
        platform: str,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> None:
        self._how = how
        self._layout = layout
        self._mesh = mesh
        self._platform = platform
        self._in_avals = in_avals
        self._out_avals = out_avals

    def partition(
        self, in_shardings: Sequence[object], out_shardings: Sequence[object]
    ) -> tuple[bytes, list[object], list[object]]:
        """The program of a part, and how operands and results are sharded for it."""
        layout = self._layout
        proposed = [
            [(aval, layout.sharding_of(hlo, len(aval.shape))) for aval, hlo in zip(avals, shardings, strict=True)]
            for avals, shardings in ((self._in_avals, in_shardings), (self._out_avals, out_shardings))
        ]
        mesh, program, inputs, outputs = self._how.parts(self._mesh, *proposed)
        module = Module(self._how.name, self._platform, AxisEnvironment((), (), 1, len(layout.devices)))
        whole = uncut(mesh)
        module.manual = ManualAxes(mesh.axis_names, whole, layout.numbers(whole))
        lower_function(module, program, "main", f"{self._how.name}/", public=True)
        if module.host_callbacks:
            raise NotImplementedError(f"custom_partitioning {self._how.name!r}: the function of a part has callbacks")
        return bytecode(module.module), self._hlo(inputs, self._in_avals), self._hlo(outputs, self._out_avals)

    def _hlo(self, shardings: Sequence[Sharding], avals: Sequence[ShapedArray]) -> list[object]:
        pairs = zip(shardings, avals, strict=True)
        return [hlo_sharding(sharding, self._layout.devices, len(aval.shape)) for sharding, aval in pairs]


def _partition(
    shapes: object, shardings: Sequence[object], result_shape: Any, result_sharding: Any, configuration: bytes
) -> tuple[object, object, object]:
    """What jaxlib calls, from within the compiler: an error goes by way of `failures`."""
    try:
        several = result_shape.is_tuple()
        outs = result_sharding.tuple_elements() if several else [result_sharding]
        program, in_shardings, out_shardings = _calls[bytes(configuration)].partition(shardings, outs)
        result = HloSharding.tuple_sharding(result_shape, out_shardings) if several else out_shardings[0]
        return program, in_shardings, result
    except BaseException as error:
        raise failures.keep(error) from None
