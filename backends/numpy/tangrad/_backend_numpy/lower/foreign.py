"""Foreign functions: the handler is called on the arrays' memory, through ctypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import kernel
from tangrad._backend_numpy.quiet import outside
from tangrad.core import RuleSet
from tangrad.extend.ffi import Instance, ffi_call_p

if TYPE_CHECKING:
    import numpy as np

    from tangrad._backend_numpy.lowering import Lowering


lower = RuleSet("lower.numpy", api=1)


@kernel(lower, ffi_call_p, nature=FRESH)
def _(ctx: Lowering, **params: object) -> Callable[..., np.ndarray | tuple[np.ndarray, ...]]:
    instance = Instance(params, ctx.in_avals)
    return lambda *arrays: outside(instance, *arrays)
