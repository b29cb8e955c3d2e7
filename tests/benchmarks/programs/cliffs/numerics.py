"""What numerical programs call in each step: summaries, small matrices, transforms, sets, polynomials."""

from typing import Any

import numpy as onp

from .idioms import TIMES, Idioms, square

IDIOMS = Idioms()
add = IDIOMS.add
KERNEL = onp.array([0.25, 0.5, 0.25], "float32")


def regular(api: Any, x: Any) -> Any:
    """A small matrix that is symmetric and positive definite."""
    m = x[:9].reshape(3, 3)
    return m @ m.T + api.numpy.eye(3)


add("x.min(), max, mean, std", lambda api, x, n: (x.min(), x.max(), x.mean(), x.std()))
add("(x - mean) / std", lambda api, x, n: (x - x.mean()) / x.std())
add("softmax by hand", lambda api, x, n: api.numpy.exp(x - x.max()) / api.numpy.exp(x - x.max()).sum())
add("isnan(x).any()", lambda api, x, n: bool(api.numpy.isnan(x).any()))
add("array_equal(x, x)", lambda api, x, n: bool(api.numpy.array_equal(x, x)))
add("isclose(x, x)", lambda api, x, n: api.numpy.isclose(x, x).all())
add("median(x)", lambda api, x, n: api.numpy.median(x))
add("average(x, weights)", lambda api, x, n: api.numpy.average(x, weights=x))
add("cov, corrcoef", lambda api, x, n: (api.numpy.cov(x, x), api.numpy.corrcoef(x, x)))
add("cumsum, cumprod", lambda api, x, n: (api.numpy.cumsum(x), api.numpy.cumprod(x)))
add("histogram(x)", lambda api, x, n: api.numpy.histogram(x, 10))
add("bincount", lambda api, x, n: api.numpy.bincount(x.astype(int)))
add("where(x > 4)", lambda api, x, n: api.numpy.where(x > 4))
add("argwhere, nonzero", lambda api, x, n: (api.numpy.argwhere(x > 4), api.numpy.nonzero(x), (x > 4).nonzero()))
add("count_nonzero", lambda api, x, n: int(api.numpy.count_nonzero(x > 4)))
add("intersect1d, union1d", lambda api, x, n: (api.numpy.intersect1d(x[:20], x[9:]), api.numpy.union1d(x, x[:9])))
add("setdiff1d", lambda api, x, n: api.numpy.setdiff1d(x, x[:20]))
add("isin(x, x[:3])", lambda api, x, n: api.numpy.isin(x, x[:3]))
add("unique with counts", lambda api, x, n: api.numpy.unique(x.astype(int), return_counts=True))
add("sort(x)[::-1]", lambda api, x, n: api.numpy.sort(x)[::-1])
add("argsort(-x)[:5]", lambda api, x, n: x[api.numpy.argsort(-x)[:5]])
add("lexsort", lambda api, x, n: api.numpy.lexsort((x, x)))
add("pairwise distances", lambda api, x, n: api.numpy.sqrt((x[:20, None] - x[None, :20]) ** 2).sum(axis=1))
add("polyfit(x, x, 2)", lambda api, x, n: api.numpy.polyfit(x, x, 2))
add("polynomial roots", lambda api, x, n: api.numpy.roots(api.numpy.array([1.0, -6.0, 11.0, -6.0])))
add("polymul, polyder", lambda api, x, n: (api.numpy.polymul(x[:4], x[1:4]), api.numpy.polyder(x[:4])))
add("convolve(x, kernel)", lambda api, x, n: api.numpy.convolve(x, KERNEL, "same"))
add("gradient(x)", lambda api, x, n: api.numpy.gradient(x))
add("trapezoid(x)", lambda api, x, n: api.numpy.trapezoid(x))
add("interp(x, x, x)", lambda api, x, n: api.numpy.interp(x, x, x))
add("fft(x)", lambda api, x, n: api.numpy.abs(api.numpy.fft.fft(x[:64])))
add("rfft, irfft", lambda api, x, n: api.numpy.fft.irfft(api.numpy.fft.rfft(x[:64])))
add("fftfreq", lambda api, x, n: api.numpy.fft.fftfreq(n, 0.1))
add("norm(x)", lambda api, x, n: api.numpy.linalg.norm(x))
add("solve 3 x 3", lambda api, x, n: api.numpy.linalg.solve(regular(api, x), x[:3]))
add("inv 3 x 3", lambda api, x, n: api.numpy.linalg.inv(regular(api, x)))
add("det 3 x 3", lambda api, x, n: api.numpy.linalg.det(regular(api, x)))
add("eigh 3 x 3", lambda api, x, n: api.numpy.linalg.eigh(regular(api, x)))
add("svd 3 x 3", lambda api, x, n: api.numpy.linalg.svd(regular(api, x)))
add("cholesky 3 x 3", lambda api, x, n: api.numpy.linalg.cholesky(regular(api, x)))
add("qr 3 x 3", lambda api, x, n: api.numpy.linalg.qr(regular(api, x)))
add("lstsq", lambda api, x, n: api.numpy.linalg.lstsq(square(x) + api.numpy.eye(8), x[:8]))
add("matrix_power", lambda api, x, n: api.numpy.linalg.matrix_power(regular(api, x), 3))
add("cross, dot, outer", lambda api, x, n: (api.numpy.cross(x[:3], x[3:6]), api.numpy.outer(x[:3], x[:3])))
add(
    "diag, trace, triu",
    lambda api, x, n: (api.numpy.diag(x[:8]), api.numpy.trace(square(x)), api.numpy.triu(square(x))),
)
add("kron", lambda api, x, n: api.numpy.kron(square(x, 2), square(x, 2)))
add("einsum of matrices", lambda api, x, n: api.numpy.einsum("ij,jk->ik", square(x), square(x)))
add("vectorize(f)(x)", lambda api, x, n: api.numpy.vectorize(lambda v: v * v + 1)(x))
add("apply_along_axis", lambda api, x, n: api.numpy.apply_along_axis(lambda row: row.sum(), 1, square(x)))
add("select", lambda api, x, n: api.numpy.select([x < 3, x < 6], [x, x * 2], 0.0))
add("unravel_index(argmax)", lambda api, x, n: api.numpy.unravel_index(api.numpy.argmax(square(x)), (8, 8)))
add("take_along_axis", lambda api, x, n: api.numpy.take_along_axis(x, api.numpy.argsort(x), 0))
add("m.sum(axis=0)", lambda api, x, n: (square(x).sum(axis=0), square(x).mean(axis=1, keepdims=True)))
add("m.T @ m", lambda api, x, n: [square(x).T @ square(x) for _ in range(8)])
add("x.astype(int)", lambda api, x, n: [x.astype(int), x.astype("float32"), (x > 3).astype("float32")])
add("flatten, ravel", lambda api, x, n: (square(x).flatten(), square(x).ravel(), square(x).reshape(-1)))
add("norm.pdf(x)", lambda api, x, n: api.scipy.stats.norm.pdf(x), False)
add("norm.logpdf(x).sum()", lambda api, x, n: api.scipy.stats.norm.logpdf(x, 1.0, 2.0).sum(), False)
add("logsumexp(x)", lambda api, x, n: api.scipy.special.logsumexp(x), False)


@IDIOMS.named("sums of steps")
def sums(api: Any, x: Any, n: int) -> Any:
    """A list of numbers that is gathered in a loop, and summed up."""
    losses = []
    for i in TIMES:
        losses.append((x * i).mean())
    return api.numpy.mean(api.numpy.array(losses))


@IDIOMS.named("histogram by hand", in_numpy=False)
def counted(api: Any, x: Any, n: int) -> Any:
    """Counts that are changed one by one."""
    counts = api.numpy.zeros(10)
    for i in TIMES:
        counts = counts.at[int(x[i])].add(1)
    return counts


@IDIOMS.named("power iteration")
def power_iteration(api: Any, x: Any, n: int) -> Any:
    """A small matrix that is applied again and again."""
    m, v = square(x), x[:8]
    for _ in range(10):
        v = m @ v
        v = v / api.numpy.linalg.norm(v)
    return v


@IDIOMS.named("Newton's method")
def newton(api: Any, x: Any, n: int) -> Any:
    """A loop over numbers that ends when they no longer change."""
    root = x[9]
    for _ in range(20):
        step = (root * root - 2.0) / (2.0 * root)
        root = root - step
        if abs(step) < 1e-6:
            break
    return root
