"""The rules of XLA's programs for CPUs."""

from __future__ import annotations

from functools import cache

from tangrad._kernels.jobs import FACTORS, RUNNING, SORTING
from tangrad._kernels.on_xla_cpu import function_rules, indexing_rules, product_rules, rule_set, transpose_rules
from tangrad._kernels.vendor_jobs import LINALG, SPECTRA, WINDOWS
from tangrad.core import RuleSet

functions = function_rules()
indexing = indexing_rules()
reductions = rule_set(RUNNING)
ordering = rule_set(SORTING)
contractions = product_rules()
structure = transpose_rules()
decompositions = rule_set({**FACTORS, **SPECTRA})
linalg = rule_set(LINALG)
windows = rule_set(WINDOWS)


@cache
def _activations() -> RuleSet:
    from tangrad._kernels.jobs import softmax
    from tangrad.extend.nn import softmax_p

    return rule_set({softmax_p: softmax})


@cache
def _transforms() -> RuleSet:
    from tangrad._kernels.vendor_jobs import fft
    from tangrad.extend.fft import fft_p

    return rule_set({fft_p: fft})


# Families that may not be installed: made when they are asked for.
OPTIONAL = {"activations": _activations, "transforms": _transforms}


def __getattr__(name: str) -> RuleSet:
    if name not in OPTIONAL:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return OPTIONAL[name]()
