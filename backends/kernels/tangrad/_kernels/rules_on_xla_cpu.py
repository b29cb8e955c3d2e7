"""The rules of XLA's programs for CPUs."""

from __future__ import annotations

from tangrad._kernels.jobs import FACTORS, RUNNING, SORTING, WINDOWS
from tangrad._kernels.on_xla_cpu import function_rules, indexing_rules, rule_set

functions = function_rules()
indexing = indexing_rules()
reductions = rule_set(RUNNING)
ordering = rule_set(SORTING)
decompositions = rule_set(FACTORS)
windows = rule_set(WINDOWS)
