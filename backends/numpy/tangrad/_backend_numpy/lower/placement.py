"""Inside a program nothing moves: the program runs in one place."""

from __future__ import annotations

from typing import Any

from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet
from tangrad.extend.lax import device_put_p

lower = RuleSet("lower.numpy", api=1)


@composed(lower, device_put_p, any_sizes=True)
def _(ctx: Any, x: Any, *, target: Any) -> Any:
    return x
