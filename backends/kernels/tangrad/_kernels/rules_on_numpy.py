"""The rules of the NumPy backend. Those of random bits have a file of their own: their family may not be installed."""

from __future__ import annotations

from tangrad._kernels.jobs import FACTORS, RUNNING, SORTING, WINDOWS
from tangrad._kernels.on_numpy import FUNCTIONS, rule_set

functions = rule_set({}, FUNCTIONS)
reductions = rule_set(RUNNING)
ordering = rule_set(SORTING)
decompositions = rule_set(FACTORS)
windows = rule_set(WINDOWS)
