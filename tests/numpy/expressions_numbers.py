"""Expressions of reductions, statistics, products, sorting, sets, interpolation, polynomials; of Fourier transforms."""

_REDUCTIONS = ("sum", "prod", "max", "min", "mean", "any", "all", "std", "var", "amax", "amin")
_NAN = ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar")


def _reductions() -> list[str]:
    made = [
        f"np.{name}({x})"
        for name in _REDUCTIONS
        for x in ("f", "i", "h", "2", "w", "b", "s", "f, 0", "t, (0, 2)", "f, -1")
    ]
    made += [f"np.{name}(t, axis=1, keepdims=True)" for name in _REDUCTIONS]
    made += [f"np.{name}(c)" for name in ("sum", "prod", "mean", "any", "std", "var")]
    made += [f"np.{name}({x})" for name in _NAN for x in ("y", "f, 0", "i", "y[None], 0", "y[None], 1")]
    made += [
        f"np.{name}(f, where=b)" for name in ("sum", "prod", "mean", "any", "all", "std", "var", "nansum", "nanmean")
    ]
    made += [
        f"f.{name}(axis=1)"
        for name in ("sum", "prod", "max", "min", "mean", "any", "all", "std", "var", "ptp", "argmax", "argmin")
    ]
    return made


OTHERS = [
    "np.sum(f, dtype=int)", "np.sum(i, dtype=float)", "np.sum(f, initial=2.0)", "np.sum(f, axis=())", "np.sum(o, 0)", "np.sum(s, dtype='int8')",
    "np.sum(u, promote_integers=False)", "np.max(f, initial=1.0)", "np.max(f, axis=0, initial=-1, where=b)", "np.min(f, axis=1, initial=9, where=b)",
    "np.max(o, axis=0, initial=1)", "np.any(o)", "np.all(o, 0)", "np.mean(i, dtype='float16')", "np.mean(f, where=b, axis=0)", "np.var(f, ddof=1)",
    "np.var(f, axis=1, ddof=1, keepdims=True)", "np.std(f, correction=1)", "np.var(f, where=b, axis=0)", "np.var(i, dtype='float32')", "np.var(g, ddof=3)",
    "np.var(f, mean=np.mean(f, keepdims=True))", "np.ptp(f)", "np.ptp(i, 0)", "np.count_nonzero(i)", "np.count_nonzero(i, axis=1, keepdims=True)",
    "np.argmax(f)", "np.argmax(f, 1)", "np.argmin(f, 0, keepdims=True)", "np.argmax(z)", "np.argmin(b)", "np.argmax(f, keepdims=True)", "np.nanargmax(y)",
    "np.nanargmin(y[None], 0)", "np.nanargmax(i, 1)", "np.average(f)", "np.average(f, axis=0, weights=np.array([1., 3.]))", "np.average(f, 1, weights=p)",
    "np.average(i, returned=True)", "np.average(f, 1, weights=g, returned=True)", "np.average(f, 1, weights=p, keepdims=True)", "np.cumsum(f)",
    "np.cumsum(f, 1)", "np.cumsum(s)", "np.cumsum(b, 0)", "np.cumprod(f, axis=0)", "np.cumprod(i)", "np.cumsum(f, dtype=int)", "np.nancumsum(y)",
    "np.nancumprod(y)", "np.cumulative_sum(g)", "np.cumulative_sum(f, axis=1, include_initial=True)", "np.cumulative_prod(k, include_initial=True)",
    "np.median(f)", "np.median(f, 0)", "np.median(i, 1)", "np.median(f, keepdims=True)", "np.median(y)", "np.nanmedian(y)", "np.nanmedian(y[None], 0)",
    "np.median(t, (0, 2))", "np.quantile(f, 0.3)", "np.quantile(f, np.array([0.1, 0.9]), axis=1)", "np.quantile(i, 0.25)", "np.quantile(f, 0.4, method='lower')",
    "np.quantile(f, 0.4, method='higher')", "np.quantile(f, 0.4, method='nearest')", "np.quantile(f, 0.4, method='midpoint')", "np.quantile(y, 0.5)",
    "np.nanquantile(y, 0.3)", "np.nanquantile(y, np.array([0.3, 0.5]), keepdims=True)", "np.percentile(f, 30)", "np.percentile(f, np.array([10, 90]), axis=0)",
    "np.nanpercentile(y, 30)", "np.quantile(f, 0.5, axis=(0, 1), keepdims=True)", "np.quantile(n, 0.5)",
    # products
    "np.dot(g, g)", "np.dot(m.T, g)", "np.dot(f, m)", "np.dot(2, f)", "np.dot(w, 3)", "np.dot(t, m.T)", "np.dot(t, np.ones((3, 4, 2)))", "np.dot(i, j)",
    "np.dot(f, m, preferred_element_type='float16')", "np.matmul(f, m)", "np.matmul(g, m)", "np.matmul(f, g)", "np.matmul(g, g)", "t @ m.T", "f @ t.transpose(0, 1, 2)",
    "np.matmul(t, np.ones((4,)))", "np.matmul(np.ones(3), t)", "np.matmul(t[:, None], np.ones((5, 4, 2)))", "np.matmul(t, np.ones((1, 4, 2)))",
    "np.matmul(t[None], np.ones((3, 2, 4, 5)))", "np.matmul(h, h)", "np.matmul(h, g)", "np.matmul(i, j)", "np.vdot(c, c)", "np.vdot(f, f)", "np.vecdot(f, g)",
    "np.vecdot(c, c)", "np.vecdot(t, t, axis=1)", "np.matvec(m, np.ones(4))", "np.vecmat(g, m)", "np.matvec(t, np.ones((2, 4)))", "np.inner(f, g)", "np.inner(2, f)",
    "np.inner(f, f)", "np.outer(g, j)", "np.outer(f, 2)", "np.tensordot(t, t, 3)", "np.tensordot(t, m, axes=((1, 2), (0, 1)))", "np.tensordot(f, m, 1)",
    "np.tensordot(g, g, 0)", "np.kron(g, k)", "np.kron(f, q)", "np.kron(g, q)", "np.cross(g, j)", "np.cross(f, g)",
    "np.cross(q, q.T, axis=0)", "np.einsum('ij,jk', f, m)", "np.einsum('ij,jk->ki', f, m)", "np.einsum('ij->', f)", "np.einsum('ij->j', f)", "np.einsum('ii', q)",
    "np.einsum('ii->i', q)", "np.einsum('ij->ji', f)", "np.einsum('...i,i', t, np.ones(4))", "np.einsum('...ij,...jk->...ik', t, np.ones((2, 4, 5)))",
    "np.einsum('bij,bjk->bik', t, t.mT)", "np.einsum('bij,bij->b', t, t)", "np.einsum('i,j->ij', g, k)", "np.einsum('ij,jk,kl->il', f, m, m.T)",
    "np.einsum('ij,jk,ki', q, q, q)", "np.einsum(f, [0, 1], m, [1, 2], [0, 2])", "np.einsum(f, [0, 1])", "np.einsum('i,i,i->i', g, g, g)", "np.einsum('ij,kj->ik', f, g[None])",
    "np.einsum('i...->...', f)", "np.einsum('aab,bc->ac', np.ones((2, 2, 3)), m)", "np.einsum('ij,jk', i, q)", "np.einsum('ij,ij->ij', f, i)",
    "np.einsum('ij,jk->ik', f[:, :1], m)", "np.einsum('bnd,bmd->bnm', t, t)", "np.einsum('ij,jk', f, m, optimize='greedy')", "np.einsum('ij,jk,k', f, m, np.ones(4), optimize=False)",
    # sorting, searching, sets
    "np.sort(v)", "np.sort(f, 0)", "np.sort(f, axis=None)", "np.sort(y)", "np.sort(v, descending=True)", "np.sort(c)", "np.argsort(v)", "np.argsort(f, 0)",
    "np.argsort(n, descending=True)", "np.argsort(n, stable=True)", "np.argsort(y)", "np.argsort(f, axis=None)", "np.lexsort((n, v))", "np.lexsort(f)", "np.sort_complex(g)",
    "np.sort(np.partition(v, 3)[:3])", "np.partition(v, 3)[3]", "v[np.argpartition(v, 3)][3]", "v.sort()", "v.argsort()", "np.searchsorted(np.sort(v), 2.5)",
    "np.searchsorted(np.sort(n), n)", "np.searchsorted(np.sort(n), n, side='right')", "np.searchsorted(g, np.nan)", "np.searchsorted(np.sort(y), y)",
    "np.searchsorted(np.sort(y), y, side='right')", "np.searchsorted(v, 2.5, sorter=np.argsort(v))", "np.searchsorted(np.array([1.]), f)", "np.searchsorted(k, 1.5)",
    "np.digitize(v, np.array([0., 1., 2.5]))", "np.digitize(v, np.array([2.5, 1., 0.]))", "np.digitize(v, np.array([0., 1., 2.5]), right=True)", "np.bincount(n)",
    "np.bincount(n, minlength=7)", "np.bincount(n, v)", "np.bincount(n, length=3)", "np.bincount(j, length=3)", "np.histogram(v)", "np.histogram(v, 4)", "np.histogram(v, np.array([0., 1., 3.]))",
    "np.histogram(v, 3, range=(0, 4))", "np.histogram(v, 3, weights=v)", "np.histogram(v, 3, density=True)", "np.histogram(n, 3)", "np.histogram_bin_edges(v, 4)",
    "np.histogram2d(v, v, 2)", "np.histogram2d(v, v, [2, 3])", "np.histogramdd(np.stack([v, v], 1), 2)", "np.histogramdd(np.stack([v, v], 1), 2, density=True)", "np.unique(n)", "np.unique(v)",
    "np.unique(n, return_index=True, return_inverse=True, return_counts=True)", "np.unique(y)", "np.unique(y, equal_nan=False)", "np.unique(n, size=4)", "np.unique(n, size=7)",
    "np.unique(n, size=7, fill_value=9, return_counts=True, return_index=True)", "np.unique(i % 2, axis=0)", "np.unique(i % 2, axis=1, return_inverse=True)", "np.unique(f > 0)",
    "np.unique_all(n)", "np.unique_counts(n)", "np.unique_inverse(i % 3)", "np.unique_values(n)", "np.isin(n, k)", "np.isin(n, n[:2], invert=True)", "np.isin(f, g)",
    "np.union1d(n, k)", "np.union1d(n, k, size=7)", "np.intersect1d(n, k)", "np.intersect1d(n, k, return_indices=True)", "np.setdiff1d(n, k)", "np.setxor1d(n, k)",
    "np.setdiff1d(n, k, size=4)", "np.setxor1d(n, k, size=4)", "np.intersect1d(n, k, size=4, fill_value=7)",
    # numerical
    "np.diff(v)", "np.diff(f, axis=0)", "np.diff(v, 2)", "np.diff(v, prepend=0)", "np.diff(f, append=f)", "np.diff(b)", "np.ediff1d(f)", "np.ediff1d(v, to_end=1, to_begin=np.array([8., 9.]))",
    "np.gradient(v)", "np.gradient(f)", "np.gradient(f, axis=1)", "np.gradient(v, 2)", "np.gradient(v, np.cumsum(1 + np.abs(v)))", "np.gradient(f, 2., 3.)", "np.trapezoid(v)", "np.trapezoid(f, dx=2.0)",
    "np.trapezoid(f, g)", "np.trapezoid(f, axis=0)", "np.trapezoid(n)", "np.unwrap(v)", "np.unwrap(4 * f)", "np.unwrap(n, period=4)", "np.unwrap(v, discont=4)",
    "np.interp(f, np.array([-1., 0., 1.]), g)", "np.interp(f, np.array([-1., 0., 1.]), g, left=0, right=9)", "np.interp(3 * f, np.array([-1., 0., 1.]), g, left='extrapolate', right='extrapolate')",
    "np.interp(3 * f, np.array([0.5, 0., 1.]), g, period=2)", "np.interp(0.5, k * 1.0, g)", "np.interp(i, np.arange(4), np.arange(4) ** 2)", "np.convolve(v, g)", "np.convolve(v, g, 'same')",
    "np.convolve(v, g[:2], 'same')", "np.convolve(v, g, 'valid')", "np.convolve(g, v, 'same')", "np.convolve(n, k)", "np.correlate(v, g)", "np.correlate(v, g, 'full')", "np.correlate(v, g, 'same')",
    "np.correlate(v, g[:2], 'same')", "np.correlate(g, v, 'full')", "np.correlate(c, c, 'full')", "np.convolve(c, g)", "np.cov(m)", "np.cov(m, rowvar=False)", "np.cov(g)", "np.cov(g, g)", "np.cov(m, bias=True)",
    "np.cov(m, ddof=0)", "np.cov(m, aweights=np.arange(4) + 1.)", "np.cov(m, fweights=np.arange(4))", "np.cov(m, fweights=np.arange(4), aweights=np.arange(4) + 1.)", "np.corrcoef(m)", "np.corrcoef(g, g)",
    "np.corrcoef(m, rowvar=False)", "np.allclose(f, f + 1e-9)", "np.allclose(f, 1)", "np.isclose(z, z, equal_nan=True)", "np.isclose(z, y)", "np.isclose(i, i + 1)", "np.isclose(c, c)", "np.array_equal(f, f)",
    "np.array_equal(f, g)", "np.array_equal(y, y, equal_nan=True)", "np.array_equiv(f, f[:1])", "np.array_equal([1, 2], k[:2])", "np.isclose(u, 7, atol=1)",
    # polynomials and windows
    "np.polyval(g, f)", "np.polyval(k, 2)", "np.polyval(k, j)", "np.polyadd(g, k)", "np.polyadd(g, v)", "np.polysub(g, v)", "np.polymul(g, v)", "np.polymul(k, j)", "np.polydiv(v, g)", "np.polydiv(g, v)",
    "np.polyder(v)", "np.polyder(v, 2)", "np.polyder(n)", "np.polyint(v)", "np.polyint(v, 2)", "np.polyint(g, k=1)", "np.poly(g)", "np.poly(k)", "np.bartlett(5)", "np.blackman(6)",
    "np.hamming(5)", "np.hanning(6)", "np.kaiser(5, 2.)", "np.hanning(1)", "np.bartlett(0)",
    # vectorisation
    "np.vectorize(lambda a, b: a + b)(f, g)", "np.vectorize(np.dot, signature='(n),(n)->()')(f, g)", "np.vectorize(lambda a: (a, -a))(g)", "np.vectorize(lambda x, y: x @ y, signature='(n,m),(m)->(n)')(t, np.ones(4))",
    "np.vectorize(lambda a, n: a ** n, excluded={1})(g, 2)", "np.vectorize(lambda a: a * 2)(f[:, :1])", "np.apply_along_axis(np.sum, 1, f)", "np.apply_along_axis(lambda x: x[::2], 0, t)", "np.apply_along_axis(np.sort, 1, t)",
    "np.apply_along_axis(lambda x: x[:, None] * x, 1, t)", "np.apply_over_axes(np.sum, t, [0, 2])",
]  # fmt: skip

