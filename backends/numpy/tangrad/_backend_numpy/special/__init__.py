"""The special functions in NumPy: vectorised, in double precision, to a few units in the last place.

Each function takes one-dimensional arrays of float64, of one size, and returns one; `lower/special.py` brings other
dtypes and shapes. Elements are sorted by the method that suits them, and each method runs on its elements alone.
"""
