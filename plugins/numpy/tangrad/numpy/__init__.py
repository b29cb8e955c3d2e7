"""NumPy's functions for Tangrad arrays. The names resolve through the entry points of `tangrad.api`."""

import tangrad._numpy.settings as _settings  # what the modules of the package read from `thread`
from tangrad._numpy.array_api import namespace_info as __array_namespace_info__
from tangrad.core import public_package

__array_api_version__ = "2024.12"

__getattr__, __dir__ = public_package(__name__)
