"""Kernels in Python, run by any backend. The names resolve through the entry points of `tangrad.api`."""

from typing import Any

from tangrad._pallas.unsupported import unsupported
from tangrad.core import public_package

_find, __dir__ = public_package(__name__)


def __getattr__(name: str) -> Any:
    return unsupported(__name__, name) or _find(name)
