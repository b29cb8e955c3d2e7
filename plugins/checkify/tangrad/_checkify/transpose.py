"""A check read backwards: it gives nothing back."""

from __future__ import annotations

from typing import Any

from tangrad._checkify.primitives import check_p
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)


@transpose.rule(check_p)
def _(cotangents: Any, *args: Any, **params: Any) -> Any:
    return (None,) * len(args)
