"""`jax._src.state`: the types of mutable arrays, which Tangrad has none of."""
