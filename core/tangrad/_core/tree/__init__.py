"""Pytrees in pure Python, on purpose: nested containers of arrays, taken apart into leaves and a structure."""

from tangrad._core.tree import registration as registration  # registers the type `Partial`
