# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._autodiff.directional import (
    jvp as jvp,
    linear_transpose as linear_transpose,
    linearize as linearize,
    vjp as vjp,
)
from tangrad._autodiff.forward import (
    JVPTrace as JVPTrace,
    JVPTracer as JVPTracer,
    jvp_flat as jvp_flat,
    jvp_jaxpr as jvp_jaxpr,
)
from tangrad._autodiff.jvp_rules import (
    elementwise_jvp as elementwise_jvp,
    linear_jvp as linear_jvp,
    multilinear_jvp as multilinear_jvp,
    symbolic_zeros as symbolic_zeros,
    zero_jvp as zero_jvp,
)
from tangrad._autodiff.primitives import (
    add_any_p as add_any_p,
    append_dims_p as append_dims_p,
    set_weak_type_p as set_weak_type_p,
    sum_trailing_p as sum_trailing_p,
    zeros_p as zeros_p,
)
from tangrad._autodiff.programs import (
    is_marked_linear as is_marked_linear,
    linearize_jaxpr as linearize_jaxpr,
    mark_linear as mark_linear,
    partial_eval_jaxpr as partial_eval_jaxpr,
    transpose_jaxpr as transpose_jaxpr,
)
from tangrad._autodiff.reverse import (
    check_argnums as check_argnums,
    value_and_grad as value_and_grad,
)
from tangrad._autodiff.split_results import (
    Linearized as Linearized,
    PartialEval as PartialEval,
)
from tangrad._autodiff.tape import (
    TapeTrace as TapeTrace,
    TapeTracer as TapeTracer,
    linearize_flat as linearize_flat,
    transpose_flat as transpose_flat,
)
from tangrad._autodiff.transpose_rules import (
    Linear as Linear,
    is_linear as is_linear,
    linear_transpose_rule as linear_transpose_rule,
)
from tangrad._autodiff.varying import (
    current_typed_axes as current_typed_axes,
    each_by_itself as each_by_itself,
    marked as marked,
)
from tangrad._autodiff.zeros import (
    Zero as Zero,
    add_tangents as add_tangents,
    has_tangent as has_tangent,
    instantiate as instantiate,
    tangent_aval as tangent_aval,
    unbroadcast as unbroadcast,
    with_weak_type_of as with_weak_type_of,
    zeros as zeros,
)

__all__ = [
    "JVPTrace",
    "JVPTracer",
    "Linear",
    "Linearized",
    "PartialEval",
    "TapeTrace",
    "TapeTracer",
    "Zero",
    "add_any_p",
    "add_tangents",
    "append_dims_p",
    "check_argnums",
    "current_typed_axes",
    "each_by_itself",
    "elementwise_jvp",
    "has_tangent",
    "instantiate",
    "is_linear",
    "is_marked_linear",
    "jvp",
    "jvp_flat",
    "jvp_jaxpr",
    "linear_jvp",
    "linear_transpose",
    "linear_transpose_rule",
    "linearize",
    "linearize_flat",
    "linearize_jaxpr",
    "mark_linear",
    "marked",
    "multilinear_jvp",
    "partial_eval_jaxpr",
    "set_weak_type_p",
    "sum_trailing_p",
    "symbolic_zeros",
    "tangent_aval",
    "transpose_flat",
    "transpose_jaxpr",
    "unbroadcast",
    "value_and_grad",
    "vjp",
    "with_weak_type_of",
    "zero_jvp",
    "zeros",
    "zeros_p",
]
