"""Indexing, and functional updates through `.at[]`."""

import numpy

from ..corpus import integers, normal, program


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
