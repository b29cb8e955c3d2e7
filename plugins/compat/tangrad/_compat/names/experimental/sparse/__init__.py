"""`jax.experimental.sparse`: what Tangrad's has not."""
