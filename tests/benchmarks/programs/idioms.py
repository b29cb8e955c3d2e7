"""The idioms: everyday eager code, each with a name, written once for all sides."""

import copy
import functools
import io
import json
import math
import operator
import pickle
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as onp

TIMES = range(30)
Work = Callable[[Any, Any, int], Any]


@dataclass(frozen=True, slots=True)
class Idiom:
    """A piece of work `work(api, x, n)` on a vector x of n floats; `in_numpy`: whether NumPy has all that it uses."""

    work: Work
    in_numpy: bool


class Idioms(dict[str, Idiom]):
    """Idioms by name, added by `add` or by decorating with `named`."""

    def add(self, name: str, work: Work, in_numpy: bool = True) -> None:
        """Add one. Raises ValueError for a name that is taken."""
        if name in self:
            raise ValueError(f"there is an idiom {name!r} already")
        self[name] = Idiom(work, in_numpy)

    def named(self, name: str, in_numpy: bool = True) -> Callable[[Work], Work]:
        """Decorator: add the function."""

        def decorate(work: Work) -> Work:
            self.add(name, work, in_numpy)
            return work

        return decorate


def square(x: Any, side: int = 8) -> Any:
    """The first elements as a square matrix."""
    return x[: side * side].reshape(side, side)


IDIOMS = Idioms()
add = IDIOMS.add
add_ours = partial(IDIOMS.add, in_numpy=False)

# --- Going through arrays, and taking them out of their library: loops, unpacking, printing, conversions ------------

add("list(x)", lambda api, x, n: list(x))
add("for v in x", lambda api, x, n: [v * 2 for v in x])
add("for row in m", lambda api, x, n: [row.sum() for row in square(x)])
add("a, b, c = x", lambda api, x, n: (lambda a, b, c: a + b * c)(*x[:3]))
add("a, *rest = x", lambda api, x, n: (lambda a, *rest: (a, rest))(*x))
add("zip(x, x)", lambda api, x, n: [u + v for u, v in zip(x, x, strict=True)])
add("enumerate(x)", lambda api, x, n: [i * v for i, v in enumerate(x)])
add("next(iter(x))", lambda api, x, n: next(iter(x)))
add("reversed(x)", lambda api, x, n: list(reversed(x)))
add("sum(x)", lambda api, x, n: sum(x))
add("max(x)", lambda api, x, n: max(x))
add("sorted(x)", lambda api, x, n: sorted(x[:20]))
add("3.0 in x", lambda api, x, n: 3.0 in x)
add("dict of rows", lambda api, x, n: dict(enumerate(x.reshape(-1, 1))))
add("map(float, x)", lambda api, x, n: list(map(float, x)))
add("numpy.iterable(x)", lambda api, x, n: onp.iterable(x))
add("numpy.array(list(x))", lambda api, x, n: onp.array(list(x)))
add("numpy.asarray(x)", lambda api, x, n: onp.asarray(x))
add("numpy.fromiter(x)", lambda api, x, n: onp.fromiter(x, "float32"))
add("x.tolist()", lambda api, x, n: x.tolist())
add("repr and str", lambda api, x, n: (repr(x), str(x[0])))
add("f'{x[i]:.3f}'", lambda api, x, n: [f"{x[i]:.3f}" for i in TIMES])
add("float(x[i])", lambda api, x, n: [float(x[i]) for i in TIMES])
add("x[i].item()", lambda api, x, n: [x[i].item() for i in TIMES])
add("if x[i] > 0", lambda api, x, n: [1 if x[i] > 0 else 0 for i in TIMES])
add("bool((x > i).any())", lambda api, x, n: [bool((x > i).any()) for i in TIMES])


@IDIOMS.named("moving average by hand")
def moving_average(api: Any, x: Any, n: int) -> Any:
    """A recurrence over the elements."""
    state = api.numpy.zeros(())
    for v in x:
        state = state * 0.9 + v
    return state


