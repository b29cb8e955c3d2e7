"""The rules of XLA's programs for CPUs."""

from __future__ import annotations

from tangrad._kernels.jobs import FACTORS, RUNNING, SORTING
from tangrad._kernels.on_xla_cpu import (
    function_rules,
    indexing_rules,
    position_rules,
    product_rules,
    rule_set,
    transpose_rules,
)
from tangrad._kernels.vendor_jobs import LINALG, SPECIAL, SPECTRA, WINDOWS

functions = function_rules()
special = rule_set(SPECIAL["xla"])
indexing = indexing_rules()
reductions = rule_set(RUNNING)
positions = position_rules()
ordering = rule_set(SORTING)
contractions = product_rules()
structure = transpose_rules()
decompositions = rule_set({**FACTORS, **SPECTRA})
linalg = rule_set(LINALG)
windows = rule_set(WINDOWS)
