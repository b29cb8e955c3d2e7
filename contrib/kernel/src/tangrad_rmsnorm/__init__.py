"""Root mean square normalisation by a kernel in C++."""
