"""Shapes: broadcasting, joining, splitting, rearranging."""

from ..corpus import normal, program


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
