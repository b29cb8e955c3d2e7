"""`jax.extend.core.primitives`: primitives by their names in jax. Those that are not there occur in no program."""

from __future__ import annotations

from functools import cache
from typing import Any

from tangrad._compat.primitive_names import primitive_called
from tangrad._compat.primitives import Primitive

# Asked for to distinguish them from others; programs traced here have no such equations.
NEVER = frozenset(["call_p", "closed_call_p", "core_call_p", "xla_pmap_p"])


def __getattr__(name: str) -> Any:
    return _never(name) if name in NEVER else primitive_called("jax.extend.core.primitives", name)


@cache
def _never(name: str) -> Primitive:
    return Primitive(name.removesuffix("_p"))
