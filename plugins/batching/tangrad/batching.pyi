# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._batching.axes import (
    AxisInfo as AxisInfo,
    broadcast_axis as broadcast_axis,
    move_axis as move_axis,
    place_axis as place_axis,
    to_front as to_front,
)
from tangrad._batching.primitives import (
    broadcast_axis_p as broadcast_axis_p,
    move_axis_p as move_axis_p,
    sum_axes_p as sum_axes_p,
)
from tangrad._batching.rule_helpers import (
    axis_batch as axis_batch,
    elementwise_batch as elementwise_batch,
    front_batch as front_batch,
    match_axes as match_axes,
    operand_of_call as operand_of_call,
    reduction_batch as reduction_batch,
)
from tangrad._batching.split import (
    SplitAxis as SplitAxis,
    split_by_names as split_by_names,
)
from tangrad._batching.trace import (
    BatchTrace as BatchTrace,
    BatchTracer as BatchTracer,
    batch_flat as batch_flat,
    batch_jaxpr as batch_jaxpr,
)
from tangrad._batching.vmap_api import vmap as vmap

__all__ = [
    "AxisInfo",
    "BatchTrace",
    "BatchTracer",
    "SplitAxis",
    "axis_batch",
    "batch_flat",
    "batch_jaxpr",
    "broadcast_axis",
    "broadcast_axis_p",
    "elementwise_batch",
    "front_batch",
    "match_axes",
    "move_axis",
    "move_axis_p",
    "operand_of_call",
    "place_axis",
    "reduction_batch",
    "split_by_names",
    "sum_axes_p",
    "to_front",
    "vmap",
]
