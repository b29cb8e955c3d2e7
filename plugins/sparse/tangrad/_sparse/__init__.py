"""Sparse arrays: coordinates and values. They are made of dense operations, so that every transformation applies."""
