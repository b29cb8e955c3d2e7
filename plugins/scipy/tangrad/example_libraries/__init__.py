"""Small libraries that show how larger ones are made: `stax` and `optimizers`."""

from tangrad.core import public_package

__getattr__, __dir__ = public_package(__name__)
