"""`jax.experimental.array_serialization`: arrays in files, which libraries of checkpoints write themselves."""
