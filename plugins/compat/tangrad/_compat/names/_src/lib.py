"""`jax._src.lib`: the version of jaxlib; its modules, such as `xla_client`, are those of an installed jaxlib."""

from tangrad._compat.names.version import __version__ as version_str
from tangrad._compat.names.version import __version_info__ as version

__all__ = ["version", "version_str"]
