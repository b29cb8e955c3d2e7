"""`jax._src.state`: the types of references."""
