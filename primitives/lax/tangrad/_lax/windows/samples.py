"""Samples of convolutions and reductions over windows, for the conformance kit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._lax.elementwise.primitives import add_p, ge_p, le_p
from tangrad._lax.windows.dimensions import ConvDimensionNumbers
from tangrad._lax.windows.primitives import windows
from tangrad.conformance import Sample, draw
from tangrad.core import ShapedArray, trace_to_closed_jaxpr

if TYPE_CHECKING:
    pass

P = windows.primitives
PLAIN = ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
LAST = ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1))


def samples() -> list[Sample]:
    """All of them."""
    return [*_convolutions(), *_reductions(), *_selections()]


def _convolution(left: tuple[int, ...], right: tuple[int, ...], kind: str = "float32", **changed: object) -> Sample:
    params = {
        "window_strides": (1,),
        "padding": ((0, 0),),
        "lhs_dilation": (1,),
        "rhs_dilation": (1,),
        "dimension_numbers": PLAIN,
        "feature_group_count": 1,
        "batch_group_count": 1,
        "precision": None,
        "preferred_element_type": None,
        **changed,
    }
    args = draw(*left, dtype=kind), draw(*right, dtype=kind, seed=1)
    return Sample(P["conv_general_dilated"], args, params, tolerance=1e-4)


def _convolutions() -> list[Sample]:
    return [
        _convolution((2, 2, 5), (3, 2, 2)),
        _convolution((1, 2, 6), (2, 2, 3), window_strides=(2,), padding=((1, 2),)),
        _convolution((1, 2, 5), (2, 2, 2), lhs_dilation=(2,), rhs_dilation=(2,), padding=((1, -1),)),
        _convolution((2, 4, 4), (4, 2, 2), feature_group_count=2),
        _convolution((4, 2, 4), (2, 2, 2), batch_group_count=2),
        _convolution((2, 5, 2), (2, 2, 3), dimension_numbers=LAST),
        _convolution((1, 2, 5), (2, 2, 2), kind="complex64"),
    ]


def _window(**changed: object) -> dict[str, Any]:
    return {
        "window_dimensions": (1, 3),
        "window_strides": (1, 2),
        "padding": ((0, 0), (1, 1)),
        "base_dilation": (1, 1),
        "window_dilation": (1, 1),
        **changed,
    }


def _reductions() -> list[Sample]:
    found = []
    for name in ("reduce_window_sum", "reduce_window_max", "reduce_window_min"):
        found.append(Sample(P[name], (draw(2, 6),), _window()))
        found.append(Sample(P[name], (draw(4, 5),), _window(window_dimensions=(2, 2))))
        found.append(Sample(P[name], (draw(3, 5, dtype="int32"),), _window()))
    found.append(Sample(P["reduce_window_sum"], (draw(3, 5),), _window(base_dilation=(1, 2), window_dilation=(1, 2))))
    scalar = ShapedArray((), np.float32)
    jaxpr = trace_to_closed_jaxpr(lambda x, y: (add_p.bind(x, y),), (scalar, scalar))
    args = draw(2, 6), np.float32(0.0)
    # Its program is of float32, so that no difference can be taken in double precision.
    once = {"special": "how often the initial value is combined with a window is left open"}
    found.append(Sample(P["reduce_window"], args, {"jaxpr": jaxpr, **_window()}, derivatives=0, without=once))
    return found


def _selections() -> list[Sample]:
    found, params = [], _window()
    short = {name: params[name] for name in ("window_dimensions", "window_strides", "padding")}
    for select in (ge_p, le_p):
        gather = {"select_prim": select, **params}
        found.append(Sample(P["select_and_gather_add"], (draw(2, 6), draw(2, 6, seed=1)), gather))
        scatter = {"select_prim": select, **short}
        found.append(Sample(P["select_and_scatter_add"], (draw(2, 3), draw(2, 6, seed=1)), scatter))
    return found
