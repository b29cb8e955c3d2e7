"""Small programs written once against names that `jax` and `tangrad` share, and run on both."""
