"""How results of convolutions and of reductions over windows lie: windows need their dimensions whole."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet
from tangrad.lax.windows import primitives as p
from tangrad.shardings.propagation import Unclear, uncut_along

sharding = RuleSet("sharding", api=1)


@sharding.rule(p.conv_general_dilated_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    """Examples lie as those of lhs, features as the kernel says."""
    lhs, rhs = operands
    numbers = params["dimension_numbers"]
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        raise Unclear("it has groups")
    (batch, feature, *places), (out, inner, *window) = numbers.lhs_spec, numbers.rhs_spec
    uncut_along(lhs, places, "a convolution")
    uncut_along(rhs, window, "a convolution")
    if lhs.axes[feature] and rhs.axes[inner]:
        raise Unclear(f"the features that it sums over are cut along {lhs.axes[feature]} and {rhs.axes[inner]}")
    axes: list[tuple[Any, ...]] = [()] * len(lhs.axes)
    axes[numbers.out_spec[0]], axes[numbers.out_spec[1]] = lhs.axes[batch], rhs.axes[out]
    return (tuple(axes),)


@sharding.rule(p.reduce_window_sum_p, p.reduce_window_max_p, p.reduce_window_min_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    spanned = [
        dim for dim, (size, stride) in enumerate(
            zip(params["window_dimensions"], params["window_strides"], strict=True)
        ) if size != 1 or stride != 1
    ]  # fmt: skip
    uncut_along(operands[0], spanned, "a window")
    return (operands[0].axes,)
