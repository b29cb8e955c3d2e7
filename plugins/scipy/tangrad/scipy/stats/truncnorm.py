"""The normal distribution between two bounds, loc + a scale and loc + b scale.

The names resolve through the entry points of `tangrad.api`.
"""

from tangrad.core import public_package

__getattr__, __dir__ = public_package(__name__)
