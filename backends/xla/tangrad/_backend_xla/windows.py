"""Reductions over windows as StableHLO, for the lowerings of more than one platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._backend_xla.helpers import fill_body


def padding_attribute(ctx: Any, padding: Any) -> Any:
    """Pairs `(low, high)` as an attribute."""
    return ctx.vocabulary.integer_matrix(np.asarray(padding, np.int64).reshape(len(padding), 2))


def reduce_window(
    ctx: Any,
    body: Any,
    operands: Sequence[Any],
    initial: Sequence[Any],
    out_avals: Sequence[Any],
    *,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any,
    window_dilation: Any,
) -> list[Any]:
    """Reduce over windows. `body(ctx, *accumulators, *elements)` combines scalars, in a region of its own."""
    words = ctx.vocabulary
    attributes = {
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
