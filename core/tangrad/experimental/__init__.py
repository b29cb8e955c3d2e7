"""What may still change. The names resolve through the entry points of `tangrad.api`."""

import os as _os

import tangrad as _tangrad
from tangrad._core.composition.api import public_package

# Distributions may own modules of this package, as they do of `tangrad`.
__path__ = [
    path for path in [_os.path.join(portion, "experimental") for portion in _tangrad.__path__] if _os.path.isdir(path)
]

__getattr__, __dir__ = public_package(__name__)
