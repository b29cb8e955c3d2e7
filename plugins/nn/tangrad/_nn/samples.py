"""Samples of the activations, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._nn.primitives import activations
from tangrad.conformance import Sample, draw

P = activations.primitives


def samples() -> list[Sample]:
    """All of them."""
    found = [
        Sample(P["relu6"], (draw(2, 3, low=-4, high=9),)),
        Sample(P["softplus"], (draw(2, 3, low=-4, high=9),)),
        Sample(P["log1mexp"], (draw(2, 3, low=0.2, high=3.0),)),
        Sample(P["softmax"], (draw(2, 3),), {"axes": (1,)}),
        Sample(P["softmax"], (draw(2, 3, 4),), {"axes": (0, 2)}),
    ]
    for name in ("silu", "mish", "gelu", "gelu_tanh"):
        found.append(Sample(P[name], (draw(2, 3, low=-4, high=4),)))
        found.append(Sample(P[name], (draw(4, dtype="float16"),)))
        found.append(Sample(P[name], (np.array([-np.inf, -300.0, 0.0, 300.0, np.inf], np.float32),), derivatives=0))
    for kind in ("float32", "float64", "bfloat16"):
        found.append(Sample(P["relu"], (draw(2, 3, dtype=kind),)))
    found.append(Sample(P["relu"], (np.array([-1.0, 0.0, -0.0, 2.0], np.float32),), derivatives=0))
    return found
