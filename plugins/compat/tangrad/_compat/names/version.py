"""`jax.version`: the release whose behaviour and names the alias has."""

__version__ = "0.10.2"
__version_info__ = (0, 10, 2)
