"""The rules of the NumPy backend. Those of random bits, places and rows have files of their own."""

from __future__ import annotations

from tangrad._kernels.jobs import FACTORS, RUNNING, SORTING
from tangrad._kernels.on_numpy import FUNCTIONS, JOINTS, TRANSPOSES, in_double, rule_set, several_products
from tangrad._kernels.vendor_jobs import CONTRACTIONS, LINALG, SPECIAL, SPECTRA, VECTORS, WINDOWS

functions = rule_set(VECTORS["numpy"], FUNCTIONS)
special = rule_set(SPECIAL["numpy"])
structure = rule_set({}, {**TRANSPOSES, **JOINTS})
reductions = rule_set(RUNNING)
ordering = rule_set(SORTING)
decompositions = rule_set(FACTORS, {each: in_double(each, describe) for each, describe in SPECTRA.items()})
linalg = rule_set(LINALG)
windows = rule_set(WINDOWS)
contractions = rule_set({}, {each: several_products(describe) for each, describe in CONTRACTIONS.items()})
