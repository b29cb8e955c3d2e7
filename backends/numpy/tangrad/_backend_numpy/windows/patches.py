"""The windows of an array as the rows, or columns, of a matrix: a convolution is then one matrix product.

A convolution sums over features and places in the window (its *kernel* positions), for each batch element and place of
the window (its *output* positions). The gradient with respect to the kernel is a convolution too, in which batch and
features, and kernel and output positions, have changed roles; the matrix of patches is the same. It is described here
by what does not change:

- `rows`: that one of batch and features that comes first in the array, with its positions;
- `channels`: the other one, with its positions.

For a convolution of images in either of the usual layouts, rows are the batch and channels the features. So the
convolution and the gradient of its kernel ask for equal patches, and programs make them once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import FRESH, Function

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


Array = np.ndarray

LARGE_BATCH = 8  # elements of a batch from which on it varies fastest
LONG_ROW = 64  # positions from which on they may as well
MANY_CHANNELS = 16  # elements in a run of channels that come last in the array from which on these vary fastest


def batch_varies_fastest(batch: int, width: int, run_of_channels: int) -> bool:
    """Whether a batch had better be last in memory.

    Args:
        batch: its size. width: the positions along the last spatial dimension.
        run_of_channels: how many elements are adjacent where channels are the array's last dimension, else 0.
    """
    return batch >= LARGE_BATCH and width < LONG_ROW and run_of_channels < MANY_CHANNELS


class Axis:
    """One spatial dimension of an array that windows move over.

    Attributes:
        size: of the array; `dilation`: how far apart its elements are; `low`: the padding before them.
        rows, channels: how many positions each has; row_step, channel_step: how far apart they are.
    """

    __slots__ = ("channel_step", "channels", "dilation", "low", "row_step", "rows", "size")

    def __init__(
        self, size: int, dilation: int, low: int, rows: int, row_step: int, channels: int, channel_step: int
    ) -> None:
        self.size = size
        self.dilation = dilation
        self.low = low
        self.rows = rows
        self.row_step = row_step
        self.channels = channels
        self.channel_step = channel_step

    @property
    def length(self) -> int:
        """How many elements of the padded array are read: up to the last one of the last window."""
        return (self.rows - 1) * self.row_step + (self.channels - 1) * self.channel_step + 1

    @property
    def is_single(self) -> bool:
        """Whether each window has one element along this dimension, and each element one window."""
        return self.channels == 1 and self.rows == self.size and not self.is_padded

    @property
    def is_plain(self) -> bool:
        """Whether the array is read as it is: each element is one position of one kind."""
        return not self.is_padded and self.rows * self.channels == self.size and 1 in (self.rows, self.channels)

    @property
    def is_padded(self) -> bool:
        """Whether the array is not what is read, but has to be padded, dilated or cut."""
        return self.low != 0 or self.dilation != 1 or self.length != self.size

    def placed(self) -> tuple[slice, slice]:
        """Which elements of the array are read, and where they are in the padded one."""
        first = max(0, -(self.low // self.dilation)) if self.low < 0 else 0
        last = min(self.size - 1, (self.length - 1 - self.low) // self.dilation)
        if last < first:
            return slice(0, 0), slice(0, 0)
        start = self.low + first * self.dilation
        whole = first == 0 and last == self.size - 1
        return slice(None) if whole else slice(first, last + 1), slice(
            start, self.low + last * self.dilation + 1, self.dilation
        )

    def key(self) -> tuple[int, ...]:
        return tuple([getattr(self, name) for name in self.__slots__])


class Patches:
    """The patches of an array, for one signature.

    Attributes:
        row_dimension, channel_dimension: of the array; spatial: the dimensions of `axes`.
        groups: into how many groups channels (or rows, with `row_groups`) are divided; they come first in the result.
        channels_last: whether the result is (groups, rows, channels), with channels varying fastest within positions,
            or (groups, channels, rows), with those of the rows varying fastest.
        rows_last: whether rows vary faster than their positions.
    """

    def __init__(
        self,
        shape: Sequence[int],
        row_dimension: int,
        channel_dimension: int,
        spatial: Sequence[int],
        axes: Sequence[Axis],
        groups: int,
        row_groups: bool,
    ) -> None:
        self.row_dimension, self.channel_dimension, self.spatial = row_dimension, channel_dimension, tuple(spatial)
        self.axes = tuple(axes)
        self.groups, self.row_groups = groups, row_groups
        self.rows, self.channels = shape[row_dimension], shape[channel_dimension]
        if row_groups:
            self.rows //= groups
        else:
            self.channels //= groups
        self.shape = tuple(shape)
        self.channels_last, self.rows_last = self._order_in_memory()
        self.is_plain = all([axis.is_plain for axis in axes])

    def _order_in_memory(self) -> tuple[bool, bool]:
        """`channels_last` and `rows_last`: whatever can be copied in the longest runs."""
        if not self.axes:
            return True, False
        last = self.axes[-1]
        joined = last.channel_step == 1 and (self.groups == 1 or self.row_groups)
        run = self.channels * (last.channels if joined else 1)
        side_by_side = run if self.channel_dimension == len(self.shape) - 1 else 0
        if batch_varies_fastest(self.rows, last.rows, side_by_side):
            return False, True
        return run >= last.rows, False

    # --- the result ---

    @property
    def row_sizes(self) -> tuple[int, ...]:
        """The dimensions that make up the rows, in the order in which they vary."""
        positions = [axis.rows for axis in self.axes]
        return (*positions, self.rows) if self.rows_last else (self.rows, *positions)

    @property
    def channel_sizes(self) -> tuple[int, ...]:
        """The dimensions that make up the channels, in the order in which they vary."""
        positions = [axis.channels for axis in self.axes]
        return (*positions, self.channels) if self.channels_last else (self.channels, *positions)

    @property
    def matrix_shape(self) -> tuple[int, int, int]:
        """The shape of the result."""
        rows, channels = prod(self.row_sizes), prod(self.channel_sizes)
        return (self.groups, rows, channels) if self.channels_last else (self.groups, channels, rows)

    def key(self) -> tuple[Any, ...]:
        axes = tuple([axis.key() for axis in self.axes])
        dimensions = self.row_dimension, self.channel_dimension, self.spatial
        return "patches", dimensions, axes, self.groups, self.row_groups

    # --- without a copy ---

    def plain(self, operations: Any, x: Any) -> Any:
        """The patches of an array that is read as it is: its dimensions reordered."""
        shape = list(self.shape)
        split = self.row_dimension if self.row_groups else self.channel_dimension
        shape[split : split + 1] = [self.groups, shape[split] // self.groups]
        # A dimension of the array, counted with the one that groups are.
        place = {d: d + (d >= split) for d in range(len(self.shape))}
        by_rows = [place[d] for d, axis in zip(self.spatial, self.axes) if axis.channels == 1]
        by_channels = [place[d] for d, axis in zip(self.spatial, self.axes) if axis.channels != 1]
        row, channel = place[self.row_dimension], place[self.channel_dimension]
        rows = [*by_rows, row] if self.rows_last else [row, *by_rows]
        order = [*rows, *by_channels, channel] if self.channels_last else [channel, *by_channels, *rows]
        x = operations.transpose(operations.reshape(x, shape), (split, *order))
        return operations.reshape(x, self.matrix_shape)

    # --- with one ---

    def copying(self, dtype: np.dtype) -> Copying:
        """How the patches of an array are made in memory of their own."""
        row, channel = self.row_dimension, self.channel_dimension
        order = self._around(row, channel, self.spatial)
        padded = self._around(self.shape[row], self.shape[channel], [axis.length for axis in self.axes])
        is_padded = any([axis.is_padded for axis in self.axes])
        return Copying(dtype, order, is_padded, padded, self._placed(), self._view(padded, dtype.itemsize))

    def maker(self, dtype: np.dtype) -> Callable[[Array], Array]:
        """The function that makes the patches of an array."""
        prepared, matrix_shape, empty = self.copying(dtype).function(), self.matrix_shape, np.empty

        def patches(x: Array) -> Array:
            windows = prepared(x, None)
            found = empty(matrix_shape, dtype)
            found.reshape(windows.shape)[...] = windows
            return found

        return patches

    def _placed(self) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The index of what is read of an array, and that of where it is in the padded one."""
        parts, whole = [axis.placed() for axis in self.axes], slice(None)
        source, target = [self._around(whole, whole, [part[side] for part in parts]) for side in (0, 1)]
        return source, target

    def _around(self, row: object, channel: object, along: Sequence[Any]) -> tuple[Any, ...]:
        """What belongs to rows, channels and spatial dimensions, in the order in which the array is copied."""
        if self.channels_last:
            return (row, *along, channel)
        return (channel, *along, row) if self.rows_last else (row, channel, *along)

    def _view(self, padded_shape: Sequence[int], itemsize: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape and strides in which the padded array shows its patches, in the order of the result."""
        steps = [itemsize] * len(padded_shape)
        for d in range(len(padded_shape) - 2, -1, -1):
            steps[d] = steps[d + 1] * padded_shape[d + 1]
        if self.channels_last:
            row, *along, channel = steps
        elif self.rows_last:
            channel, *along, row = steps
        else:
            row, channel, *along = steps
        group = row * self.rows if self.row_groups else channel * self.channels
        rows = [(a.rows, a.row_step * step) for a, step in zip(self.axes, along)]
        rows.insert(len(rows) if self.rows_last else 0, (self.rows, row))
        channels = [(a.channels, a.channel_step * step) for a, step in zip(self.axes, along)]
        if self.channels_last:
            dimensions = [(self.groups, group), *rows, *channels, (self.channels, channel)]
        else:
            dimensions = [(self.groups, group), (self.channels, channel), *channels, *rows]
        return tuple([size for size, _ in dimensions]), tuple([step for _, step in dimensions])


class Copying:
    """How an array is copied so that its windows can be views.

    Attributes:
        dtype: of the copy.
        order: the array's dimensions, in the order in which they are copied.
        is_padded: whether there is more to the copy than these, or less.
        padded_shape: its shape; source, target: what is read of the array, in that order, and where it is in the copy.
        view_shape, strides: how the copy is seen: the dimensions of the groups, rows and channels of the patches.
    """

    __slots__ = ("dtype", "is_padded", "order", "padded_shape", "source", "strides", "target", "view_shape")

    def __init__(
        self,
        dtype: np.dtype,
        order: tuple[int, ...],
        is_padded: bool,
        padded_shape: tuple[int, ...],
        placed: tuple[Any, Any],
        view: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> None:
        self.dtype, self.order = dtype, order
        self.is_padded, self.padded_shape = is_padded, padded_shape
        self.source, self.target = placed
        self.view_shape, self.strides = view

    def function(self) -> Callable[[Array, Any], Any]:
        """The function that copies an array, where it must be.

        It takes the array, and of a padded one the part of it where the array goes, or None; and returns the windows, a
        view, or None where they are in what was handed in.
        """
        order = None if self.order == tuple(range(len(self.order))) else self.order
        source = None if all([part == slice(None) for part in self.source]) else self.source

        def prepared(x: Array, inside: Any) -> np.ndarray | None:
            if order is not None:
                x = x.transpose(order)
            if not is_padded:
                return windows_in(contiguous(x))
            padded = None
            if inside is None:
                padded = padding()
                inside = padded[target]
            inside[...] = x if source is None else x[source]
            return None if padded is None else windows_in(padded)

        is_padded, target, contiguous = self.is_padded, self.target, np.ascontiguousarray
        padding, windows_in = self.padding, self.windows_in
        return prepared

    def padding(self) -> Array:
        """The padded array before anything is copied into it."""
        return np.zeros(self.padded_shape, self.dtype)

    def windows_in(self, padded: Array) -> Array:
        """The windows in a padded array."""
        return np.ndarray(self.view_shape, self.dtype, padded, 0, self.strides)


class MakePatches(Function):
    """A step that makes patches. Attributes: patches, dtype: as given."""

    __slots__ = ("dtype", "key", "make", "patches")
    nature = FRESH

    def __init__(self, patches: Patches, dtype: np.dtype) -> None:
        self.patches, self.dtype = patches, dtype
        self.make = patches.maker(dtype)
        self.key = (*patches.key(), patches.shape, dtype)

    def direct(self, scalar: bool) -> Callable[..., Any]:
        return self.make

    def text(self, operands: Sequence[str], bind: Any, scalar: bool) -> str:
        return f"{bind(self.make, 'patches')}({', '.join(operands)})"


# --- Convolutions the other way round, for those that are gradients of convolutions ---
# Each element of the input is multiplied by the whole kernel, and what comes out is added up where it belongs.

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

    def _rows(self, batch: object, spatial: Sequence[Any]) -> tuple[Any, ...]:
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
        steps: list[tuple[Any, Any]] = []
        for place in product(*[range(size) for size in self.places]):
            parts = [part for i, k in enumerate(place) if (part := self._meets(i, k)) is not None]
            if len(parts) < len(place):
                continue
            sources, targets = [part[0] for part in parts], [part[1] for part in parts]
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
