"""How Fourier transforms act on mapped axes: as on the other dimensions in front of those that are transformed."""

from __future__ import annotations

from typing import Any

from tangrad._fft.primitives import fft_p
from tangrad.batching import move_axis
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(fft_p)
def _fft(args: Any, dims: Any, *, axis_info: Any, fft_lengths: tuple[Any, ...], **params: Any) -> Any:
    (x,), (dim,) = args, dims
    if dim >= x.aval.ndim - len(fft_lengths):
        x, dim = move_axis(x, dim, 0), 0
    return fft_p.bind(x, fft_lengths=fft_lengths, **params), dim
