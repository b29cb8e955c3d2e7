"""What may still change. The names resolve through the entry points of `tangrad.api`."""

import os

import tangrad
from tangrad.composition.api import public_package

# As with `tangrad` itself, each distribution owns a part of this package.
__path__ = [
    folder for folder in [os.path.join(part, "experimental") for part in tangrad.__path__] if os.path.isdir(folder)
]
__getattr__, __dir__ = public_package(__name__)