# --- Parts of arrays at places that change: indices, slices, windows, masks, and changed copies ---------------------

add("x[i]", lambda api, x, n: [x[i] for i in TIMES])
add("x[-i]", lambda api, x, n: [x[-i - 1] for i in TIMES])
add("x[i:i + 3]", lambda api, x, n: [x[i : i + 3] for i in TIMES])
add("x[:i]", lambda api, x, n: [x[: i + 1] for i in range(8)])
add("x[i:i + 20:2]", lambda api, x, n: [x[i : i + 20 : 2] for i in TIMES])
add("x[i + 5:i:-1]", lambda api, x, n: [x[i + 5 : i : -1] for i in TIMES])
add("x[::-1]", lambda api, x, n: x[::-1])
add("batches", lambda api, x, n: [x[i : i + 10].mean() for i in range(0, 90, 10)])
add("m[i, j]", lambda api, x, n: [square(x)[i, 7 - i] for i in range(8)])
add("m[:, i]", lambda api, x, n: [square(x)[:, i] for i in range(8)])
add("m[i:i + 2, j:j + 2]", lambda api, x, n: [square(x)[i : i + 2, j : j + 2] for i in range(6) for j in range(6)])
add("m[i:i + 2, j]", lambda api, x, n: [square(x)[i : i + 2, i] for i in range(6)])
add("x[array of indices]", lambda api, x, n: [x[onp.array([i, i + 1, i + 2])] for i in TIMES])
add("x[x > i]", lambda api, x, n: [x[x > i] for i in range(4)])
add("take(x, i)", lambda api, x, n: [api.numpy.take(x, i) for i in TIMES])
add("x[argsort(x)]", lambda api, x, n: x[api.numpy.argsort(x)])
add("x[argmax(x)]", lambda api, x, n: x[api.numpy.argmax(x)])
add("split(x, 10)", lambda api, x, n: api.numpy.split(x[:100], 10))
add("split(x, [i])", lambda api, x, n: [api.numpy.split(x[:20], [i + 1]) for i in range(4)])
add("array_split(x, 7)", lambda api, x, n: api.numpy.array_split(x, 7))
add("roll(x, i)", lambda api, x, n: [api.numpy.roll(x, i) for i in TIMES])
add("roll(m, (i, -i))", lambda api, x, n: [api.numpy.roll(square(x), (i, -i), (0, 1)) for i in range(8)])
add("len(x[i:])", lambda api, x, n: [len(x[i:]) for i in range(4)])
add("lax.slice", lambda api, x, n: [api.lax.slice(x, (i,), (i + 4,)) for i in TIMES], False)
add("lax.dynamic_slice", lambda api, x, n: [api.lax.dynamic_slice(x, (i,), (4,)) for i in TIMES], False)
add("lax.index_in_dim", lambda api, x, n: [api.lax.index_in_dim(x, i) for i in TIMES], False)
add("x.at[i].set(i)", lambda api, x, n: [x.at[i].set(i) for i in TIMES], False)
add("x.at[i:i + 3].set(0)", lambda api, x, n: [x.at[i : i + 3].set(0.0) for i in TIMES], False)
add("x.at[i].add(i)", lambda api, x, n: [x.at[i].add(i) for i in TIMES], False)
add("x.at[x > i].set(0)", lambda api, x, n: [x.at[x > i].set(0) for i in TIMES], False)
add("m.at[:, i].set(0)", lambda api, x, n: [square(x).at[:, i].set(0.0) for i in range(8)], False)
add("swap neighbours", lambda api, x, n: [x.at[i].set(x[i + 1]).at[i + 1].set(x[i]) for i in TIMES], False)


# --- Arrays that are made: of values that change, of lists, of one another, growing ---------------------------------

