"""Inside a program nothing moves: the program runs in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet
from tangrad.extend.lax import device_put_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


@composed(lower, device_put_p, any_sizes=True)
def _(ctx: Lowering, x: Value, *, target: Any) -> Value:
    return x
