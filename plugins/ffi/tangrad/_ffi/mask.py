"""Foreign functions have no masked form: they compute with whole arrays, whose shapes they take for what counts."""

from __future__ import annotations

from tangrad._ffi.primitives import ffi_call_p
from tangrad.core import RuleSet

mask = RuleSet("mask", api=1)
mask.not_applicable("a foreign function would see the padding, and take it for what counts", ffi_call_p)
