"""Convolutions and reductions over windows in NumPy, for one signature each."""