add("full(n, i)", lambda api, x, n: [api.numpy.full(n, i) for i in TIMES])
add("full_like(x, i)", lambda api, x, n: [api.numpy.full_like(x, i) for i in TIMES])
add("zeros(n) + ones(n)", lambda api, x, n: api.numpy.zeros(n) + api.numpy.ones(n))
add("ones(i), growing", lambda api, x, n: [api.numpy.ones(n + i) for i in range(8)])
add("arange(i, i + n)", lambda api, x, n: [api.numpy.arange(i, i + n) for i in TIMES])
add("arange(0.5 i, ...)", lambda api, x, n: [api.numpy.arange(i * 0.5, i * 0.5 + 10, 0.5) for i in TIMES])
add("linspace(i, i + 1, n)", lambda api, x, n: [api.numpy.linspace(i, i + 1.0, n) for i in TIMES])
add("logspace(0, i, n)", lambda api, x, n: [api.numpy.logspace(0, 1.0 + i / 10, n) for i in range(8)])
add("geomspace(1, i, n)", lambda api, x, n: [api.numpy.geomspace(1.0, 2.0 + i, n) for i in range(8)])
add("eye(n, k=i)", lambda api, x, n: [api.numpy.eye(n, k=i) for i in range(8)])
add("pad(x, 2, value i)", lambda api, x, n: [api.numpy.pad(x, 2, constant_values=i) for i in TIMES])
add("pad(x, (i, 30 - i))", lambda api, x, n: [api.numpy.pad(x, (i, 30 - i)) for i in range(8)])
add("meshgrid(x, x)", lambda api, x, n: api.numpy.meshgrid(x, x))
add("stack of scalars", lambda api, x, n: api.numpy.stack([x[i] for i in TIMES]))
add("asarray(list of scalars)", lambda api, x, n: api.numpy.asarray([x[i] for i in TIMES]))
add("asarray(list of floats)", lambda api, x, n: api.numpy.asarray([float(i) for i in range(n)]))
add("vstack of rows", lambda api, x, n: api.numpy.vstack([x * i for i in range(10)]))
add("hstack of rows", lambda api, x, n: api.numpy.hstack([x * i for i in range(10)]))
add("tile and repeat", lambda api, x, n: (api.numpy.tile(x, 3), api.numpy.repeat(x, 3)))
add("insert(x, i, 0)", lambda api, x, n: [api.numpy.insert(x, i, 0.0) for i in range(8)])
add("delete(x, i)", lambda api, x, n: [api.numpy.delete(x, i) for i in range(8)])
add("lax.full", lambda api, x, n: [api.lax.full((n,), i) for i in TIMES], False)
add("lax.pad with i", lambda api, x, n: [api.lax.pad(x, float(i), ((1, 1, 0),)) for i in TIMES], False)
add("nn.one_hot(i, 10)", lambda api, x, n: [api.nn.one_hot(i, 10) for i in TIMES], False)


@IDIOMS.named("append, growing")
def appended(api: Any, x: Any, n: int) -> Any:
    """A vector that gets longer by one in each step."""
    grown = x[:1]
    for i in range(8):
        grown = api.numpy.append(grown, float(i))
    return grown


@IDIOMS.named("concatenate, growing")
def concatenated(api: Any, x: Any, n: int) -> Any:
    """A vector that gets longer by a part of another one in each step."""
    grown = x
    for i in range(8):
        grown = api.numpy.concatenate([grown, x[i : i + 1]])
    return grown


# --- Functions in loops, with numbers that change -------------------------------------------------------------------

