"""`jax._src.checkify`: what `jax.experimental.checkify` has, and names of annotations."""

from __future__ import annotations

from typing import Any, TypeVar

import tangrad

Out = TypeVar("Out")  # what functions that are checked return
_experimental: Any = tangrad.experimental


def __getattr__(name: str) -> Any:
    # The base of the classes that sets of errors, such as `user_checks`, are made of.
    return getattr(_experimental.checkify, "ErrorCategory" if name == "JaxException" else name)
