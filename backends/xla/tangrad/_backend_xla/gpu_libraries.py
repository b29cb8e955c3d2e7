"""Functions of GPUs' libraries, which the vendors' plugins wrap under the same names but for the beginning."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet

_PREFIXES = {"cuda": "cu", "rocm": "hip"}


def library_name(ctx: Any, function: str) -> str:
    """The name of a function on the platform at hand: `solver_getrf_ffi` is `cusolver_getrf_ffi` or `hipsolver_…`."""
    return _PREFIXES[ctx.module.platform] + function


def rules_for_gpus(table: dict[Any, Any], unsupported: dict[str, tuple[Any, ...]] | None = None) -> list[RuleSet]:
    """The same rules for the GPUs of NVIDIA and of AMD, in this order.

    `unsupported`: reason -> the primitives that cannot be lowered for them.
    """
    found = [RuleSet(f"lower.xla.{platform}", api=1) for platform in _PREFIXES]
    for rules in found:
        rules.table(table)
        for reason, primitives in (unsupported or {}).items():
            rules.not_applicable(reason, *primitives)
    return found
