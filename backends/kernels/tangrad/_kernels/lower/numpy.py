"""The rules of the NumPy backend."""

from __future__ import annotations

from tangrad._kernels import factors, running, sorting
from tangrad._kernels.on_numpy import rule_set

reductions = rule_set(running.JOBS)
ordering = rule_set(sorting.JOBS)
decompositions = rule_set(factors.JOBS)
