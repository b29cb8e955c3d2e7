"""`jaxlib`, where none is installed: its version, for those who compare it."""

from tangrad._compat.names.version import __version__ as __version__

__all__ = ["__version__"]