add("x + i", lambda api, x, n: [x + i for i in TIMES])
add("x * 0.1 i", lambda api, x, n: [x * (i * 0.1) for i in TIMES])
add("x ** i", lambda api, x, n: [x**i for i in range(12)])
add("x ** (i + 0.5)", lambda api, x, n: [x ** (i + 0.5) for i in range(12)])
add("x % i", lambda api, x, n: [x % (i + 1) for i in TIMES])
add("(x > i).sum()", lambda api, x, n: [(x > i).sum() for i in TIMES])
add("where(x > i, x, i)", lambda api, x, n: [api.numpy.where(x > i, x, i) for i in TIMES])
add("clip(x, i, i + 5)", lambda api, x, n: [api.numpy.clip(x, i, i + 5) for i in TIMES])
add("maximum(x, i)", lambda api, x, n: [api.numpy.maximum(x, i) for i in TIMES])
add("round(x, i)", lambda api, x, n: [api.numpy.round(x, i) for i in range(6)])
add("var(x, ddof=i)", lambda api, x, n: [api.numpy.var(x, ddof=i) for i in range(6)])
add("quantile(x, 0.03 i)", lambda api, x, n: [api.numpy.quantile(x, i / 30) for i in TIMES])
add("percentile(x, i)", lambda api, x, n: [api.numpy.percentile(x, i) for i in TIMES])
add("searchsorted(x, i)", lambda api, x, n: [api.numpy.searchsorted(x, i) for i in TIMES])
add("digitize(i, x)", lambda api, x, n: [api.numpy.digitize(i + 0.5, x) for i in TIMES])
add("interp(i, x, x)", lambda api, x, n: [api.numpy.interp(i + 0.5, x, x) for i in TIMES])
add("polyval of i", lambda api, x, n: [api.numpy.polyval(api.numpy.array([1.0, 2.0, i]), x) for i in TIMES])
add("nan_to_num(x, nan=i)", lambda api, x, n: [api.numpy.nan_to_num(x, nan=i) for i in range(8)])
add("allclose(x, x, atol=i)", lambda api, x, n: [api.numpy.allclose(x, x, atol=i) for i in range(8)])
add("sort of each row", lambda api, x, n: [api.numpy.sort(row) for row in square(x)])
add("unique(x)", lambda api, x, n: api.numpy.unique(x))
add("cumsum(x)[-1]", lambda api, x, n: api.numpy.cumsum(x)[-1])
add("diff(x)", lambda api, x, n: api.numpy.diff(x))
add("einsum in a loop", lambda api, x, n: [api.numpy.einsum("i,i->", x, x * i) for i in TIMES])
add("outer of windows", lambda api, x, n: [api.numpy.outer(x[i : i + 4], x[i : i + 4]) for i in TIMES])
add("dot in a loop", lambda api, x, n: [x @ (x + i) for i in TIMES])
add("mean of windows", lambda api, x, n: [api.numpy.mean(x[i : i + 5]) for i in TIMES])
add("take, fill_value i", lambda api, x, n: [api.numpy.take(x, 1000, fill_value=i) for i in range(8)], False)
add("lax.clamp(i, x, i + 4)", lambda api, x, n: [api.lax.clamp(float(i), x, i + 4.0) for i in TIMES], False)
add("nn.softmax(i x)", lambda api, x, n: [api.nn.softmax(x * i) for i in TIMES], False)
add("nn.leaky_relu(x, i)", lambda api, x, n: [api.nn.leaky_relu(x, i * 0.1) for i in TIMES], False)


# --- Random keys in loops -------------------------------------------------------------------------------------------


add_ours("uniform(key(i))", lambda api, x, n: [api.random.uniform(api.random.key(i)) for i in TIMES])
add_ours(
    "fold_in(key, i)", lambda api, x, n: [api.random.normal(api.random.fold_in(api.random.key(1), i)) for i in TIMES]
)
add_ours(
    "for key in split(key, n)",
    lambda api, x, n: [api.random.uniform(k) for k in api.random.split(api.random.key(0), n)],
)
add_ours(
    "a, b, c = split(key, 3)", lambda api, x, n: [api.random.bits(k) for k in api.random.split(api.random.key(0), 3)]
)
add_ours("randint up to i", lambda api, x, n: [api.random.randint(api.random.key(0), (n,), 0, i + 1) for i in TIMES])
add_ours(
    "uniform up to i", lambda api, x, n: [api.random.uniform(api.random.key(0), (n,), maxval=i + 1.0) for i in TIMES]
)
add_ours("bernoulli(i / 30)", lambda api, x, n: [api.random.bernoulli(api.random.key(0), i / 30, (n,)) for i in TIMES])
add_ours("permutation(key(i), x)", lambda api, x, n: [api.random.permutation(api.random.key(i), x) for i in TIMES])
add_ours("choice(key(i), x)", lambda api, x, n: [api.random.choice(api.random.key(i), x, (5,)) for i in range(8)])


