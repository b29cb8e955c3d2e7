"""Tracers that outlive their trace, which the setting `check_tracer_leaks` looks for."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from tangrad._core.composition.missing_names import explanations
from tangrad._core.diagnostics.errors import LeakedTracerError


def check_no_leak(reference: weakref.ref[Any]) -> None:
    """With `check_tracer_leaks`: raise LeakedTracerError if something still holds tracers of the ended trace."""
    if reference() is None:
        return
    gc.collect()
    trace = reference()
    if trace is None:
        return
    leaked = [obj for obj in gc.get_referrers(trace) if getattr(obj, "_trace", None) is trace]
    raise LeakedTracerError(explanations().leak(trace, leaked))
