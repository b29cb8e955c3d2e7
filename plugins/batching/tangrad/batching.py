"""Batching: the trace and the rule kind behind `tangrad.vmap`, and the helpers that batch rules are written with."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._batching.kinds": (
            "axis_batch elementwise_batch front_batch match_axes operand_of_call reduction_batch"
        ),
        "tangrad._batching.split": "SplitAxis split_by_names",
        "tangrad._batching.trace": (
            "AxisInfo batch_flat batch_jaxpr BatchTrace BatchTracer broadcast_axis broadcast_axis_p move_axis "
            "move_axis_p place_axis sum_axes_p to_front"
        ),
        "tangrad._batching.vmap_api": "register_vmappable vmap vmappables",
    },
)