@IDIOMS.named("key, sub = split(key)", in_numpy=False)
def key_in_a_loop(api: Any, x: Any, n: int) -> Any:
    """A key that is split in each step."""
    key, drawn = api.random.key(0), []
    for _ in TIMES:
        key, sub = api.random.split(key)
        drawn.append(api.random.normal(sub, (3,)))
    return drawn


# --- Arrays among what is not arrays: text, Python's own functions, NumPy's functions, copies, files ----------------

add("'%.3f' % x[i]", lambda api, x, n: [f"{i}: {x[i]:.3f} of {x[-1]:g}" for i in range(8)])
add("f'{x.mean():.2f}'", lambda api, x, n: f"{x.mean():.2f} ± {x.std():.2f}")
add("str of rows", lambda api, x, n: [str(row) for row in square(x)])
add("json of x", lambda api, x, n: json.dumps({"x": x.tolist(), "n": int(x.sum())}))
add("{i: float(v)}", lambda api, x, n: {i: float(v) for i, v in enumerate(x)})
add("sorted(key=x[i])", lambda api, x, n: sorted(range(20), key=lambda i: -x[i]))
add("min(key=|x[i] - 4|)", lambda api, x, n: min(range(20), key=lambda i: abs(x[i] - 4.0)))
add("all(v >= 0)", lambda api, x, n: all(v >= 0 for v in x))
add("[v for v in x if v > 4]", lambda api, x, n: [v for v in x if v > 4])
add("reduce(add, x)", lambda api, x, n: functools.reduce(operator.add, x))
add("math.sqrt(x[i])", lambda api, x, n: [math.sqrt(x[i]) for i in TIMES])
add("names[int(x[i])]", lambda api, x, n: ["abcdefghij"[int(x[i])] for i in TIMES])
add("statistics.mean", lambda api, x, n: statistics.fmean(x.tolist()))
add("running best", lambda api, x, n: functools.reduce(lambda best, i: x[i] if x[i] > best else best, TIMES, x[0]))
add("numpy.sin(x)", lambda api, x, n: onp.sin(onp.asarray(x)))
add("numpy.mean(x)", lambda api, x, n: (onp.mean(x), onp.std(x), onp.max(x)))
add("numpy.histogram(x)", lambda api, x, n: onp.histogram(x, 10))
add("assert_allclose(x, x)", lambda api, x, n: onp.testing.assert_allclose(x, x, rtol=1e-5))
add("numpy.asarray of columns", lambda api, x, n: {i: onp.asarray(square(x)[:, i]) for i in range(8)})
add("x.shape, x.dtype, len(x)", lambda api, x, n: [(x.shape[0], x.ndim, x.size, x.dtype, len(x)) for _ in TIMES])
add("deepcopy(x)", lambda api, x, n: copy.deepcopy({"x": x, "y": [x, x]}))
add("pickle", lambda api, x, n: pickle.loads(pickle.dumps(x)))
add("numpy.save", lambda api, x, n: onp.save(io.BytesIO(), x))


# --- What numerical programs call in each step: summaries, small matrices, transforms, sets, polynomials ---

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


# --- Transformations in loops: of functions made in the loop, of closures over numbers that change, of trees ---

FEW, SOME = range(3), range(10)


def called_with(function: Any, x: Any, numbers: Any) -> list[Any]:
    """The results of a function of x and of a Python number."""
    return [function(x, number) for number in numbers]


