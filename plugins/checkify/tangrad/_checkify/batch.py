"""A check of a batch: of each row, in one."""

from __future__ import annotations

from typing import Any

from tangrad._checkify.primitives import check_p
from tangrad.batching import place_axis
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(check_p)
def _(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
    check_p.bind(*[place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args, dims, strict=True)], **params)
    return (), ()
