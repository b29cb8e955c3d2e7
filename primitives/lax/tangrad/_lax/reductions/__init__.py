"""Primitives that combine the elements along axes into one, or into running totals."""
