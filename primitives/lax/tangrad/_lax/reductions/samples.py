"""Samples of the reductions and running totals, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._lax.elementwise.primitives import add_p, mul_p
from tangrad._lax.reductions.primitives import reductions
from tangrad.conformance import Sample, draw
from tangrad.core import Array, ShapedArray, trace_to_closed_jaxpr
from tangrad.typing import Value

P = reductions.primitives


def samples() -> list[Sample]:
    """All of them."""
    return [*_numbers(), *_bits(), *_positions(), *_running(), *_programs(), *_refused()]


def _refused() -> list[Sample]:
    """Axes that are not there, or twice; integers where exponentials are taken."""
    x, running = draw(2, 3), {"axis": 2, "reverse": False}
    return [
        *[Sample(P["reduce_sum"], (x,), {"axes": axes}, raises=ValueError) for axes in ((2,), (0, 0))],
        Sample(P["argmax"], (x,), {"axes": (2,), "index_dtype": np.dtype(np.int32)}, raises=ValueError),
        Sample(P["cumsum"], (x,), running, raises=ValueError),
        Sample(P["cumlogsumexp"], (draw(3, dtype="int32"),), {**running, "axis": 0}, raises=TypeError),
    ]


def _numbers() -> list[Sample]:
    found = []
    for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"):
        for axes in ((0,), (1,), (0, 2), (0, 1, 2)):
            found.append(Sample(P[name], (draw(2, 3, 2),), {"axes": axes}))
        for kind in ("int32", "uint8", "bfloat16"):
            found.append(Sample(P[name], (draw(3, 4, dtype=kind),), {"axes": (1,)}))
        orders = 2 if name in ("reduce_sum", "reduce_prod") else 0
        found.append(Sample(P[name], (draw(2, 3, dtype="complex64"),), {"axes": (1,)}, derivatives=orders))
    for name in ("reduce_max", "reduce_min"):
        special = np.array([[1.0, np.nan, 2.0], [np.inf, -np.inf, 0.0]], np.float32)
        found.append(Sample(P[name], (special,), {"axes": (1,)}, derivatives=0))
    return found


def _bits() -> list[Sample]:
    return [
        Sample(P[name], (draw(3, 4, dtype=kind),), {"axes": axes})
        for name in ("reduce_and", "reduce_or", "reduce_xor")
        for kind, axes in (("bool", (0,)), ("int32", (1,)), ("uint8", (0, 1)))
    ]


def _positions() -> list[Sample]:
    return [
        Sample(P[name], (draw(3, 4, dtype=kind),), {"axes": (axis,), "index_dtype": np.dtype(index)})
        for name in ("argmax", "argmin")
        for kind, axis, index in (("float32", 0, "int32"), ("int32", 1, "int32"), ("float32", 1, "int64"))
    ]


def _running() -> list[Sample]:
    found = []
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for axis, reverse in ((0, False), (1, True)):
            found.append(Sample(P[name], (draw(3, 4),), {"axis": axis, "reverse": reverse}))
        if name != "cumlogsumexp":
            found.append(Sample(P[name], (draw(3, 4, dtype="int32"),), {"axis": 1, "reverse": False}))
    return found


def _programs() -> list[Sample]:
    def both(a: Value, b: Value, c: Value, d: Value) -> tuple[Array, Array]:
        return add_p.bind(a, c), mul_p.bind(b, d)

    scalar = ShapedArray((), np.float32)
    jaxpr = trace_to_closed_jaxpr(both, (scalar,) * 4)
    args = draw(2, 3), draw(2, 3, seed=1), np.float32(0.0), np.float32(1.0)
    # Its program is of float32, so that no difference can be taken in double precision.
    return [Sample(P["reduce"], args, {"jaxpr": jaxpr, "dimensions": axes}, derivatives=0) for axes in ((0,), (0, 1))]
