"""JAX's own test files, run through the alias `tangrad.compat.jax`: `python -m tools.jax_tests`."""

# The variables that say where JAX is, where results go, and how many seconds a test may take.
CHECKOUT, REPORT, LIMIT = "JAX_CHECKOUT", "JAX_TESTS_REPORT", "JAX_TESTS_LIMIT"
