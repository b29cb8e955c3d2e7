"""`jax._src.numpy`: the modules that `jax.numpy` is made of there."""
