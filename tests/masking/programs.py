"""Programs of arrays of any size: what masked functions are compared on. Each is a row of PROGRAMS.

`weights` are closed over: their gradient must not see the padding either.
"""

from dataclasses import dataclass

import numpy as np

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, nn


@dataclass(frozen=True)
class Masked:
    """A function `(weights, *args)`, the specs of its arguments and its result, and the least size of each variable."""

    function: object
    specs: tuple[str, ...]
    out: object
    least: int = 1
    constraints: tuple[str, ...] = ()
    differentiable: bool = True


W = np.linspace(0.5, 1.5, 3, dtype="float32")  # what programs close over


def scanned(w, x):
    carry, ys = lax.scan(lambda c, row: (c * w[0] + tnp.log(row * w[1]), c * row), w[2], x)
    return carry, ys


def backwards(w, x):
    return lax.scan(lambda c, row: (tnp.tanh(c + row * w[0]), c), w[1], x, reverse=True)


def counted(w, x):
    return lax.fori_loop(0, 3, lambda i, y: y * w[0] + i, x)


def doubled(w, x):
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + tnp.sum(s[1]) / 10), (0, x))[1]


def chosen(w, x):
    return lax.cond(tnp.sum(x) > 3, lambda y: y * w[0], lambda y: tnp.cumsum(y) / w[1], x)


@tangrad.jit
def jitted(w, x):
    return tnp.exp(-x * w[0]) / tnp.mean(x)


def attention(w, q, k, v):
    scores = q @ k.T / tnp.sqrt(float(q.shape[1])) * w[0]
    return nn.softmax(scores, axis=-1) @ v


def convolved(w, x):
    return lax.conv_general_dilated(x[None, None], w[None, None], (1,), [(1, 1)])[0, 0]


def pooled(w, x):
    return lax.reduce_window(x * w[0], -np.inf, lax.max, (3,), (1,), "VALID")


def pooled_inside(w, x):
    return tangrad.grad(lambda y: tnp.sum(pooled(w, y) ** 2))(x)


def standardised(w, x):
    return (x - tnp.mean(x, axis=0)) / tnp.sqrt(tnp.var(x, axis=0) + 1e-2) * w


def distances(w, x, y):
    return tnp.sum((x[:, None, :] - y[None, :, :]) ** 2 * w, axis=-1)


def gradient_inside(w, x):
    return tangrad.grad(lambda y: tnp.sum(tnp.sin(y) * w[0] + y**2))(x)


def mapped_inside(w, x):
    return tangrad.vmap(lambda row: tnp.sum(row * w) / row)(x)


@tangrad.custom_jvp
def cube(x):
    return x**3


cube.defjvps(lambda tangent, out, x: 3 * x**2 * tangent)


@tangrad.custom_vjp
def damped(x, w):
    return tnp.log(x) * w


damped.defvjp(lambda x, w: (tnp.log(x) * w, (x, w)), lambda res, ct: (ct * res[1] / res[0] / 2, tnp.sum(ct * res[0])))


