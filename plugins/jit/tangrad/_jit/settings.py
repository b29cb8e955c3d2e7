"""The settings that `jit` reads."""

from __future__ import annotations

from tangrad.core import define_flag

explain_cache_misses = define_flag(
    "explain_cache_misses", "Log why a jitted function is traced or compiled: what was not there already."
)
no_tracing = define_flag("no_tracing", "Raise RuntimeError where a jitted function would be traced.")
