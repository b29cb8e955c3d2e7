"""A check read backwards: it gives nothing back."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet
from tangrad.runtime_checks.primitives import check_p

transpose = RuleSet("transpose", api=1)


@transpose.rule(check_p)
def _(cotangents: Any, *args: Any, **params: Any) -> Any:
    return (None,) * len(args)
