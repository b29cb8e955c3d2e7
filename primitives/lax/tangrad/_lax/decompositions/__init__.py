"""Decompositions of matrices and solutions of linear systems, as primitives."""
