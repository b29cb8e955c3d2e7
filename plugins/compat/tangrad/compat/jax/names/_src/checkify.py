"""`jax._src.checkify`: what `jax.experimental.checkify` has, looked up when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module("tangrad.experimental.checkify"), name)
