"""What programs cost in arithmetic and memory: counted by the rules of primitives, without running them."""

from tangrad._profiler.roofline.counting import RooflineRuleContext as RooflineRuleContext
from tangrad._profiler.roofline.functions import register_roofline as register_roofline
from tangrad._profiler.roofline.functions import register_standard_roofline as register_standard_roofline
from tangrad._profiler.roofline.functions import roofline as roofline
from tangrad._profiler.roofline.functions import roofline_and_grad as roofline_and_grad
from tangrad._profiler.roofline.results import Cost as Cost
from tangrad._profiler.roofline.results import RooflineResult as RooflineResult
from tangrad._profiler.roofline.results import RooflineShape as RooflineShape
