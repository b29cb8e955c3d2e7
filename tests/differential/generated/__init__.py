"""Random programs of numpy, lax and transformations, run by Tangrad and by JAX: made, run, compared, shrunk."""
