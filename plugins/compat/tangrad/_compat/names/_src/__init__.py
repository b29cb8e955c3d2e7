"""`jax._src`, jax's private modules: what packages of the field take from them, as far as Tangrad has it."""
