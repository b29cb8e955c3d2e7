"""Special functions: error functions, the gamma family, incomplete gamma and beta, Bessel functions, zeta."""
