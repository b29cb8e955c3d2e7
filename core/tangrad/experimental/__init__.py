"""What may still change. The names resolve through the entry points of `tangrad.api`."""

from tangrad.composition.api import public_package

__getattr__, __dir__ = public_package(__name__)
