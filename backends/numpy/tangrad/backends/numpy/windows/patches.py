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
from math import prod
from typing import Any

import numpy as np

from tangrad.backends.numpy.functions import FRESH, Function

Array = np.ndarray[Any, Any]


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
        return slice(first, last + 1), slice(start, self.low + last * self.dilation + 1, self.dilation)

    def key(self) -> tuple[int, ...]:
        return tuple([getattr(self, name) for name in self.__slots__])


class Patches:
    """The patches of an array, for one signature.

    Attributes:
        row_dimension, channel_dimension: of the array; spatial: the dimensions of `axes`.
        groups: into how many groups channels (or rows, with `row_groups`) are divided; they come first in the result.
        channels_last: whether the result is (groups, rows, channels), with channels varying fastest within positions,
            or (groups, channels, rows), with positions varying fastest: whatever can be copied in longer runs.
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
        self.shape, self.channels_last = tuple(shape), self._prefers_channels_last()
        self.is_plain = all([axis.is_plain for axis in axes])

    def _prefers_channels_last(self) -> bool:
        if not self.axes:
            return True
        last = self.axes[-1]
        joined = last.channel_step == 1 and (self.groups == 1 or self.row_groups)
        return self.channels * (last.channels if joined else 1) >= last.rows

    # --- the result ------------------------------------------------------------------------------------------------

    @property
    def row_sizes(self) -> tuple[int, ...]:
        """The dimensions that make up the rows, in the order in which they vary."""
        return (self.rows, *[axis.rows for axis in self.axes])

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

    def key(self) -> Any:
        axes = tuple([axis.key() for axis in self.axes])
        dimensions = self.row_dimension, self.channel_dimension, self.spatial
        return "patches", dimensions, axes, self.groups, self.row_groups

    # --- without a copy --------------------------------------------------------------------------------------------

    def plain(self, operations: Any, x: Any) -> Any:
        """The patches of an array that is read as it is: its dimensions reordered."""
        shape = list(self.shape)
        split = self.row_dimension if self.row_groups else self.channel_dimension
        shape[split : split + 1] = [self.groups, shape[split] // self.groups]
        # A dimension of the array, counted with the one that groups are.
        place = {d: d + (d >= split) for d in range(len(self.shape))}
        by_rows = [place[d] for d, axis in zip(self.spatial, self.axes) if axis.channels == 1]
        by_channels = [place[d] for d, axis in zip(self.spatial, self.axes) if axis.channels != 1]
        rows, channel = [place[self.row_dimension], *by_rows], place[self.channel_dimension]
        order = [*rows, *by_channels, channel] if self.channels_last else [channel, *by_channels, *rows]
        x = operations.transpose(operations.reshape(x, shape), (split, *order))
        return operations.reshape(x, self.matrix_shape)

    # --- with one --------------------------------------------------------------------------------------------------

    def maker(self, dtype: Any) -> Callable[[Array], Array]:
        """The function that makes the patches of an array in memory of their own."""
        lengths = [axis.length for axis in self.axes]
        totals = self.shape[self.row_dimension], self.shape[self.channel_dimension]
        if self.channels_last:
            order = (self.row_dimension, *self.spatial, self.channel_dimension)
            padded_shape = (totals[0], *lengths, totals[1])
        else:
            order = (self.row_dimension, self.channel_dimension, *self.spatial)
            padded_shape = (*totals, *lengths)
        is_padded = any([axis.is_padded for axis in self.axes])
        source, target = self._placed()
        view_shape, strides = self._view(padded_shape, dtype.itemsize)
        matrix_shape, ndarray, empty, zeros = self.matrix_shape, np.ndarray, np.empty, np.zeros

        def patches(x: Array) -> Array:
            x = x.transpose(order)
            if is_padded:
                padded = zeros(padded_shape, dtype)
                padded[target] = x[source]
            else:
                padded = np.ascontiguousarray(x)
            found = empty(matrix_shape, dtype)
            found.reshape(view_shape)[...] = ndarray(view_shape, dtype, padded, 0, strides)
            return found

        return patches

    def _placed(self) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The index of what is read of an array, and that of where it is in the padded one."""
        before = (slice(None),) if self.channels_last else (slice(None), slice(None))
        parts = [axis.placed() for axis in self.axes]
        return (*before, *[part[0] for part in parts]), (*before, *[part[1] for part in parts])

    def _view(self, padded_shape: Sequence[int], itemsize: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape and strides in which the padded array shows its patches, in the order of the result."""
        steps = [itemsize] * len(padded_shape)
        for d in range(len(padded_shape) - 2, -1, -1):
            steps[d] = steps[d + 1] * padded_shape[d + 1]
        row, *along = steps
        channel = along.pop(-1 if self.channels_last else 0)
        group = row * self.rows if self.row_groups else channel * self.channels
        rows = [(self.rows, row), *[(a.rows, a.row_step * step) for a, step in zip(self.axes, along)]]
        channels = [(a.channels, a.channel_step * step) for a, step in zip(self.axes, along)]
        if self.channels_last:
            dimensions = [(self.groups, group), *rows, *channels, (self.channels, channel)]
        else:
            dimensions = [(self.groups, group), (self.channels, channel), *channels, *rows]
        return tuple([size for size, _ in dimensions]), tuple([step for _, step in dimensions])


class MakePatches(Function):
    """A step that makes patches."""

    __slots__ = ("key", "make")
    nature = FRESH

    def __init__(self, patches: Patches, dtype: Any) -> None:
        self.make = patches.maker(dtype)
        self.key = (*patches.key(), patches.shape, dtype)

    def direct(self, scalar: bool) -> Callable[..., Any]:
        return self.make

    def text(self, operands: Sequence[str], bind: Any, scalar: bool) -> str:
        return f"{bind(self.make, 'patches')}({', '.join(operands)})"
