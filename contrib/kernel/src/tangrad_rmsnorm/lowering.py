"""The kernel, as lowering on XLA's host platform and on NumPy."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

from tangrad import ffi
from tangrad.core import RuleSet
from tangrad_rmsnorm.primitive import DTYPES, rms_norm_p

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad.core.protocols import LoweringRule

library = ctypes.CDLL(str(Path(__file__).with_name("kernel.so")))
for name in DTYPES:
    ffi.register_ffi_target(f"tangrad_rmsnorm.{name}", getattr(library, f"rms_norm_{name}"))


def by_dtype(make: Callable[[str], LoweringRule]) -> LoweringRule:
    """A rule that takes the kernel of the operand's dtype."""
    rules = {name: make(f"tangrad_rmsnorm.{name}") for name in DTYPES}
    return lambda ctx, x, *, eps: rules[ctx.in_avals[0].dtype.name](ctx, x, eps=eps)


on_numpy = RuleSet("lower.numpy", api=1)
on_numpy.rule(rms_norm_p)(by_dtype(ffi.host_lowering))
on_xla = RuleSet("lower.xla.cpu", api=1)
on_xla.rule(rms_norm_p)(by_dtype(ffi.ffi_lowering))