PROGRAMS = {
    # elementwise
    "polynomial": Masked(lambda w, x: x * w[0] + tnp.log(x) / w[1] - 2, ("n",), "n"),
    "where": Masked(lambda w, x: tnp.where(x > 1, x * w[0], tnp.sqrt(x * w[1])), ("n",), "n"),
    "broadcast": Masked(lambda w, x, y: x[:, None] * y + w[0], ("n", "m"), "(n, m)"),
    "clip": Masked(lambda w, x: tnp.clip(x, w[0], w[2]), ("n",), "n"),
    # reductions
    "sum of logs": Masked(lambda w, x: tnp.sum(tnp.log(w[0] * x)), ("n",), ""),
    "mean": Masked(lambda w, x: tnp.mean(x / w[0]), ("n",), ""),
    "product": Masked(lambda w, x: tnp.prod(x * w[0]), ("n",), ""),
    "extrema": Masked(lambda w, x: (tnp.max(x, axis=0) * w[0], tnp.min(x, axis=1)), ("(n, m)",), ("m", "n")),
    "positions": Masked(lambda w, x: (tnp.argmax(x), tnp.argmin(-x)), ("n",), ("", ""), differentiable=False),
    "logsumexp": Masked(lambda w, x: nn.logsumexp(x * w[0], axis=1), ("(n, m)",), "n"),
    "all": Masked(lambda w, x: (tnp.all(x > 0.1), tnp.any(x > 2.9)), ("n",), ("", ""), differentiable=False),
    "variance": Masked(standardised, ("(n, 3)",), "(n, 3)"),
    "softmax": Masked(lambda w, x: nn.softmax(x * w[0]), ("(n, m)",), "(n, m)"),
    # running totals
    "running sum": Masked(lambda w, x: tnp.cumsum(x * w[0]), ("n",), "n"),
    "running product from the end": Masked(lambda w, x: lax.cumprod(x * w[0], reverse=True), ("n",), "n"),
    "running extrema": Masked(lambda w, x: lax.cummax(x, reverse=True) + lax.cummin(x), ("n",), "n"),
    "running logsumexp": Masked(lambda w, x: lax.cumlogsumexp(x * w[0], reverse=True), ("n",), "n"),
    # structure
    "slices": Masked(lambda w, x: x[1:] * w[0] - x[:-1], ("n",), "n-1", least=2, constraints=("n >= 2",)),
    "every other": Masked(lambda w, x: x[::2] * w[0], ("n",), None),
    "the last": Masked(lambda w, x: x[-1] * w[0] + x[0], ("n",), ""),
    "the last two": Masked(lambda w, x: x[x.shape[0] - 2 :], ("n",), "2", least=2, constraints=("n >= 2",)),
    "reversed": Masked(lambda w, x: x[::-1] * x, ("n",), "n"),
    "joined": Masked(lambda w, x, y: tnp.concatenate([x, y * w[0], x]), ("n", "m"), "2*n+m"),
    "joined with one more": Masked(lambda w, x: tnp.concatenate([x, w[:1], x]), ("n",), "2*n+1"),
    "stacked": Masked(lambda w, x: tnp.stack([x, x * w[0]]), ("n",), "(2, n)"),
    "flattened": Masked(lambda w, x: tnp.ravel(x) * w[0], ("(n, m)",), "n*m"),
    "folded": Masked(lambda w, x: x.reshape(3, -1).sum(axis=0) * w[0], ("3*n",), "n"),
    "rows of three": Masked(lambda w, x: x.reshape(-1, 3) * w, ("3*n",), "(n, 3)"),
    "transposed": Masked(lambda w, x: (x * w[0]).T, ("(n, m)",), "(m, n)"),
    "padded": Masked(lambda w, x: tnp.pad(x * w[0], (1, 2), constant_values=3.0), ("n",), "n+3"),
    "counted": Masked(lambda w, x: x * tnp.arange(x.shape[0]), ("n",), "n"),
    "ones": Masked(lambda w, x: tnp.ones(x.shape) * x.shape[0] * w[0], ("(n, m)",), "(n, m)"),
    "one row": Masked(lambda w, x: lax.dynamic_index_in_dim(x, 1, 0, keepdims=False) * w[0], ("(n, m)",), "m"),
    "a row replaced": Masked(lambda w, x: lax.dynamic_update_index_in_dim(x, w[0] * x[0], 1, 0), ("(n, m)",), "(n, m)"),
    # indexing and sorting
    "taken": Masked(lambda w, x: x[tnp.array([0, -1, 0])] * w, ("n",), "3"),
    "added at": Masked(lambda w, x: x.at[tnp.array([0, -1])].add(w[:2]), ("n",), "n"),
    "table": Masked(lambda w, x: w[tnp.asarray(x * 10, "int32") % 3], ("n",), "n"),
    "sorted": Masked(lambda w, x: tnp.sort(x * w[0]), ("n",), "n"),
    "ranks": Masked(lambda w, x: tnp.argsort(-x), ("n",), "n", differentiable=False),
    "the greatest": Masked(lambda w, x: lax.top_k(x * w[0], 1)[0], ("n",), "1"),
    # contractions and windows
    "matrix by vector": Masked(lambda w, a, b: a @ b * w[0], ("(n, m)", "m"), "n"),
    "gram": Masked(lambda w, a: tnp.einsum("ij,kj->ik", a, a * w[0]), ("(n, m)",), "(n, n)"),
    "distances": Masked(distances, ("(n, 3)", "(m, 3)"), "(n, m)"),
    "attention": Masked(attention, ("(n, 4)", "(m, 4)", "(m, 2)"), "(n, 2)"),
    "convolution": Masked(convolved, ("n",), "n", least=3, constraints=("n >= 3",)),
    "greatest of three": Masked(pooled, ("n",), "n-2", least=3, constraints=("n >= 3",)),
    # matrices and transforms along other dimensions
    "triangles": Masked(lambda w, x: lax.linalg.cholesky(x @ x.mT + tnp.eye(2)) * w[0], ("(n, 2, 2)",), "(n, 2, 2)"),
    "spectra": Masked(lambda w, x: tnp.abs(tnp.fft.fft(x * w[0], axis=1)), ("(n, 4)",), "(n, 4)"),
    "pooling inside": Masked(pooled_inside, ("n",), "n", least=3, constraints=("n >= 3",)),
    # control flow, and other transformations
    "scan": Masked(scanned, ("n",), ("", "n")),
    "scan from the end": Masked(backwards, ("n",), ("", "n")),
    "scan over rows": Masked(lambda w, x: lax.scan(lambda c, r: (c + r, tnp.sum(c)), x[0], x), ("(n, m)",), ("m", "n")),
    "fori": Masked(counted, ("n",), "n"),
    "while": Masked(doubled, ("n",), "n", differentiable=False),
    "cond": Masked(chosen, ("n",), "n"),
    "a jvp rule": Masked(lambda w, x: cube(x * w[0]), ("n",), "n"),
    "a vjp rule": Masked(lambda w, x: damped(x, w[0]), ("n",), "n"),
    "a rule in jit": Masked(tangrad.jit(lambda w, x: cube(x) + damped(x, w[0])), ("n",), "n"),
    "jit": Masked(jitted, ("n",), "n"),
    "relu": Masked(lambda w, x: nn.relu(x - w[0]), ("n",), "n"),
    "grad inside": Masked(gradient_inside, ("n",), "n"),
    "vmap inside": Masked(mapped_inside, ("(n, 3)",), "(n, 3)"),
    "checkpoint": Masked(lambda w, x: tangrad.checkpoint(lambda y: tnp.sum(tnp.sin(y)) * w[0])(x), ("n",), ""),
}
