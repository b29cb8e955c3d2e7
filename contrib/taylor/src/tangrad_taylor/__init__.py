"""Derivatives of any order at once, by truncated power series: `jet(f, primals, series)`."""

from tangrad_taylor.transformation import jet

__all__ = ["jet"]
