"""Where elements are: broadcasting and joining, indexing and updating, sorting, windows."""

import numpy

from ..corpus import integers, normal, program

# --- Shapes: broadcasting, joining, splitting, rearranging ----------------------------------------------------------


@program(lambda r: (normal(r, 3), normal(r, 4)), grad=(0, 1))
def outer_by_none(api, x, y):
    """New axes and broadcasting."""
    return x[:, None] * y[None, :], x[:, None] - y


@program(lambda r: (normal(r, 2, 3, 4), normal(r, 4), normal(r, 3, 1)), grad=(0, 1, 2))
def biases(api, x, row, column):
    """Lower ranks broadcast, and their gradients are summed."""
    return x + row, x * column, row - column


@program(lambda r: (normal(r, 5, 3), normal(r, 4, 3)), grad=(0, 1))
def pairwise_distances(api, x, y):
    """Squared distances of all pairs, in two ways."""
    np = api.numpy
    direct = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    expanded = np.sum(x * x, 1)[:, None] + np.sum(y * y, 1)[None] - 2 * x @ y.T
    return direct, np.sqrt(np.abs(expanded) + 1.0)


@program(lambda r: (normal(r, 3, 1),), grad=(0,))
def explicit_broadcast(api, x):
    """broadcast_to, expand_dims, squeeze."""
    np = api.numpy
    wide = np.broadcast_to(x, (2, 3, 4))
    return wide, np.expand_dims(x, (0, 3)), np.squeeze(x, axis=1), api.lax.broadcast_in_dim(x[:, 0], (2, 3), (1,))


@program(lambda r: (normal(r, 2, 3), normal(r, 2, 3)), grad=(0, 1))
def joining(api, x, y):
    """concatenate, stack and their relatives."""
    np = api.numpy
    joined = np.concatenate([x, y, x], axis=0), np.concatenate([x, y], axis=-1), np.stack([x, y], axis=1)
    return joined, np.hstack([x, y]), np.vstack([x, y]), np.concatenate([x.ravel(), y[0]])


@program(lambda r: (normal(r, 2, 3),), grad=(0,))
def tiling(api, x):
    """tile, repeat, roll."""
    np = api.numpy
    return np.tile(x, (2, 2)), np.repeat(x, 2, axis=1), np.roll(x, 1, axis=1), np.roll(x, -1, axis=0)


@program(lambda r: (normal(r, 2, 3, 4),), grad=(0,))
def permuting_axes(api, x):
    """transpose and its relatives."""
    np = api.numpy
    return x.T, np.transpose(x, (1, 2, 0)), np.swapaxes(x, 0, 2), np.moveaxis(x, 0, -1), x.transpose(2, 0, 1)


@program(lambda r: (normal(r, 2, 3, 4),), grad=(0,))
def reshaping(api, x):
    """reshape with an inferred size, ravel, flatten."""
    return x.reshape(6, -1), api.numpy.reshape(x, (4, 6)) * 2, x.ravel(), x.reshape(-1), x.flatten()[3]


@program(lambda r: (normal(r, 6, 4),), grad=(0,))
def splitting(api, x):
    """split evenly and at positions."""
    np = api.numpy
    return np.split(x, 3, axis=0), np.split(x, [1, 3], axis=1)


@program(lambda r: (normal(r, 3, 4),), grad=(0,))
def padding(api, x):
    """Constant padding; lax.pad with interior and negative amounts."""
    np = api.numpy
    return np.pad(x, ((1, 0), (2, 1))), np.pad(x, 1, constant_values=3.0), api.lax.pad(x, 0.5, ((-1, 2, 1), (1, -1, 0)))


@program(lambda r: (normal(r, 3, 4),), grad=(0,))
def flipping(api, x):
    """flip along axes."""
    np = api.numpy
    return np.flip(x), np.flip(x, 0), x[::-1, ::-1], api.lax.rev(x, (1,))


@program(lambda r: (normal(r, 4, 4),), grad=(0,))
def triangles_and_diagonals(api, x):
    """Masks by position."""
    np = api.numpy
    return np.tril(x), np.triu(x, 1), np.diag(x), np.trace(x), x * np.eye(4), np.diag(x[0])


# --- Indexing, and functional updates through `.at[]` ---------------------------------------------------------------


@program(lambda r: (normal(r, 5, 6),), grad=(0,))
def basic_slices(api, x):
    """Slices with steps and negative bounds."""
    return x[1:4], x[::2, ::-1], x[-3:, :-1], x[2], x[-1, -2], x[3:1]


