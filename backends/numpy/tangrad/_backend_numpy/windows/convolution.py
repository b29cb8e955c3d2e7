"""Convolutions as matrix products, and depthwise ones as sums of products of shifted arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy import threads
from tangrad._backend_numpy.windows.patches import Array, Axis, MakePatches, Patches

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Params


# Bytes of patches from which on the batch is worked off in parts.
MOST_PATCHES = 1 << 28


class Arrays:
    """The operations that a convolution needs, on arrays; a lowering context has the same ones on values."""

    @staticmethod
    def transpose(x: Array, permutation: Sequence[int]) -> Array:
        return x.transpose(permutation)

    @staticmethod
    def reshape(x: Array, shape: Sequence[int]) -> Array:
        return x.reshape(shape)

    matmul = staticmethod(np.matmul)


class Convolution:
    """A convolution, for one signature.

    Sizes are those of the arrays, in their own order; a spec names the dimensions (batch, feature, *spatial) of the
    input and the result, and (output feature, input feature, *spatial) of the kernel.

    Attributes:
        dtype: in which it is computed.
        patches: those of the input.
    """

    def __init__(
        self, lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], dtype: np.dtype, **params: Any
    ) -> None:
        self.lhs, self.rhs, self.out, self.dtype, self.params = tuple(lhs), tuple(rhs), tuple(out), dtype, params
        self.lhs_spec, self.rhs_spec, self.out_spec = params["dimension_numbers"]
        self.groups = max(params["feature_group_count"], params["batch_group_count"])
        batch, feature, *spatial = self.lhs_spec
        self.by_batch = batch < feature  # whether rows are the batch, so that what is summed over are the channels
        self.patches = Patches(
            self.lhs,
            min(batch, feature),
            max(batch, feature),
            spatial,
            self._axes(spatial),
            self.groups,
            (params["batch_group_count"] > 1) == self.by_batch and self.groups > 1,
        )

    def _axes(self, spatial: Sequence[int]) -> list[Axis]:
        axes = []
        for i, d in enumerate(spatial):
            output = self.out[self.out_spec[2 + i]], self.params["window_strides"][i]
            kernel = self.rhs[self.rhs_spec[2 + i]], self.params["rhs_dilation"][i]
            rows, channels = (output, kernel) if self.by_batch else (kernel, output)
            low = self.params["padding"][i][0]
            axes.append(Axis(self.lhs[d], self.params["lhs_dilation"][i], low, *rows, *channels))
        return axes

    @property
    def is_empty(self) -> bool:
        """Whether nothing is summed over, or nothing is wanted."""
        return 0 in self.lhs or 0 in self.rhs or 0 in self.out

    @property
    def parts(self) -> int:
        """Into how many parts the batch must be divided so that patches do not take too much memory."""
        if self.patches.is_plain or self.patches.row_groups:
            return 1
        return -(-prod(self.patches.matrix_shape) * self.dtype.itemsize // MOST_PATCHES)

    # --- steps ---

    def emit(self, ctx: Lowering, x: Value, w: Value) -> Value:
        """Append the steps of the convolution of two values to a program."""
        if self.patches.is_plain:
            found = self.patches.plain(ctx, x)
        else:
            like = _Type(self.patches.matrix_shape, self.dtype)
            found = ctx.call(MakePatches(self.patches, self.dtype), x, like=like)
        return self.multiply(ctx, found, w)

    def function(self) -> Callable[[Array, Array], Array]:
        """The convolution as a function of arrays."""
        make = None if self.patches.is_plain else self.patches.maker(self.dtype)

        def convolve(x: Array, w: Array) -> Array:
            found = self.patches.plain(Arrays, x) if make is None else make(x)
            return self.multiply(Arrays, found, w)

        return convolve

    def function_in_parts(self) -> Callable[[Array, Array], Array]:
        """The same, with the rows worked off in parts: each gives a part of the result, or a term of it."""
        dimension, count = self.patches.row_dimension, self.lhs[self.patches.row_dimension]
        height = -(-count // self.parts)
        sizes = {height, count % height} - {0}
        functions = {size: self._with_rows(size).function() for size in sizes}
        out_dimension = self.out_spec[0]
        w_dimension = self.rhs_spec[1]
        shape, dtype, by_batch = self.out, self.dtype, self.by_batch

        def rows(start: int, stop: int, axis: int) -> tuple[slice, ...]:
            return (*[slice(None)] * axis, slice(start, stop))

        def convolve(x: Array, w: Array) -> Array:
            out = np.zeros(shape, dtype)
            for start in range(0, count, height):
                stop = min(start + height, count)
                part = functions[stop - start]
                if by_batch:
                    out[rows(start, stop, out_dimension)] = part(x[rows(start, stop, dimension)], w)
                else:
                    out += part(x[rows(start, stop, dimension)], w[rows(start, stop, w_dimension)])
            return out

        return convolve

    def _with_rows(self, size: int) -> Convolution:
        """The convolution of an input with fewer rows."""

        def cut(shape: Sequence[int], dimension: int) -> list[int]:
            return [size if d == dimension else full for d, full in enumerate(shape)]

        lhs = cut(self.lhs, self.patches.row_dimension)
        rhs = self.rhs if self.by_batch else cut(self.rhs, self.rhs_spec[1])
        out = cut(self.out, self.out_spec[0]) if self.by_batch else self.out
        return Convolution(lhs, rhs, out, self.dtype, **self.params)

    # --- the product ---

    def multiply(self, operations: Any, patches: Any, w: object) -> Any:
        """The product of patches and kernel, in the shape of the result."""
        kernel, features_last = self._kernel_matrix(operations, w)
        # Of the patches' two dimensions, one is summed over: the channels by batch, else the rows.
        summed_last = self.patches.channels_last == self.by_batch
        if self._gives_features_last(summed_last):
            patches = patches if summed_last else _turned(operations, patches)
            kernel = kernel if features_last else _turned(operations, kernel)
            product, features_first = operations.matmul(patches, kernel), False
        else:
            patches = _turned(operations, patches) if summed_last else patches
            kernel = _turned(operations, kernel) if features_last else kernel
            product, features_first = operations.matmul(kernel, patches), True
        return self._arranged(operations, product, features_first)

    def _gives_features_last(self, summed_last: bool) -> bool:
        """Whether the product is (rest, features) rather than (features, rest)."""
        if self.out_spec[1] == len(self.out) - 1:
            return True
        if self.groups > 1:  # it would be copied
            return False
        # Rows of patches by columns of the kernel are the quicker product. And what comes after goes through memory in
        # longer runs along features than along a few positions.
        features, last = self.out[self.out_spec[1]], self.out[self.out_spec[-1]]
        return summed_last or (self.by_batch and not self.patches.rows_last and features >= last)

    def _kernel_matrix(self, operations: Any, w: object) -> tuple[Value, bool]:
        """The kernel as (groups, summed, features), or with the last two exchanged; and which of the two it is."""
        out_feature, in_feature, *spatial = self.rhs_spec
        split = out_feature
        shape = list(self.rhs)
        shape[split : split + 1] = [self.groups, shape[split] // self.groups]
        place = [d + (d >= split) for d in range(len(self.rhs))]
        positions = [place[d] for d in spatial]
        # As the patches have them: channels and their positions by batch, else rows and theirs.
        if self.patches.channels_last if self.by_batch else self.patches.rows_last:
            summed = [*positions, place[in_feature]]
        else:
            summed = [place[in_feature], *positions]
        features_last = out_feature == len(self.rhs) - 1
        order = (split, *summed, split + 1) if features_last else (split, split + 1, *summed)
        w = operations.transpose(operations.reshape(w, shape), order)
        rest, features = prod([shape[d] for d in summed]), shape[split + 1]
        matrix = (self.groups, rest, features) if features_last else (self.groups, features, rest)
        return operations.reshape(w, matrix), features_last

    def _arranged(self, operations: Lowering, product: Value, features_first: bool) -> Value:
        """The product in the shape of the result."""
        batch, feature, *spatial = self.out_spec
        # The dimensions of what is not features, in the order in which they vary, as dimensions of the result.
        if self.patches.rows_last if self.by_batch else self.patches.channels_last:
            rest = [*spatial, batch]
        else:
            rest = [batch, *spatial]
        sizes, features = [self.out[d] for d in rest], self.out[feature] // self.groups
        rank, first = len(self.out), 1 if self.groups > 1 else 0
        groups = [self.groups] * first  # of one group there is no dimension
        if features_first:
            x = operations.reshape(product, (*groups, features, *sizes))
            places, along = {d: first + 1 + i for i, d in enumerate(rest)}, first
        else:
            x = operations.reshape(product, (*groups, *sizes, features))
            places, along = {d: first + i for i, d in enumerate(rest)}, first + len(rest)
        order = [p for d in range(rank) for p in ((*range(first), along) if d == feature else (places[d],))]
        return operations.reshape(operations.transpose(x, order), self.out)


class _Type:
    """The type of the patches."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype


def _turned(operations: Any, matrices: object) -> Value:
    return operations.transpose(matrices, (0, 2, 1))


POSITIONS, PLACES = "defgh", "ijklm"  # letters of the dimensions: of positions of the result, and of the kernel
# --- Depthwise convolutions, and the gradients of their kernels: sums of products of shifted arrays ---
# Nothing is copied but the padding: `einsum` reads the windows where they are, in runs along the last position and the
# features, which are one dimension as long as windows move by single steps.

FEW = 1 << 14  # products up to which a matrix of patches is made sooner
PART = 1 << 20  # products in a part, of which each thread takes one after another
MOST_SUMMED = 256  # rows that are added up one after another; such sums, and those along a row, are added up then


def depthwise(
    lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], dtype: np.dtype, **params: Any
) -> Callable[[Array, Array], Array] | None:
    """The function of a convolution in which each feature is alone, or one batch element is; None for others."""
    lhs_spec, rhs_spec, _ = params["dimension_numbers"]
    products = prod(out) * prod([rhs[d] for d in rhs_spec[1:]])
    if not 1 <= len(out) - 2 <= len(POSITIONS) or products < FEW:
        return None
    if params["feature_group_count"] == lhs[lhs_spec[1]] > 1:
        return _convolution(lhs, rhs, out, dtype, params)
    if params["batch_group_count"] == lhs[lhs_spec[0]] > 1:
        return _kernel_gradient(lhs, rhs, out, dtype, params)
    return None


