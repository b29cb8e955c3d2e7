"""Small libraries that show how larger ones are made: `stax` and `optimizers`."""

from tangrad._scipy import public_modules as _public_modules
from tangrad.core import public_package

__getattr__, __dir__ = public_package(__name__)

_public_modules(
    __name__,
    {
        "optimizers": "Optimizers as triples of functions.",
        "stax": "Neural networks as pairs of functions.",
    },
)
