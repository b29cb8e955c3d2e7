"""Calls of regions that XLA is asked to keep, and what is said where it cannot compile them."""

from __future__ import annotations

import warnings


def warn_of_calls(name: str, error: Exception) -> None:
    """Warn that a program is compiled whole, and why."""
    warnings.warn(
        f"XLA does not compile {name!r} with its regions as functions, so it is compiled whole "
        f"(compile_regions=False does so from the beginning): {error}",
        RuntimeWarning,
        stacklevel=2,
    )
