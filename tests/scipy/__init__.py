"""The interface of SciPy."""
