"""The arithmetic of differentiation on padded arrays."""

from __future__ import annotations

from typing import Any

from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad.core import RuleSet
from tangrad.extend.masking import Sizes, filled, whole

mask = RuleSet("mask", api=1)
whole(mask, add_any_p, set_weak_type_p, zeros_p)
filled(mask, sum_trailing_p, lambda dtype: 0)


@mask.rule(append_dims_p)
def _(args: Any, shapes: Any, *, sizes: Sizes, **params: Any) -> Any:
    out = append_dims_p.bind(*args, sizes=sizes.padded(tuple(params["sizes"])))
    return sizes.fill(out, (*shapes[0], *params["sizes"]), 0)
