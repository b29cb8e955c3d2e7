"""Automatic differentiation: the traces and rule kinds behind `tangrad.grad`, and helpers for rule files."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._autodiff.auxiliary": "log log_structure logged Logged logs_of logs_wanted without_logs",
        "tangrad._autodiff.directional": "jvp linear_transpose linearize vjp",
        "tangrad._autodiff.forward": "JVPTrace JVPTracer jvp_flat jvp_jaxpr",
        "tangrad._autodiff.primitives": "add_any_p append_dims_p set_weak_type_p sum_trailing_p zeros_p",
        "tangrad._autodiff.programs": (
            "Linearized PartialEval is_marked_linear linearize_jaxpr mark_linear partial_eval_jaxpr transpose_jaxpr"
        ),
        "tangrad._autodiff.reverse": "check_argnums value_and_grad",
        "tangrad._autodiff.tape": "TapeTrace TapeTracer linearize_flat transpose_flat",
        "tangrad._autodiff.transpose_rules": "is_linear linear_transpose_rule",
        "tangrad._autodiff.cotangents": "current_typed_axes each_by_itself marked",
        "tangrad._autodiff.tangents": (
            "add_tangents elementwise_jvp has_tangent instantiate Linear linear_jvp multilinear_jvp symbolic_zeros "
            "tangent_aval unbroadcast with_weak_type_of Zero zero_jvp zeros"
        ),
    },
    renamed={"told_axes": "current_typed_axes"},
)
