"""Decompositions of matrices with NumPy; SciPy's functions of LAPACK where it is installed and NumPy has none."""
