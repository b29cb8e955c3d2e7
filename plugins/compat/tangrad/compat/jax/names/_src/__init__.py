"""`jax._src`, jax's private modules: what packages of the field take from them, as far as there is something like it."""
