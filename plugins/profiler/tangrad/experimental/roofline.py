"""What programs cost in arithmetic and memory: counted by the rules of primitives, without running them."""

from tangrad._profiler.roofline import Cost as Cost
from tangrad._profiler.roofline import RooflineResult as RooflineResult
from tangrad._profiler.roofline import RooflineRuleContext as RooflineRuleContext
from tangrad._profiler.roofline import RooflineShape as RooflineShape
from tangrad._profiler.roofline import register_roofline as register_roofline
from tangrad._profiler.roofline import register_standard_roofline as register_standard_roofline
from tangrad._profiler.roofline import roofline as roofline
from tangrad._profiler.roofline import roofline_and_grad as roofline_and_grad
