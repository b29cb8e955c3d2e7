"""`jax.lib`: the version of jaxlib."""

from tangrad._compat.names.version import __version__ as __version__
