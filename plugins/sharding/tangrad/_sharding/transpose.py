"""Cotangents are sharded as the values are."""

from __future__ import annotations

from typing import Any

from tangrad._sharding.primitives import auto_axes_p, sharding_constraint_p
from tangrad.autodiff import linear_transpose_rule
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)


def _constrain(ct: Any, aval: Any, *, sharding: Any) -> Any:
    return sharding_constraint_p.bind(ct, sharding=sharding)


linear_transpose_rule(transpose, sharding_constraint_p, _constrain)
linear_transpose_rule(transpose, auto_axes_p, lambda ct, aval, *, axes: ct)
