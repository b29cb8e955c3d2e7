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

from tangrad._backend_numpy.functions import FRESH, Function

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

    # --- the result ------------------------------------------------------------------------------------------------

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
        row, channel = place[self.row_dimension], place[self.channel_dimension]
        rows = [*by_rows, row] if self.rows_last else [row, *by_rows]
        order = [*rows, *by_channels, channel] if self.channels_last else [channel, *by_channels, *rows]
        x = operations.transpose(operations.reshape(x, shape), (split, *order))
        return operations.reshape(x, self.matrix_shape)

    # --- with one --------------------------------------------------------------------------------------------------

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

    def _around(self, row: Any, channel: Any, along: Sequence[Any]) -> tuple[Any, ...]:
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
