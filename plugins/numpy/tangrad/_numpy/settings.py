"""The settings that `tangrad.numpy` reads."""

from __future__ import annotations

from tangrad.core.settings import define_choice

numpy_rank_promotion = define_choice(
    "numpy_rank_promotion", "allow", ("allow", "warn", "raise"), "What broadcasting between different ranks does."
)
