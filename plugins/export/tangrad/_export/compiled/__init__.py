"""Compiled programs as files: machine code for XLA, portable programs for NumPy."""
