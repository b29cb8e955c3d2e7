"""Kernels in Python, run by any backend. The names resolve through the entry points of `tangrad.api`."""

from tangrad._references.pallas.specs import unsupported
from tangrad.core import public_package

globals().update(unsupported(__name__))
__getattr__, __dir__ = public_package(__name__)
