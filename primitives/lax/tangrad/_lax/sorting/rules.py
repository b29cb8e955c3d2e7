"""The rules of sorting, but for its derivative (`jvp`), which is a gather, and so nothing here is transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._lax.elementwise.primitives import convert_element_type_p, not_p
from tangrad._lax.reductions.primitives import greatest, least
from tangrad._lax.sorting.primitives import approx_top_k_p, search_sorted_p, sort_p, sorting, top_k_p
from tangrad.core import Array, Primitive, RuleSet
from tangrad.core.arguments import is_symbolic
from tangrad.typing import Dimensions, Dims, Value, Values

if TYPE_CHECKING:
    from tangrad.batching import AxisInfo
    from tangrad.extend.masking import Sizes

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", approx_top_k_p, search_sorted_p, sort_p, top_k_p)

checkify = RuleSet("checkify", api=1)
checkify.form("handed on", *sorting.primitives.values())

sharding = RuleSet("sharding", api=1)
sharding.form("along", sort_p, using=["dimension"])
sharding.form("along", top_k_p, using=["axis"])

# --- mapped axes: the first operand's stays where it is ---

batch = RuleSet("batch", api=1)


@batch.rule(sort_p)
def _sort(
    args: Values, dims: Dims, *, axis_info: AxisInfo, dimension: int, **params: object
) -> tuple[Sequence[Value], Sequence[int | None]]:
    place = next(dim for dim in dims if dim is not None)
    operands = [axis_info.place(arg, dim, place) for arg, dim in zip(args, dims)]
    outs = sort_p.bind(*operands, dimension=dimension + (place <= dimension), **params)
    return outs, (place,) * len(outs)


def _selection(primitive: Primitive) -> None:
    """Register the rule of a primitive that gives elements along `axis`, and where they were."""

    @batch.rule(primitive)
    def _(
        args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, axis: int, **params: object
    ) -> tuple[Values, Dims]:
        (operand,), (dim,) = args, dims
        return primitive.bind(operand, axis=axis + (dim <= axis), **params), (dim, dim)


_selection(top_k_p)
_selection(approx_top_k_p)

# --- padded arrays: what does not count comes last, whatever it is ---

mask = RuleSet("mask", api=1)


@mask.rule(sort_p)
def _(
    args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[Value]:
    shape = shapes[0]
    params = {"dimension": dimension, "is_stable": is_stable}
    if not is_symbolic(shape[dimension]):
        return sort_p.bind(*args, num_keys=num_keys, **params)
    beyond = convert_element_type_p.bind(not_p.bind(sizes.valid(shape)), new_dtype=np.dtype("int8"), weak_type=False)
    _, *outs = sort_p.bind(beyond, *args, num_keys=num_keys + 1, **params)
    return tuple([sizes.fill(out, shape, 0) for out in outs])


@mask.rule(top_k_p)
def _(args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, k: int, axis: int) -> Sequence[Value]:
    (x,), (shape,) = args, shapes
    found = top_k_p.bind(sizes.fill(x, shape, least(x.aval.dtype)), k=sizes.padded(k), axis=axis)
    return _selected(found, shape, axis, k, sizes)


@mask.rule(approx_top_k_p)
def _(
    args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, axis: int, is_max_k: bool, **params: Any
) -> Sequence[Value]:
    (x,), (shape,) = args, shapes
    beyond = least(x.aval.dtype) if is_max_k else greatest(x.aval.dtype)
    padded = sizes.padded_params(params)
    found = approx_top_k_p.bind(sizes.fill(x, shape, beyond), axis=axis, is_max_k=is_max_k, **padded)
    return _selected(found, shape, axis, params["results"], sizes)


def _selected(found: Values, shape: Dimensions, axis: int, count: int, sizes: Sizes) -> tuple[Array, Array]:
    out = (*shape[:axis], count, *shape[axis + 1 :])
    return tuple([sizes.fill(x, out, 0) for x in found])
