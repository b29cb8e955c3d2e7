"""The checks, by name. Each takes a sample and yields its cells: a subject, and a function that raises if wrong."""

from collections.abc import Callable, Iterator

from tangrad._conformance.checks.derivatives import check_jvp, check_second, check_transpose
from tangrad._conformance.checks.edges import check_edges_of, check_special
from tangrad._conformance.checks.effects import check_effects
from tangrad._conformance.checks.execution import (
    check_abstract,
    check_backends,
    check_dce,
    check_decomposition,
    check_jit,
    check_refusals,
)
from tangrad._conformance.checks.mapping import check_batch, check_replication, check_split_axis
from tangrad._conformance.checks.operands import check_dtypes, check_layouts, check_sizes
from tangrad._conformance.checks.parameters import check_axis_subst, check_params, check_pickle
from tangrad._conformance.checks.points import check_points
from tangrad._conformance.checks.usage import check_usage
from tangrad._conformance.samples import Sample

Check = Callable[[Sample], Iterator[tuple[str, Callable[[], None]]]]

REFUSALS = "refusals"  # the only check of samples that must be refused, which no other one sees
CHECKS: dict[str, Check] = {
    "abstract": check_abstract,
    "refusals": check_refusals,
    "jvp": check_jvp,
    "transpose": check_transpose,
    "second": check_second,
    "points": check_points,
    "batch": check_batch,
    "usage": check_usage,
    "jit": check_jit,
    "backends": check_backends,
    "decomposition": check_decomposition,
    "edges": check_edges_of,
    "special": check_special,
    "layouts": check_layouts,
    "sizes": check_sizes,
    "dtypes": check_dtypes,
    "dce": check_dce,
    "params": check_params,
    "effects": check_effects,
    "pickle": check_pickle,
    "axis_subst": check_axis_subst,
    "split_axis": check_split_axis,
    "replication": check_replication,
}
