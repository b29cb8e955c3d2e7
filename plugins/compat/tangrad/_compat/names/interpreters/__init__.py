"""`jax.interpreters`: the tables of rules that packages with primitives fill."""
