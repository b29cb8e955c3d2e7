"""`jax.example_libraries`: what Tangrad's has not."""
