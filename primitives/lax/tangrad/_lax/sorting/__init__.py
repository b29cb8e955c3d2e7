"""Primitives that put elements in order."""
