"""Transforms of padded arrays: along other dimensions than the padded ones."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._numpy.fft.primitives import fft_p
from tangrad.core import RuleSet
from tangrad.extend.masking import Sizes, check_whole
from tangrad.typing import Dimensions, Value

mask = RuleSet("mask", api=1)


@mask.rule(fft_p)
def _(
    args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, fft_type: object, fft_lengths: Dimensions
) -> Value:
    (x,), (shape,) = args, shapes
    check_whole(fft_p, shape, range(len(shape) - len(fft_lengths), len(shape)))
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=fft_lengths)
