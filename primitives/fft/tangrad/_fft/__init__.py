"""Discrete Fourier transforms: the primitive, its rules, and the functions of `lax.fft` and `numpy.fft`."""
