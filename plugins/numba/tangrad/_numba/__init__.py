"""Loops of the NumPy backend compiled by numba. This file only names the package."""
