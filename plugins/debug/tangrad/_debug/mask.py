"""Callbacks have no masked form: a Python function gets arrays, whose shapes it takes for what counts."""

from __future__ import annotations

from tangrad._debug.primitives import debug_callback_p, debug_print_p, io_callback_p, pure_callback_p
from tangrad.core import RuleSet

mask = RuleSet("mask", api=1)
mask.not_applicable(
    "a Python function would see the padding, and take it for what counts",
    pure_callback_p,
    io_callback_p,
    debug_callback_p,
    debug_print_p,
)
