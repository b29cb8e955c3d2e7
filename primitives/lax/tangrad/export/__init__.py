"""Programs for any size and any machine. The names resolve through the entry points of `tangrad.api`."""

from tangrad.core import public_package

__getattr__, __dir__ = public_package(__name__)
