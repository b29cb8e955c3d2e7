"""How a mapped program is mapped along one more axis: its program is, with that axis in front of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._xmap.primitives import in_scope, xmap_p
from tangrad._xmap.specs import Positions
from tangrad.batching import AxisInfo, batch_jaxpr, to_front
from tangrad.core import ClosedJaxpr, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Dims, Values

batch = RuleSet("batch", api=1)


@batch.rule(xmap_p)
def _(
    args: Values, dims: Dims, *, axis_info: AxisInfo, jaxpr: ClosedJaxpr, in_axes: Any, out_axes: Any, **params: Any
) -> Any:
    mapped = tuple([dim is not None for dim in dims])
    if axis_info.name in dict(params["sizes"]):  # the program means its own axis of that name
        axis_info = AxisInfo(None, axis_info.size, axis_info.spmd_name)
    with in_scope(params["sizes"]):
        program, out_mapped = batch_jaxpr(jaxpr, mapped, axis_info)
    outs = xmap_p.bind(
        *[to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)],
        jaxpr=program,
        in_axes=tuple([_after(axes, moved) for axes, moved in zip(in_axes, mapped, strict=True)]),
        out_axes=tuple([_after(axes, moved) for axes, moved in zip(out_axes, out_mapped, strict=True)]),
        **params,
    )
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])


def _after(positions: Positions, is_mapped: bool) -> Positions:
    """The named dimensions after one more in front."""
    return tuple([(name, position + 1) for name, position in positions]) if is_mapped else positions
