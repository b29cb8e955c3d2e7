"""`jaxlib.version`, where no jaxlib is installed."""

from tangrad._compat.names.version import __version__ as __version__
from tangrad._compat.names.version import __version_info__ as __version_info__
