"""`jax.experimental.colocated_python.func`: nothing, as in all of the package."""
