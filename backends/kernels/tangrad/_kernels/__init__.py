"""Compiled kernels as lowerings: XLA's programs and NumPy's call them where they are faster than what these have.

`library` loads the compiled functions, `jobs` has what they are called with, `<family>` what equations they take, and
`lower/` makes rules of that for each backend. Where there is no library the rule sets are empty, and all is as without
this distribution.
"""
