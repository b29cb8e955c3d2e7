"""`jax._src.xla_bridge`: which backends are in use."""

from __future__ import annotations

from typing import Any

from tangrad.core import get_backend as get_backend
from tangrad.core.backends import loaded_backends


def __getattr__(name: str) -> Any:
    if name == "_backends":  # looked at to find out whether it is too late to ask for more devices
        return {backend.platform: backend for backend in loaded_backends()}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
