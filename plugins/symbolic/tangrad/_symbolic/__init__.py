"""Dimensions that are not numbers: polynomials in named sizes, what is known of them, and how to write them."""
