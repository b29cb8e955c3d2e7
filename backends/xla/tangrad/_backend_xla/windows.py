"""Reductions over windows as StableHLO, for the lowerings of more than one platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.helpers import fill_body

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute, IrValue
    from tangrad.core import ShapedArray


def padding_attribute(ctx: FunctionContext, padding: Any) -> IrAttribute:
    """Pairs `(low, high)` as an attribute."""
    return ctx.vocabulary.integer_matrix(np.asarray(padding, np.int64).reshape(len(padding), 2))


def reduce_window(
    ctx: FunctionContext,
    body: Any,
    operands: Sequence[IrValue],
    initial: Sequence[IrValue],
    out_avals: Sequence[ShapedArray],
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Any,
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> list[IrValue]:
    """Reduce over windows. `body(ctx, *accumulators, *elements)` combines scalars, in a region of its own."""
    words = ctx.vocabulary
    attributes: dict[str, IrAttribute] = {
        "window_dimensions": words.integers(window_dimensions),
        "window_strides": words.integers(window_strides),
        "base_dilations": words.integers(base_dilation),
        "window_dilations": words.integers(window_dilation),
        "padding": padding_attribute(ctx, padding),
    }
    types = [ctx.types[aval] for aval in out_avals]
    operation = ctx.ops("stablehlo.reduce_window", types, [*operands, *initial], attributes, regions=1)
    fill_body(ctx, operation, body, [aval.dtype for aval in out_avals])
    return list(operation.results)
