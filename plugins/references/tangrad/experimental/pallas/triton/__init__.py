"""What kernels for Triton name: loads and stores with masks, atomic updates. Its names are entry points."""

from tangrad._references.pallas.specs import unsupported
from tangrad.core import public_package

globals().update(unsupported(__name__))
__getattr__, __dir__ = public_package(__name__)
