"""Samples of the structural primitives, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._lax.structure.primitives import structure
from tangrad.conformance import Sample, draw, over

P = structure.primitives
KINDS = ("float32", "int32", "complex64", "bool")


def samples() -> list[Sample]:
    """All of them."""
    return [*_shapes(), *_parts(), *_joining(), *_others(), *_refused()]


def _refused() -> list[Sample]:
    """Dimensions that are not there, or are twice, or do not fit."""
    x = draw(2, 3)
    return [
        Sample(P["transpose"], (x,), {"permutation": (0, 0)}, raises=ValueError),
        Sample(P["rev"], (x,), {"dimensions": (2,)}, raises=ValueError),
        Sample(P["squeeze"], (x,), {"dimensions": (0,)}, raises=ValueError),
        Sample(P["concatenate"], (x, draw(3, 2)), {"dimension": 0}, raises=(TypeError, ValueError)),
    ]


def _shapes() -> list[Sample]:
    x = draw(2, 3)
    found = [
        Sample(P["broadcast_in_dim"], (draw(3),), {"shape": (2, 3), "broadcast_dimensions": (1,)}),
        Sample(P["broadcast_in_dim"], (draw(2, 1),), {"shape": (2, 4, 3), "broadcast_dimensions": (0, 2)}),
        Sample(P["broadcast_in_dim"], (draw(),), {"shape": (2, 3), "broadcast_dimensions": ()}),
        Sample(P["reshape"], (x,), {"new_sizes": (3, 2), "dimensions": None}),
        Sample(P["reshape"], (x,), {"new_sizes": (6,), "dimensions": (1, 0)}),
        Sample(P["reshape"], (draw(1, 4, 1),), {"new_sizes": (2, 2), "dimensions": None}),
        Sample(P["squeeze"], (draw(2, 1, 3, 1),), {"dimensions": (1, 3)}),
        Sample(P["rev"], (x,), {"dimensions": (1,)}),
        Sample(P["rev"], (x,), {"dimensions": (0, 1)}),
    ]
    for kind in KINDS:
        found.append(Sample(P["transpose"], (draw(2, 3, 4, dtype=kind),), {"permutation": (2, 0, 1)}))
    return found


def _parts() -> list[Sample]:
    x, zero, one = draw(4, 5), np.int32(0), np.int32(1)
    strided = {"start_indices": (1, 0), "limit_indices": (4, 5), "strides": (1, 2)}
    return [
        Sample(P["slice"], (x,), {"start_indices": (1, 2), "limit_indices": (3, 5), "strides": None}),
        *over(KINDS, lambda kind: Sample(P["slice"], (draw(4, 5, dtype=kind),), strided)),
        Sample(P["split"], (x,), {"sizes": (1, 0, 3), "axis": 0}),
        Sample(P["split"], (x,), {"sizes": (2, 3), "axis": 1}),
        Sample(P["dynamic_slice"], (x, one, zero), {"slice_sizes": (2, 3)}),
        Sample(P["dynamic_slice"], (x, np.int32(9), np.int32(-9)), {"slice_sizes": (2, 3)}),
        Sample(P["dynamic_update_slice"], (x, draw(2, 3, seed=1), one, one)),
        Sample(P["dynamic_update_slice"], (x, draw(2, 3, seed=1), np.int32(9), zero)),
        Sample(P["dynamic_update_slice"], (draw(4, dtype="int32"), draw(2, dtype="int32"), one)),
    ]


def _joining() -> list[Sample]:
    x, y = draw(2, 3), draw(4, 3, seed=1)
    return [
        Sample(P["concatenate"], (x, y), {"dimension": 0}),
        Sample(P["concatenate"], (x, draw(2, 1), draw(2, 2, seed=1)), {"dimension": 1}),
        Sample(P["concatenate"], (draw(2, dtype="complex64"), draw(3, dtype="complex64")), {"dimension": 0}),
        Sample(P["pad"], (x, np.float32(0.5)), {"padding_config": ((1, 2, 0), (0, 1, 2))}),
        Sample(P["pad"], (draw(4, 5), np.float32(0.5)), {"padding_config": ((-1, 2, 1), (1, -2, 0))}),
        Sample(P["pad"], (draw(3, dtype="int32"), np.int32(7)), {"padding_config": ((1, 0, 1),)}),
    ]


def _others() -> list[Sample]:
    found = [
        Sample(P["iota"], (), {"dtype": np.dtype(kind), "shape": (2, 3), "dimension": 1})
        for kind in ("int32", "float32", "uint8", "complex64")
    ]
    found += [Sample(P["copy"], (draw(2, 3, dtype=kind),)) for kind in KINDS]
    by_definition = "its derivative is zero by definition"
    absent = dict.fromkeys(("jvp", "transpose", "second"), by_definition)
    found.append(Sample(P["stop_gradient"], (draw(2, 3),), without=absent))
    found.append(Sample(P["optimization_barrier"], (draw(2, 3), draw(4, dtype="int32"), draw())))
    return found
