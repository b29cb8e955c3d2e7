"""How much effort the backend's compiler spends: the setting."""

from __future__ import annotations

from tangrad.core.settings import define_choice

DEFAULT_EFFORT = "full"
compile_effort = define_choice(
    "compile_effort",
    DEFAULT_EFFORT,
    (DEFAULT_EFFORT, "fast"),
    "How much effort the compiler spends: 'full', or 'fast', for first tries: compiled sooner, and slower.",
)
