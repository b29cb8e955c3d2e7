"""`jax.extend`: what packages that extend jax take from it."""