@program(lambda r: (normal(r, 2, 3, 4),), grad=(0,))
def ellipsis_and_new_axes(api, x):
    """Ellipses, None, and integers mixed."""
    return x[..., 0], x[0, ...], x[:, None, 1], x[..., None, :2], x[None]


@program(lambda r: (normal(r, 6, 3), integers(r, -6, 6, 4)), grad=(0,))
def gather_rows(api, table, rows):
    """An embedding look-up; negative indices count from the end."""
    return table[rows], table[rows, 1], table[rows][:, 0]


@program(lambda r: (normal(r, 4, 5, 3), integers(r, 0, 4, 2, 1), integers(r, 0, 5, 3)), grad=(0,))
def advanced_indexing(api, x, i, j):
    """Index arrays broadcast against each other and mix with slices."""
    return x[i, j], x[:, j], x[i, :, 0], x[i, j, 1:], x[0, :, j[:2]]


@program(lambda r: (normal(r, 4), numpy.array([0, 3, 4, 9, -1], "int32")), grad=(0,))
def out_of_bounds(api, x, indices):
    """Reads clamp, `fill` gives NaN or a value, `wrap` wraps, writes outside are dropped."""
    filled = x.at[indices].get(mode="fill", fill_value=7.0)
    return x[indices], filled, api.numpy.take(x, indices, mode="wrap"), x.at[indices].set(5.0), x.at[indices].add(1.0)


@program(lambda r: (normal(r, 5, 3), normal(r, 3)), grad=(0, 1))
def at_set(api, x, row):
    """Rows, columns, slices and single elements set."""
    return x.at[1].set(row), x.at[:, 0].set(2.0), x.at[::2].set(row), x.at[2, 1].set(row[0]), x.at[1:3, 1:].set(0)


@program(lambda r: (normal(r, 5), integers(r, 0, 5, 8), normal(r, 8)), grad=(0, 2))
def at_add_with_repeats(api, x, indices, updates):
    """Updates at repeated positions add up."""
    return x.at[indices].add(updates), x.at[indices].add(1.0), x.at[1:3].add(updates[:2])


@program(lambda r: (normal(r, 5), numpy.array([4, 0, 2], "int32"), normal(r, 3)))
def at_other_operations(api, x, indices, updates):
    """Multiply, least, greatest, power, divide, apply."""
    at = x.at[indices]
    return at.multiply(updates), at.min(updates), at.max(updates), at.divide(2.0), at.power(2), at.subtract(updates)


@program(lambda r: (normal(r, 6, 4), integers(r, 0, 4), integers(r, 0, 3), normal(r, 2, 2)), grad=(0, 3))
def dynamic_slices(api, x, row, column, block):
    """Slices and updates at positions known only at run time; positions are clamped."""
    lax = api.lax
    part = lax.dynamic_slice(x, (row, column), (2, 2))
    return part, lax.dynamic_update_slice(x, block, (row, column)), lax.dynamic_slice(x, (row + 9, column), (3, 4))


@program(lambda r: (normal(r, 4, 5), integers(r, 0, 5, 4, 2)), grad=(0,))
def take_along_axis(api, x, indices):
    """One index array per row."""
    np = api.numpy
    return np.take_along_axis(x, indices, axis=1), np.take(x, indices[:, 0], axis=1), np.take(x, 3)


@program(lambda r: (normal(r, 4, 5),), grad=(0,))
def boolean_masks(api, x):
    """Masks of static shape, as updates and as selections."""
    np = api.numpy
    mask = np.arange(5) % 2 == 0
    return (
        x.at[:, numpy.arange(5) > 2].set(0.0),
        np.where(mask, x, -1.0),
        x[:, numpy.array([True, False, True, True, False])],
    )


@program(lambda r: (normal(r, 7), integers(r, 0, 3, 7)), grad=(0,))
def segment_means(api, values, segments):
    """A grouped mean by scattering."""
    np = api.numpy
    totals = np.zeros(3).at[segments].add(values)
    counts = np.zeros(3, int).at[segments].add(1)
    return totals / np.maximum(counts, 1), counts


@program(lambda r: (normal(r, 3, 4), integers(r, 0, 3), integers(r, 0, 4)), grad=(0,))
def scalar_indices(api, x, i, j):
    """Traced scalar indices."""
    return x[i], x[i, j], x[:, j], x.at[i, j].set(9.0), api.lax.dynamic_index_in_dim(x, i, 0, keepdims=False)


@program(lambda r: (normal(r, 8),), jit=False, vmap=False)
def concrete_boolean_index(api, x):
    """Outside jit the size of a boolean index may depend on values."""
    return x[x > 0], api.numpy.nonzero(x > 0)[0]


