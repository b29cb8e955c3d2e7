"""The rules of the NumPy backend. Those of random bits, places and rows have files of their own."""

from __future__ import annotations

from functools import cache

from tangrad._kernels.jobs import FACTORS, RUNNING, SORTING
from tangrad._kernels.on_numpy import FUNCTIONS, in_double, rule_set
from tangrad._kernels.vendor_jobs import LINALG, SPECTRA, WINDOWS
from tangrad.core import RuleSet

functions = rule_set({}, FUNCTIONS)
reductions = rule_set(RUNNING)
ordering = rule_set(SORTING)
decompositions = rule_set(FACTORS, {each: in_double(each, describe) for each, describe in SPECTRA.items()})
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
