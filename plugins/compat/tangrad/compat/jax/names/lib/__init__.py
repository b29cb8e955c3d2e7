"""`jax.lib`: the version of jaxlib."""

from tangrad.compat.jax.names.version import __version__ as __version__
