"""`jax._src.compiler`: nothing. Packages import it to replace functions in it, of which there are none."""
