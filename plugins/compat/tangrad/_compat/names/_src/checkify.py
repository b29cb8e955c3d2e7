"""`jax._src.checkify`: what `jax.experimental.checkify` has, looked up when it is used."""

from __future__ import annotations

from typing import Any

import tangrad

_experimental: Any = tangrad.experimental


def __getattr__(name: str) -> Any:
    return getattr(_experimental.checkify, name)
