"""Batching: the trace and the rule kind behind `tangrad.vmap`, and the helpers that batch rules are written with."""

from tangrad._batching.axes import AxisInfo as AxisInfo
from tangrad._batching.axes import broadcast_axis as broadcast_axis
from tangrad._batching.axes import move_axis as move_axis
from tangrad._batching.axes import place_axis as place_axis
from tangrad._batching.axes import to_front as to_front
from tangrad._batching.rule_helpers import axis_batch as axis_batch
from tangrad._batching.rule_helpers import elementwise_batch as elementwise_batch
from tangrad._batching.rule_helpers import front_batch as front_batch
from tangrad._batching.rule_helpers import match_axes as match_axes
from tangrad._batching.rule_helpers import operand_of_call as operand_of_call
from tangrad._batching.rule_helpers import reduction_batch as reduction_batch
from tangrad._batching.split import SplitAxis as SplitAxis
from tangrad._batching.split import split_by_names as split_by_names
from tangrad._batching.trace import BatchTrace as BatchTrace
from tangrad._batching.trace import BatchTracer as BatchTracer
from tangrad._batching.trace import batch_flat as batch_flat
from tangrad._batching.trace import batch_jaxpr as batch_jaxpr
