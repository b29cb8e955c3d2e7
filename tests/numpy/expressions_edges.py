"""Expressions at the edges of what functions take: nothing, narrow and mixed dtypes, None, other views of the same bits."""

EXPRESSIONS = [
    # updates are computed in the dtype in which array and values meet
    "i.at[1].add(2.5)", "i.at[1].multiply(g)", "i.at[k[:1]].subtract(2.5)", "i.at[b].add(2.5)", "i.at[1].min(2.5)", "i.at[1].divide(2.5)",
    "u.at[k].subtract(2.5)", "u.at[k].add(np.float16(2))", "b.at[0].subtract(2)", "h.at[0].add(np.float32(1))",
    "api.vmap(lambda x: x.at[0].multiply(2.5))(i)",
    # sets with nothing in them, and filled up
    "np.setdiff1d(n[:0], n)", "np.setdiff1d(n[:0], n, size=2)", "np.setdiff1d(u, s)", "np.setdiff1d(b, n)", "np.intersect1d(n[:0], n)",
    "np.intersect1d(n, n[:0], return_indices=True)", "np.intersect1d(n, np.array([4, 9, 9]), size=4)", "np.setxor1d(z, z)",
    "np.intersect1d(n, np.array([4, 9, 9]), size=4, return_indices=True)", "np.setxor1d(n[:0], n[:0])", "np.unique(o, size=2, fill_value=3)",
    # nothing elsewhere
    "np.bincount(n[:0])", "np.median(o, axis=1)", "np.quantile(o, np.array([.1, .2]), axis=1)", "np.take_along_axis(o, np.zeros((1, 1), int), axis=1)",
    "np.zeros((2, 0)).view('complex64')", "np.take(np.ones((2, 0, 4)), np.array([], int), axis=1)", "np.take(f, np.zeros((0, 2), int), axis=1)",
    # dtypes
    "np.degrees(c)", "np.positive(b)", "np.percentile(h, 30.)", "np.quantile(h, np.array([.2, .7]))", "np.sum(b, promote_integers=False)", "c.astype(bool)",
    "np.unravel_index(u, (2, 3))", "np.unravel_index(u, (20, 30))", "np.unravel_index(s, (2, 3))", "v.view('complex64')", "c.view('float32')",
    "np.array(1j).view('complex64')", "np.from_dlpack(numpy.ones((2, 3)).T)", "np.repeat(g, B)",
    "np.logaddexp2(c, 2 * c)", "np.logaddexp2(c, 2)", "b // B", "np.floor_divide(True, True)", "api.jvp(np.logaddexp2, (c, 2 * c), (c, c))[1]",
    "np.ravel_multi_index((s * 0, s * 0), (3, 3))", "np.ravel_multi_index((k, j), (3, 3), mode='ignore')",
    # forms of arguments
    "np.linalg.trace(t, offset=1)", "np.linalg.diagonal(t)", "np.linalg.outer(g, j)",
    "api.lax.reshape(f, 6)", "np.shape([[1, 2]])", "np.ndim([g, g])", "np.size([1, 2])", "g.compress(B)", "f.compress(np.array([True, False]), axis=0)", "g.at[np.array([5])].get(fill_value=7)", "np.take(f, B)",
    "np.quantile(f, np.array([.2, .7, 1.]), method='nearest')", "np.piecewise(2.5, [True], [1])", "np.isscalar(numpy.array(16))",
    "np.asarray(__import__('array').array('l', [0, 1]))", "np.take_along_axis(f, i, axis=1, mode='one_hot')",
    "np.take_along_axis(t, np.array([[[0], [-1]]]), axis=1, mode='one_hot')", "np.take_along_axis(b, k[None], axis=1, mode='one_hot').dtype",
    "np.vectorize(lambda x, y: x if y is None else x + y)(g, None)", "np.vectorize(lambda x: x, excluded={1})(1.)",
    "np.vectorize(lambda x, y: x if y is None else x + y, signature='(n),()->(n)')(g, None)",
    # more decimals than the dtype has, and powers of 10 beyond it
    "np.round(g, 100)", "np.round(h, 39)", "np.round(c, 1000)", "np.round(2.5, 400)", "api.jit(lambda x: np.round(x, 39))(z)",
    # what is put around a weakly typed array leaves it so
    *[f"np.pad({x}[None], 1, {mode!r})" for x in "wW" for mode in ("constant", "linear_ramp", "maximum", "mean", "median", "empty")],
    "np.pad(w[None], 1, constant_values=2.5)", "np.pad(W[None], 1, constant_values=g[0])",
    # counts as arrays, axes of numbers, diagonals that are traced
    "np.tile(g, numpy.array([2, 1]))", "np.tile(g, k[1:])", "np.tile(g, range(1, 3))", "np.repeat(6, 2, axis=0)", "np.repeat(w, k[1:2], axis=-1)",
    "api.jit(lambda k: np.eye(3, 4, k))(1)", "api.jit(lambda k: np.tri(3, k=k, dtype=int))(numpy.int8(-1))", "api.vmap(lambda k: np.eye(2, k=k))(j)",
    "np.trim_zeros(i[:, :2] * b[:, :2])", "np.trim_zeros(b, 'f', axis=1)", "np.trim_zeros(np.eye(3)[1:, :2], axis=(0, 1))", "np.trim_zeros(o)",
    "np.trim_zeros(np.zeros((2, 2)), 'b', axis=-1)", "np.trim_zeros(np.array(2))", "np.trim_zeros(b, axis=())",
    "np.polyint(g, 0, k=3.)", "np.polyint(g, 3, k=2.)", "np.compress(np.array([1, 0, 1, 0, 0]), g)",
    # truths added up and multiplied, complex numbers in order
    "np.sum(g, dtype=bool)", "np.prod(i, axis=1, dtype=bool)", "np.cumsum(j - 2, dtype=bool)", "np.cumprod(k, dtype=bool)", "np.nansum(z, dtype=bool)",
    "np.trace(q, dtype=bool)", "np.sum(np.array([1, -1]), dtype=bool)", "np.searchsorted(np.sort(c), np.array([0, 3 - 1j, 3, 9j]))", "np.searchsorted(np.sort(c), c, side='right')",
    "np.digitize(c, np.sort(c))",
    # positions that are traced, narrow integers, conditions in one array
    "api.jit(np.insert)(g, 1, 9)", "api.jit(np.insert)(np.arange(4), np.array([0, 4, -1]), 9)", "api.jit(lambda x, n: np.insert(x, n, x[:, 1], axis=1))(f, -1)",
    "np.insert(f, np.array([0, 2]), i[:, :2], axis=1)", "np.bincount(u % 4)", "np.bincount(u % 4, weights=c)", "np.vander(u, 3, increasing=True)", "np.vander(s, 2)",
    "np.roll(v, k)", "np.roll(f, (1, 2))", "api.jit(np.roll)(v, k)", "np.select(b, f)", "np.select(np.array([[True, False], [False, True]]), i[:, :2], 7)",
    "np.average(n, returned=True)", "np.average(2., returned=True)",
    "np.max(np.array([1, -3, 2], 'int4'))", "np.min(np.array([[1, 9], [12, 2]], 'uint4'), axis=0)", "api.lax.cummax(np.array([1, -3, 2], 'int4'))",
    "np.sum(np.array([7, 7, 3], 'int4'), dtype='int4')", "np.linspace(0, 1, 3, dtype='float8_e5m2')",
    "np.float32 == numpy.dtype('float32')", "np.float32 != numpy.dtype('float16')", "np.float32 == 'float32'",
    # floats of the host as of the device
    "np.concatenate([numpy.array([-2.5, 300], 'float32')], dtype='uint8')", "np.stack([1, -2.5], dtype='uint8')", "np.array(-0.5, dtype='uint8')",
    "np.array([127.9], dtype='int8')", "np.array([300., 0.], dtype=bool)",
]  # fmt: skip