# --- Sorting and what is built on it --------------------------------------------------------------------------------


@program(lambda r: (normal(r, 4, 5),), grad=(0,))
def sorting(api, x):
    """sort along axes, and in descending order."""
    np = api.numpy
    return np.sort(x), np.sort(x, axis=0), -np.sort(-x, axis=1), np.sort(x, axis=None)


@program(lambda r: (integers(r, 0, 4, 3, 8),))
def stable_argsort(api, k):
    """Equal keys keep their order."""
    np = api.numpy
    return np.argsort(k), np.argsort(k, axis=0), np.argsort(k, descending=True)


@program(lambda r: (integers(r, 0, 3, 9), normal(r, 9), normal(r, 9)), grad=(1, 2))
def sort_by_two_keys(api, k, x, y):
    """lax.sort with several operands."""
    return api.lax.sort((k, x, y), num_keys=2), api.lax.sort((k, y), num_keys=1)


@program(lambda r: (normal(r, 3, 7),), grad=(0,))
def largest_of_each_row(api, x):
    """top_k's values and positions."""
    return api.lax.top_k(x, 3)


@program(lambda r: (normal(r, 9), normal(r, 9)), grad=(0, 1))
def rank_statistics(api, x, y):
    """A median and a matching of order statistics by sorting."""
    np = api.numpy
    order = np.argsort(x)
    return np.sort(x)[4], y[order] * np.sort(x), np.argsort(order)


# --- Convolutions and pooling ---------------------------------------------------------------------------------------


@program(lambda r: (normal(r, 2, 8, 3), normal(r, 3, 3, 4)), grad=(0, 1))
def convolution_1d(api, x, kernel):
    """Along time, with explicit padding and stride."""
    return api.lax.conv_general_dilated(x, kernel, (2,), [(1, 0)], dimension_numbers=("NWC", "WIO", "NWC"))


@program(lambda r: (normal(r, 1, 6, 7, 2), normal(r, 3, 3, 2, 3)), grad=(0, 1))
def convolution_2d(api, x, kernel):
    """Images, SAME and VALID, strides that differ by axis."""
    numbers = ("NHWC", "HWIO", "NHWC")
    convolve = api.lax.conv_general_dilated
    same = convolve(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    return same, convolve(x, kernel, (2, 1), "VALID", dimension_numbers=numbers)


@program(lambda r: (normal(r, 1, 2, 7, 7), normal(r, 3, 2, 3, 3)), grad=(0, 1))
def dilated_convolution(api, x, kernel):
    """Kernel dilation and input dilation, channels first."""
    convolve = api.lax.conv_general_dilated
    return convolve(x, kernel, (1, 1), "SAME", rhs_dilation=(2, 2)), convolve(
        x, kernel, (1, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 2)
    )


@program(lambda r: (normal(r, 2, 5, 5, 4), normal(r, 3, 3, 1, 4), normal(r, 1, 1, 2, 6)), grad=(0, 1, 2))
def grouped_convolution(api, x, depthwise, grouped):
    """Depthwise and grouped convolutions."""
    numbers = ("NHWC", "HWIO", "NHWC")
    convolve = api.lax.conv_general_dilated
    one = convolve(x, depthwise, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=4)
    return one, convolve(x, grouped, (2, 2), "VALID", dimension_numbers=numbers, feature_group_count=2)


@program(lambda r: (normal(r, 2, 6, 6, 3),), grad=(0,))
def max_pooling(api, x):
    """Maxima over windows, overlapping ones included."""
    lax = api.lax
    plain = lax.reduce_window(x, -numpy.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return plain, lax.reduce_window(x, -numpy.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


@program(lambda r: (normal(r, 2, 6, 5, 3),), grad=(0,))
def average_pooling(api, x):
    """Means over windows, with the counts at the border."""
    lax, np = api.lax, api.numpy
    window = (1, 3, 3, 1), (1, 2, 2, 1), "SAME"
    return lax.reduce_window(x, 0.0, lax.add, *window) / lax.reduce_window(np.ones_like(x), 0.0, lax.add, *window)


@program(lambda r: (normal(r, 9),), grad=(0,))
def moving_minimum(api, x):
    """A minimum over a sliding window, and a sum."""
    lax = api.lax
    return lax.reduce_window(x, numpy.inf, lax.min, (3,), (1,), "VALID"), lax.reduce_window(
        x, 0.0, lax.add, (4,), (1,), ((3, 0),)
    )
