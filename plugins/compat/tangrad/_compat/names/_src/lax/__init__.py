"""`jax._src.lax`: the modules that `jax.lax` is made of there."""