def _convolution(
    lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], dtype: np.dtype, params: Params
) -> Callable[..., np.ndarray]:
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    feature, summed, *spatial = rhs_spec
    axes = _axes(lhs, rhs, out, params)
    order = (lhs_spec[0], *lhs_spec[2:], lhs_spec[1])
    features = rhs[feature]
    prepared = _prepared(lhs, order, axes, features, dtype)
    flat = axes[-1].row_step == 1
    width = axes[-1].rows
    sizes = [out[d] for d in out_spec[2:]]
    places = [rhs[d] for d in spatial]
    inner = (*sizes[:-1], width * features) if flat else (*sizes, features)
    positions, letters = POSITIONS[: len(inner) - 1], PLACES[: len(places)]
    subscripts = f"b{positions}{letters}z,{letters}z->b{positions}z"
    kernel_order, result_order = (*spatial, summed, feature), _back(out_spec)
    shape = (lhs[lhs_spec[0]], *sizes, features)
    batch = lhs[lhs_spec[0]]
    # Parts are images, whose padded copies stay in the cache, or rows of a single one.
    count = batch if batch > 1 or len(inner) == 1 else inner[0]
    height = max(1, PART * count // (prod(out) * prod(places)))

    def convolve(x: Array, w: Array) -> Array:
        x, w = x.transpose(order), w.transpose(kernel_order).reshape(*places, features)
        if flat:
            w = np.tile(w, width)
        found = np.empty((batch, *inner), dtype)
        whole = prepared(x) if batch == 1 else None

        def part(starts: Iterable[int]) -> None:
            padded = whole
            for start in starts:
                at: tuple[slice, ...] = (slice(start, start + height),)
                if whole is None:
                    padded = prepared(x[at], padded)
                    windows = _windows(padded, axes, flat)
                else:
                    at = (slice(None), *at) if count > 1 else ()
                    windows = _windows(whole, axes, flat)[at]
                np.einsum(subscripts, windows, w, out=found[at])

        threads.share(part, range(0, count, height))
        return found.reshape(shape).transpose(result_order)

    return convolve


def _kernel_gradient(
    lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], dtype: np.dtype, params: Params
) -> Callable[..., np.ndarray]:
    """What is summed over are the input's features, the batch of the convolution, and the many places of a window."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    feature, summed, *spatial = rhs_spec
    # Rows are the places of the window here, as they are the positions of a convolution.
    axes = [_exchanged(axis) for axis in _axes(lhs, rhs, out, params)]
    features = rhs[feature]
    x_order = (lhs_spec[1], *lhs_spec[2:], lhs_spec[0])
    prepared = _prepared(lhs, x_order, axes, features, dtype)
    flat = axes[-1].row_step == 1
    width = axes[-1].rows
    sizes = [rhs[d] for d in spatial]
    inner = (*sizes[:-1], width * features) if flat else (*sizes, features)
    positions, letters = POSITIONS[: len(inner) - 1], PLACES[: len(sizes)]
    row = "z" if flat else f"{positions[-1]}z"
    subscripts = f"b{positions}{letters}z,b{positions}z->{letters}{row}"
    places = [out[d] for d in out_spec[2:]]
    order, result_order = (summed, *spatial, feature), _back(out_spec)
    batch = rhs[summed]
    height = max(1, MOST_SUMMED // prod(sizes[:-1]))
    starts, is_small = range(0, batch, height), batch * prod(sizes) * prod(places) * features < 2 * PART

    def gradient(x: Array, g: Array) -> Array:
        g = np.ascontiguousarray(g.transpose(order)).reshape(batch, *inner)
        x = x.transpose(x_order)
        sums = np.empty((len(starts), *places, *inner[-1 if flat else -2 :]), dtype)

        def part(starts: Iterable[int]) -> None:
            padded: Array | None = None
            for start in starts:
                at = slice(start, start + height)
                padded = prepared(x[at], padded)
                np.einsum(subscripts, _windows(padded, axes, flat), g[at], out=sums[start // height])

        part(starts) if is_small else threads.share(part, starts)
        found = np.sum(sums, 0, dtype).reshape(*places, width, features).sum(-2, dtype)  # not in NumPy's wider ones
        return found.reshape(1, *places, features).transpose(result_order)

    return gradient


def _back(spec: Sequence[int]) -> tuple[int, ...]:
    """From (batch, *spatial, feature) to the order of the result."""
    place = {d: at for at, d in enumerate((spec[0], *spec[2:], spec[1]))}
    return tuple([place[d] for d in range(len(spec))])


def _axes(lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], params: Params) -> list[Axis]:
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    return [
        Axis(
            lhs[lhs_spec[2 + i]],
            params["lhs_dilation"][i],
            params["padding"][i][0],
            out[out_spec[2 + i]],
            params["window_strides"][i],
            rhs[rhs_spec[2 + i]],
            params["rhs_dilation"][i],
        )
        for i in range(len(out) - 2)
    ]


def _exchanged(axis: Axis) -> Axis:
    return Axis(axis.size, axis.dilation, axis.low, axis.channels, axis.channel_step, axis.rows, axis.row_step)


def _prepared(
    shape: Sequence[int], order: tuple[int, ...], axes: Sequence[Axis], features: int, dtype: np.dtype
) -> Callable[..., Array]:
    """The function that pads images whose features are last, and takes each as often as it is needed.

    Its second argument is what it has returned before, to be written again.
    """
    repeats = features // shape[order[-1]]
    padded = (*[axis.length for axis in axes], features)
    parts = [axis.placed() for axis in axes]
    every = slice(None)
    source, target = [(every, *[part[side] for part in parts], every) for side in (0, 1)]
    is_padded = any([axis.is_padded for axis in axes])

    def prepared(x: Array, out: Array | None = None) -> Array:
        if not is_padded:
            return np.ascontiguousarray(x if repeats == 1 else np.repeat(x, repeats, -1))
        x = x[source]
        if out is None or len(out) != len(x):
            out = np.zeros((len(x), *padded), dtype)
        out[target] = x if repeats == 1 else np.repeat(x, repeats, -1)
        return out

    return prepared


def _windows(x: Array, axes: Sequence[Axis], flat: bool) -> Array:
    """The view (batch, *positions, *places, features) of a padded array; flat: the last position with the features."""
    batch, *steps, element = x.strides
    rows = [(axis.rows, axis.row_step * step) for axis, step in zip(axes, steps)]
    places = [(axis.channels, axis.channel_step * step) for axis, step in zip(axes, steps)]
    features = x.shape[-1]
    if flat:
        features *= rows.pop()[0]
    dimensions = [(x.shape[0], batch), *rows, *places, (features, element)]
    return np.ndarray([size for size, _ in dimensions], x.dtype, x, 0, [step for _, step in dimensions])
