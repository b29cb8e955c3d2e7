"""What contractions and convolutions share: how exactly their products are computed."""

from __future__ import annotations

from typing import Any

from tangrad.extend.lax import is_algorithm


def precision_config(ctx: Any, precision: Any) -> Any:
    """The attribute that says how exactly accelerators compute, of a canonical precision."""
    names = ("DEFAULT", "DEFAULT") if precision is None or is_algorithm(precision) else [p.name for p in precision]
    return ctx.vocabulary.parsed(f"[#stablehlo<precision {names[0]}>, #stablehlo<precision {names[1]}>]")
