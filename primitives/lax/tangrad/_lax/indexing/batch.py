"""How gather and the scatters are mapped: the mapped axis becomes a window dimension, or a batching one."""

from __future__ import annotations

from tangrad._lax.indexing.primitives import SCATTERS, GatherDimensionNumbers, ScatterDimensionNumbers, gather_p, one_of
from tangrad.batching import AxisInfo, place_axis, to_front
from tangrad.core import Primitive, RuleSet
from tangrad.typing import Dimensions, Dims, Value, Values

batch = RuleSet("batch", api=1)


def _later(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions after a new one has come in front."""
    return tuple([dim + 1 for dim in dims])


@batch.rule(gather_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Dimensions,
    **params: object,
) -> tuple[Value, int | None]:
    operand, indices = [to_front(arg, dim) for arg, dim in zip(args, dims)]
    offset, collapsed, index_map, operand_batching, indices_batching = dimension_numbers.astuple()
    if dims[1] is None:  # every slice is taken whole along the mapped axis
        numbers = GatherDimensionNumbers(
            (0, *_later(offset)), _later(collapsed), _later(index_map), _later(operand_batching), indices_batching
        )
        slice_sizes = (axis_info.size, *slice_sizes)
    elif dims[0] is None:
        numbers = GatherDimensionNumbers(
            _later(offset), collapsed, index_map, operand_batching, _later(indices_batching)
        )
    else:
        numbers = GatherDimensionNumbers(
            _later(offset),
            _later(collapsed),
            _later(index_map),
            (0, *_later(operand_batching)),
            (0, *_later(indices_batching)),
        )
        slice_sizes = (one_of(axis_info.size), *slice_sizes)
    out = gather_p.bind(operand, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, **params)
    return out, 0


def _scatter(primitive: Primitive) -> None:
    @batch.rule(primitive)
    def _(
        args: Values,
        dims: tuple[int, ...],
        *,
        axis_info: AxisInfo,
        dimension_numbers: ScatterDimensionNumbers,
        **params: object,
    ) -> tuple[Value, int | None]:
        window, inserted, index_map, operand_batching, indices_batching = dimension_numbers.astuple()
        operand = place_axis(args[0], dims[0], 0, axis_info.size)
        updates = place_axis(args[2], dims[2], 0, axis_info.size)
        indices = to_front(args[1], dims[1])
        if dims[1] is None:
            numbers = ScatterDimensionNumbers(
                (0, *_later(window)), _later(inserted), _later(index_map), _later(operand_batching), indices_batching
            )
        else:
            numbers = ScatterDimensionNumbers(
                _later(window),
                _later(inserted),
                _later(index_map),
                (0, *_later(operand_batching)),
                (0, *_later(indices_batching)),
            )
        return primitive.bind(operand, indices, updates, dimension_numbers=numbers, **params), 0


for _primitive in SCATTERS:
    _scatter(_primitive)
