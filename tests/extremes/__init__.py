"""Elementwise functions and their derivatives where numbers end, against 40 digits of mpmath."""
