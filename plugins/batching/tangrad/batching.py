"""Batching: the trace and the rule kind behind `tangrad.vmap`, and the helpers that batch rules are written with."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._batching.axes": "AxisInfo broadcast_axis move_axis place_axis to_front",
        "tangrad._batching.primitives": "broadcast_axis_p move_axis_p sum_axes_p",
        "tangrad._batching.rule_helpers": (
            "axis_batch elementwise_batch front_batch match_axes operand_of_call reduction_batch"
        ),
        "tangrad._batching.split": "SplitAxis split_by_names",
        "tangrad._batching.trace": "BatchTrace BatchTracer batch_flat batch_jaxpr",
        "tangrad._batching.vmap_api": "vmap",
        "tangrad._batching.vmappables": "register_vmappable vmappables",
    },
)
