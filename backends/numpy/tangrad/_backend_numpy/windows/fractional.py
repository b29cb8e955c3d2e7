"""Convolutions the other way round, for those that are gradients of convolutions.

Each element of the input is multiplied by the whole kernel, in one matrix product, and what comes out is added up
where it belongs, one place of the kernel after the other. For dilated inputs no hole is multiplied by anything; and
where features become fewer, there is less to add up than there would be to copy into patches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.windows.patches import Array, batch_varies_fastest

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


# How much fewer features must become, and how many times as many as positions there must be to add up along them.
# Measured, on one core: kernels of 3 x 3 and 5 x 5 on 64 images of 14 x 14, 8 to 128 features.
FEWER = 2
LONGER = 2


class FractionalConvolution:
    """A convolution with windows of step 1, for one signature. Attributes: as of `Convolution`."""

    def __init__(
        self, lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], dtype: np.dtype, **params: Any
    ) -> None:
        self.lhs, self.rhs, self.out, self.dtype, self.params = tuple(lhs), tuple(rhs), tuple(out), dtype, params
        self.lhs_spec, self.rhs_spec, self.out_spec = params["dimension_numbers"]
        self.groups = params["feature_group_count"]
        self.batch = self.lhs[self.lhs_spec[0]]
        self.features = self.out[self.out_spec[1]] // self.groups
        self.places = tuple([self.rhs[d] for d in self.rhs_spec[2:]])
        self.spatial_in = tuple([self.lhs[d] for d in self.lhs_spec[2:]])
        self.spatial_out = tuple([self.out[d] for d in self.out_spec[2:]])
        # What varies fastest while products are added up: the batch, features, or positions.
        feature, width = self.lhs_spec[1], self.spatial_in[-1] if self.spatial_in else 0
        run = self.lhs[feature] if feature == len(self.lhs) - 1 else 0
        self.batch_last = bool(self.spatial_in) and batch_varies_fastest(self.batch, width, run)
        self.features_last = not self.batch_last and self.features >= LONGER * width

    @staticmethod
    def suits(lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], **params: Any) -> bool:
        """Whether this is faster than the matrix of patches would be."""
        lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
        if params["batch_group_count"] > 1 or any([stride > 1 for stride in params["window_strides"]]):
            return False
        positions_in, positions_out = prod([lhs[d] for d in lhs_spec[2:]]), prod([out[d] for d in out_spec[2:]])
        if any([dilation > 1 for dilation in params["lhs_dilation"]]):
            return positions_in < positions_out
        if positions_in > positions_out or prod([rhs[d] for d in rhs_spec[2:]]) == 1:
            return False
        return rhs[rhs_spec[1]] >= FEWER * rhs[rhs_spec[0]] // params["feature_group_count"]

    def emit(self, ctx: Lowering, x: Value, w: Value) -> Value:
        """Append the steps of the convolution of two values to a program."""
        elements, kernel = self._elements(ctx, x), self._kernel(ctx, w)
        positions = self._rows(self.batch, self.spatial_in)
        if self.features_last:
            products = ctx.reshape(
                ctx.matmul(elements, ctx.transpose(kernel, (0, 2, 1))),
                (self.groups, *positions, *self.places, self.features),
            )
        else:
            products = ctx.reshape(
                ctx.matmul(kernel, ctx.transpose(elements, (0, 2, 1))),
                (self.groups, *self.places, self.features, *positions),
            )
        total = ctx.call(self._adder(), products, like=ctx.full(self._sum_shape(), 0, self.dtype), nature="fresh")
        return self._arranged(ctx, total)

    def _rows(self, batch: Any, spatial: Sequence[Any]) -> tuple[Any, ...]:
        """What belongs to the batch and to positions, in the order in which they vary."""
        return (*spatial, batch) if self.batch_last else (batch, *spatial)

    def _elements(self, ctx: Lowering, x: Value) -> Value:
        """The input as (groups, batch and positions, features)."""
        batch, feature, *spatial = self.lhs_spec
        shape = list(self.lhs)
        per_group = shape[feature] // self.groups
        shape[feature : feature + 1] = [self.groups, per_group]
        order = [d + (d > feature) for d in self._rows(batch, spatial)]
        x = ctx.transpose(ctx.reshape(x, tuple(shape)), (feature, *order, feature + 1))
        return ctx.reshape(x, (self.groups, self.batch * prod(self.spatial_in), per_group))

    def _kernel(self, ctx: Lowering, w: Value) -> Value:
        """The kernel as (groups, places and output features, input features)."""
        feature, summed, *spatial = self.rhs_spec
        shape = list(self.rhs)
        shape[feature : feature + 1] = [self.groups, self.features]
        order = [d + (d > feature) for d in (*spatial, summed)]
        w = ctx.transpose(ctx.reshape(w, tuple(shape)), (feature, *order[:-1], feature + 1, order[-1]))
        return ctx.reshape(w, (self.groups, prod(self.places) * self.features, self.rhs[summed]))

    def _sum_shape(self) -> tuple[int, ...]:
        positions = self._rows(self.batch, self.spatial_out)
        if self.features_last:
            return (self.groups, *positions, self.features)
        return (self.groups, self.features, *positions)

    def _adder(self) -> Callable[[Array], Array]:
        """The function that adds up products where they belong."""
        shape, dtype = self._sum_shape(), self.dtype
        every = slice(None)
        steps = []
        for place in product(*[range(size) for size in self.places]):
            parts = [self._meets(i, k) for i, k in enumerate(place)]
            if any([part is None for part in parts]):
                continue
            sources, targets = [part[0] for part in parts], [part[1] for part in parts]  # type: ignore[index]
            if self.features_last:
                steps.append(((every, every, *targets), (every, every, *sources, *place)))
            else:
                rows = [self._rows(every, along) for along in (targets, sources)]
                steps.append(((every, every, *rows[0]), (every, *place, every, *rows[1])))

        def add_up(products: Array) -> Array:
            total = np.zeros(shape, dtype)
            for target, source in steps:
                part = total[target]
                np.add(part, products[source], part)
            return total

        return add_up

    def _meets(self, i: int, k: int) -> tuple[slice, slice] | None:
        """For one place in the kernel, along one dimension: which elements of the input are used, and for what."""
        dilation = self.params["lhs_dilation"][i]
        offset = self.params["padding"][i][0] - k * self.params["rhs_dilation"][i]
        first = max(0, -(offset // dilation))
        last = min(self.spatial_in[i] - 1, (self.spatial_out[i] - 1 - offset) // dilation)
        if last < first:
            return None
        start = offset + first * dilation
        return slice(first, last + 1), slice(start, offset + last * dilation + 1, dilation)

    def _arranged(self, ctx: Lowering, total: Any) -> Value:
        """The sums in the shape of the result."""
        batch, feature, *spatial = self.out_spec
        rank = len(self.out)
        first = 1 if self.features_last else 2
        place = {d: first + i for i, d in enumerate(self._rows(batch, spatial))}
        features = (0, rank if self.features_last else 1)
        order = [p for d in range(rank) for p in (features if d == feature else (place[d],))]
        return ctx.reshape(ctx.transpose(total, order), self.out)
