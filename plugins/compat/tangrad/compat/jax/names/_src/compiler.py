"""`jax._src.compiler`: nothing. It is imported by packages that replace functions in it, which there are none of here."""