GENERATED = _reductions()
EXPRESSIONS = GENERATED + OTHERS

# `numpy.fft` and `lax.fft`.
FOURIER = [
    "np.fft.fft(v)", "np.fft.fft(f, axis=0)", "np.fft.fft(c)", "np.fft.fft(t, 5, -2, 'ortho')", "np.fft.fft(m, n=2)", "np.fft.fft(h)",
    "np.fft.fft(i)", "np.fft.fft(b)", "np.fft.fft(o)", "np.fft.fft(o, axis=0)", "np.fft.fft(v.astype('bfloat16'))", "np.fft.ifft(v, norm='forward')",
    "np.fft.ifft(c, 7)", "np.fft.ifft(t, axis=1)", "np.fft.rfft(v)", "np.fft.rfft(y[1:6:2], norm='backward')", "np.fft.rfft(n)",
    "np.fft.rfft(t, 7, 0, 'ortho')", "np.fft.rfft(m, 1)", "np.fft.irfft(c)", "np.fft.irfft(c, 5)", "np.fft.irfft(c, n=1)",
    "np.fft.irfft(t, axis=1, norm='forward')", "np.fft.irfft(i, 9, norm='ortho')", "np.fft.hfft(c)", "np.fft.hfft(c, 7, norm='ortho')",
    "np.fft.hfft(t, axis=-2, norm='forward')", "np.fft.ihfft(v)", "np.fft.ihfft(v, 5, norm='forward')", "np.fft.ihfft(t, axis=0, norm='ortho')",
    "np.fft.fft2(m)", "np.fft.fft2(t, (3, 2), (0, 1), 'ortho')", "np.fft.ifft2(m)", "np.fft.ifft2(t, s=[2, 5])", "np.fft.rfft2(m)",
    "np.fft.rfft2(t, axes=(2, 0))", "np.fft.irfft2(m)", "np.fft.irfft2(t, s=(3, 5), norm='forward')", "np.fft.fftn(t)", "np.fft.fftn(t, (2, 3))",
    "np.fft.fftn(t, axes=[-1, 0])", "np.fft.fftn(w)", "np.fft.fftn(t, axes=())", "np.fft.ifftn(t, norm='ortho')", "np.fft.rfftn(t)",
    "np.fft.rfftn(t, axes=(0,))", "np.fft.rfftn(f[None, None, :, None])", "np.fft.irfftn(t)", "np.fft.irfftn(t + 0.5j, axes=(2, 1))",
    "np.fft.irfftn(t, (2, 2, 7))", "np.fft.fftfreq(8)", "np.fft.fftfreq(5, 0.5)", "np.fft.fftfreq(4, d=w)", "np.fft.fftfreq(0)", "np.fft.fftfreq(1)",
    "np.fft.fftfreq(4, dtype='float16')", "np.fft.fftfreq(4, dtype='complex64')", "np.fft.rfftfreq(8)", "np.fft.rfftfreq(5, 2)", "np.fft.rfftfreq(1)",
    "np.fft.fftshift(g)", "np.fft.fftshift(t)", "np.fft.fftshift(m, 1)", "np.fft.fftshift(t, (0, -1))", "np.fft.ifftshift(t)", "np.fft.ifftshift(n, axes=0)",
    "np.fft.ifftshift(w)", "api.lax.fft(c, 'FFT', (3,))", "api.lax.fft(m, 'rfft', (3, 4))", "api.lax.fft(c, api.lax.FftType.IRFFT, (5,))",
    "api.lax.fft(t, api.lax.FftType.IFFT, (4,))", "api.lax.fft(j, 'RFFT', (3,))", "api.lax.fft(f, 'FFT', ())",
]  # fmt: skip
