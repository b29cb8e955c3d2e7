"""Sorting has no transposes; its derivative is a gather, which has."""

from __future__ import annotations

from tangrad._lax.sorting.approximate import approx_top_k_p
from tangrad._lax.sorting.primitives import search_sorted_p, sort_p, top_k_p
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)

transpose.not_applicable("it is not linear", approx_top_k_p, search_sorted_p, sort_p, top_k_p)
