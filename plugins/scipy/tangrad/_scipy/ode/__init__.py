"""Ordinary differential equations: steps, their sizes, and the adjoint of the whole."""
