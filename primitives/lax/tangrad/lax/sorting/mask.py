"""Sorting padded arrays: what does not count comes last, whatever it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.core import RuleSet, is_symbolic
from tangrad.lax.elementwise.primitives import convert_element_type_p, not_p
from tangrad.lax.reductions.primitives import least
from tangrad.lax.sorting.primitives import sort_p, top_k_p
from tangrad.masking import Sizes

mask = RuleSet("mask", api=1)


@mask.rule(sort_p)
def _(args: Any, shapes: Any, *, sizes: Sizes, dimension: int, is_stable: bool, num_keys: int) -> Any:
    shape = shapes[0]
    params = {"dimension": dimension, "is_stable": is_stable}
    if not is_symbolic(shape[dimension]):
        return sort_p.bind(*args, num_keys=num_keys, **params)
    beyond = convert_element_type_p.bind(not_p.bind(sizes.valid(shape)), new_dtype=np.dtype("int8"), weak_type=False)
    _, *outs = sort_p.bind(beyond, *args, num_keys=num_keys + 1, **params)
    return tuple([sizes.fill(out, shape, 0) for out in outs])


@mask.rule(top_k_p)
def _(args: Any, shapes: Any, *, sizes: Sizes, k: Any, axis: int) -> Any:
    (x,), (shape,) = args, shapes
    values, places = top_k_p.bind(sizes.fill(x, shape, least(x.aval.dtype)), k=sizes.padded(k), axis=axis)
    out = (*shape[:axis], k, *shape[axis + 1 :])
    return sizes.fill(values, out, 0), sizes.fill(places, out, 0)