def loss(y: Any) -> Any:
    """A function to differentiate."""
    return ((y * y - y) * 0.5).sum()


add_ours("tree.map of a list", lambda api, x, n: api.tree.map(lambda v: v * 2, [x] * 10))
add_ours(
    "tree.map of two dicts",
    lambda api, x, n: api.tree.map(lambda p, g: p - 0.1 * g, {"w": x, "b": x}, {"w": x, "b": x}),
)
add_ours("jit(f)(x, 0.1 i)", lambda api, x, n: called_with(api.jit(lambda y, s: y * s), x, [0.1 * i for i in SOME]))
add_ours("jit(f)(x, i)", lambda api, x, n: called_with(api.jit(lambda y, s: y + s), x, SOME))
add_ours("jit in a loop", lambda api, x, n: [api.jit(lambda y: y * 2 + 1)(x) for _ in FEW])
add_ours("jit of a closure", lambda api, x, n: [api.jit(lambda y, i=i: y * i)(x) for i in FEW])
add_ours("grad in a loop", lambda api, x, n: [api.grad(loss)(x) for _ in SOME])
add_ours("grad of a lambda", lambda api, x, n: [api.grad(lambda y: (y * y).sum())(x) for _ in SOME])
add_ours("grad of a closure", lambda api, x, n: [api.grad(lambda y, i=i: (y * i).sum())(x) for i in SOME])
add_ours("value_and_grad", lambda api, x, n: [api.value_and_grad(loss)(x * i) for i in SOME])
add_ours("grad of a number", lambda api, x, n: [api.grad(lambda v: v**3)(0.1 * i) for i in SOME])
add_ours("grad of grad", lambda api, x, n: [api.grad(api.grad(lambda v: v**3))(0.1 * i) for i in FEW])
add_ours("vmap of a lambda", lambda api, x, n: [api.vmap(lambda v: v * 2 + 1)(x) for _ in SOME])
add_ours("vmap of a closure", lambda api, x, n: [api.vmap(lambda row, i=i: row @ row * i)(square(x)) for i in SOME])
add_ours("vmap of grad", lambda api, x, n: api.vmap(api.grad(lambda v: v * v))(x))
add_ours("jacrev", lambda api, x, n: api.jacrev(lambda y: y * y)(x[:5]))
add_ours("hessian", lambda api, x, n: api.hessian(loss)(x[:5]))
add_ours("jvp, vjp", lambda api, x, n: (api.jvp(loss, (x,), (x,)), api.vjp(loss, x)[1](1.0)))
add_ours("fori_loop(0, i)", lambda api, x, n: [api.lax.fori_loop(0, i, lambda j, s: s + j, 0) for i in FEW])
add_ours("scan over x", lambda api, x, n: api.lax.scan(lambda c, v: (c + v, c), 0.0, x))
add_ours("cond of x[i]", lambda api, x, n: [api.lax.cond(x[i] > 3, lambda v: v, lambda v: -v, x[i]) for i in SOME])
add_ours("while_loop", lambda api, x, n: api.lax.while_loop(lambda s: s < 50.0, lambda s: s * 2.0, x[1]))
add_ours("make_jaxpr", lambda api, x, n: str(api.make_jaxpr(loss)(x)))
add_ours("eval_shape", lambda api, x, n: api.eval_shape(loss, x))
add_ours("device_get", lambda api, x, n: api.device_get({"x": x, "y": x}))
add_ours("block_until_ready", lambda api, x, n: api.block_until_ready(x * 2))


@IDIOMS.named("gradient descent", in_numpy=False)
def descent(api: Any, x: Any, n: int) -> Any:
    """Steps of gradient descent on a tree of parameters, not compiled."""
    parameters = {"w": x, "b": x[0]}
    for _ in SOME:
        gradient = api.grad(lambda p: loss(p["w"] * x + p["b"]))(parameters)
        parameters = api.tree.map(lambda p, g: p - 0.01 * g, parameters, gradient)
    return parameters
