"""Programs on meshes as `make_mesh` makes them, with Explicit axes, for JAX and for Tangrad: the same text for both.

As a script, `python -m tests.sharding.explicit_programs jax found.json types Explicit 0:60`, it writes what each
of them gives, and what those give that some seeds make: the type of every result, or the numbers, or why it is refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy

SIZES = {"x": 2, "y": 4}
Case = tuple[Callable[..., Any], tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...]]


def contents(shape: tuple[int, ...], number: int) -> numpy.ndarray:
    return numpy.random.RandomState(number).uniform(-1, 1, shape).astype("float32")


def programs(api: Any, np: Any, lax: Any, P: Any) -> dict[str, Case]:
    """name -> (function, for each operand its shape and spec)."""
    key = api.random.key(0)
    reshard, auto_axes = api.sharding.reshard, api.sharding.auto_axes
    both, rows, columns, whole = [((8, 8), spec) for spec in (("x", "y"), ("x", None), (None, "y"), (None, None))]
    vector, batch = ((8,), ("y",)), ((8, 4), ("x", None))
    matrices = (((2, 4, 4), ("x", None, None)),)
    images, kernel = ((4, 3, 8, 8), ("x", None, None, None)), ((4, 3, 3, 3), (None,) * 4)

    def mlp(params, a):
        (w, b), (v, c) = params
        return np.tanh(a @ w + b) @ v + c

    def mean_loss(w, b, v, c, a, target):
        return ((mlp(((w, b), (v, c)), a) - target) ** 2).mean()

    def step(w, b, v, c, a, target):
        loss, gradients = api.value_and_grad(mean_loss, (0, 1, 2, 3))(w, b, v, c, a, target)
        return loss, *api.tree.map(lambda p, g: p - 0.1 * g, (w, b, v, c), gradients)

    mlp_of = lambda w, b, v, c, target: (((4, 16), w), ((16,), b), ((16, 2), v), ((2,), c), batch, ((8, 2), target))

    def adam(p, m, v, g):
        params, state = {"p": p}, {"m": m, "v": v}
        m = api.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], g)
        v = api.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], g)
        return params["p"] - 1e-3 * (m / 0.1) / (np.sqrt(v / 0.01 + 1.0) + 1e-8), m, v

    def clipped(a, b):
        norm = np.sqrt(sum([(g**2).sum() for g in (a, b)]))
        return api.tree.map(lambda g: g * np.minimum(1.0, 1.0 / (norm + 1e-6)), (a, b))

    def attention(q, k, v):
        scores = np.einsum("bthd,bshd->bhts", q, k) / 2.0
        mask = np.tril(np.ones((4, 4), bool))
        weights = api.nn.softmax(np.where(mask, scores, -1e9), axis=-1)
        return np.einsum("bhts,bshd->bthd", weights, v)

    heads = (((2, 4, 4, 8), ("x", None, "y", None)),) * 3

    def layers(a, w):
        return lax.scan(lambda a, w: (np.tanh(a @ w), a.sum()), a, w)

    def again(a, w):
        return api.checkpoint(lambda a, w: np.tanh(a @ w))(a, w), None

    def accumulated(batches, w):
        gradient = lambda part: api.grad(lambda w: ((part @ w) ** 2).mean())(w)
        return lax.scan(lambda total, part: (total + gradient(part), None), np.zeros_like(w), batches)[0]

    def half(a):
        return lax.custom_linear_solve(lambda v: 2 * v, a, lambda _, b: b / 2, symmetric=True)

    def convolved(a, k):
        return (lax.conv(a, k, (2, 2), "VALID") ** 2).sum()

    @partial(api.checkpoint, policy=api.checkpoint_policies.dots_saveable)
    def twice(a):
        return np.sin(np.sin(a))

    @api.custom_vjp
    def limited(a):
        return np.sin(a)

    limited.defvjp(lambda a: (np.sin(a), a), lambda a, ct: (np.clip(ct, -0.1, 0.1) * np.cos(a),))

    @api.custom_jvp
    def square(a):
        return a * a

    square.defjvp(lambda primals, tangents: (square(*primals), 3 * primals[0] * tangents[0]))

    def dropout(a):
        keep = api.random.bernoulli(key, 0.5, a.shape)
        return np.where(keep, a / 0.5, 0)

    def norm(a, scale):
        mean = a.mean(-1, keepdims=True)
        return (a - mean) * lax.rsqrt(a.var(-1, keepdims=True) + 1e-5) * scale

    def cross_entropy(logits):
        labels = np.arange(8) % 8
        logp = api.nn.log_softmax(logits)
        return -np.take_along_axis(logp, labels[:, None], axis=1).mean()

    def one_hot_entropy(logits):
        return -(api.nn.one_hot(np.arange(8) % 8, 8) * api.nn.log_softmax(logits)).sum(-1).mean()

    mapped = lambda spec, out, f: lambda *args: api.shard_map(f, in_specs=spec, out_specs=out)(*args)
    return {
        # training
        "data parallel": (step, mlp_of((None, None), (None,), (None, None), (None,), ("x", None))),
        "features cut": (step, mlp_of((None, "y"), ("y",), (None, None), (None,), ("x", None))),
        "loss": (mean_loss, mlp_of((None, None), (None,), (None, None), (None,), ("x", None))),
        "optimizer": (adam, (both, both, both, both)),
        "optimizer of rows": (adam, (rows, rows, rows, rows)),
        "clipped by norm": (clipped, (both, columns)),
        "tensor parallel": (
            lambda a, w, v: np.matmul(np.tanh(a @ w), v, out_sharding=P("x", None)),
            (rows, columns, ((8, 8), ("y", None))),
        ),
        "tensor parallel, gradients": (
            lambda a, w, v: api.grad(
                lambda w, v: (np.matmul(np.tanh(a @ w), v, out_sharding=P("x", None)) ** 2).sum(), (0, 1)
            )(w, v),
            (rows, columns, ((8, 8), ("y", None))),
        ),
        "ambiguous": (lambda a, w: a @ w, (both, ((8, 8), ("y", None)))),
        "stated by einsum": (
            lambda a, w: np.einsum("ij,jk->ik", a, w, out_sharding=P("x", None)), (both, ((8, 8), ("y", None)))
        ),
        "gathered weights": (
            lambda a, w: np.einsum("ij,jk->ik", a, reshard(w, P(None, None))), (rows, ((8, 8), ("x", "y")))
        ),
        "gathered weights, gradient": (
            lambda a, w: api.grad(lambda w: (a @ reshard(w, P(None, None))).sum())(w), (rows, ((8, 8), ("x", "y")))
        ),
        "attention": (attention, heads),
        "attention, gradient": (lambda q, k, v: api.grad(lambda q: (attention(q, k, v) ** 2).sum())(q), heads),
        "dot product attention": (api.nn.dot_product_attention, heads),
        "normed": (norm, (rows, ((8,), (None,)))),
        "normed, gradient": (
            lambda a, s: api.grad(lambda s: (norm(a, s) ** 3).sum())(s), (rows, ((8,), (None,)))
        ),
        "cross entropy": (cross_entropy, (rows,)),
        "cross entropy, gradient": (api.grad(cross_entropy), (rows,)),
        "one-hot entropy, gradient": (api.grad(one_hot_entropy), (rows,)),
        "embedding": (lambda table, ids: table[(ids * 0).astype(int)], (columns, ((8, 2), ("x", None)))),
        "embedding of cut rows": (lambda table: table[np.arange(4)], (rows,)),
        "embedding, gradient": (
            lambda table, ids: api.grad(lambda t: (t[(ids * 0).astype(int)] ** 2).sum())(table),
            (whole, ((8, 2), ("x", None))),
        ),
        "embedding, stated": (
            lambda table, ids: table.at[(ids * 0).astype(int)].get(out_sharding=P("x", None, None)),
            (whole, ((8, 2), ("x", None))),
        ),
        # loops
        "layers": (layers, (rows, ((3, 8, 8), (None, None, None)))),
        "layers, columns": (layers, (rows, ((3, 8, 8), (None, None, "y")))),
        "layers, gradient": (
            lambda a, w: api.grad(lambda w: layers(a, w)[0].sum())(w), (rows, ((3, 8, 8), (None, None, None)))
        ),
        "layers computed again": (
            lambda a, w: api.grad(lambda w: lax.scan(again, a, w)[0].sum())(w),
            (rows, ((3, 8, 8), (None, None, None))),
        ),
        "scan along a cut dimension": (lambda a: lax.scan(lambda c, r: (c + r, r), np.zeros(8), a), (rows,)),
        "carry of zeros": (lambda a: lax.scan(lambda c, r: (c + r, None), np.zeros(8), a)[0], (columns,)),
        "carry of zeros like": (lambda a: lax.scan(lambda c, r: (c + r, r), np.zeros_like(a[0]), a), (columns,)),
        "carry of a row": (lambda a: lax.scan(lambda c, r: (c + r, r), a[0], a), (columns,)),
        "map": (lambda a: lax.map(lambda r: r * 2, a), (columns,)),
        "fori": (lambda a: lax.fori_loop(0, 3, lambda i, c: c * 2 + i, a), (both,)),
        "while": (lambda a: lax.while_loop(lambda c: c.sum() < 100, lambda c: np.abs(c) + 1, a), (both,)),
        "cond": (lambda a: lax.cond(a.sum() > 0, lambda a: a * 2, lambda a: a - 1, a), (rows,)),
        "cond, other shardings": (lambda a: lax.cond(a.sum() > 0, lambda a: a, lambda a: np.zeros((8, 8)), a), (rows,)),
        "switch": (lambda a: lax.switch(1, [np.sin, np.cos], a), (rows,)),
        "associative scan": (lambda a: lax.associative_scan(np.add, a, axis=1), (rows,)),
        # maps
        "vmap": (api.vmap(lambda r: np.sin(r) / r.sum()), (both,)),
        "vmap of columns": (api.vmap(np.sin, in_axes=1, out_axes=1), (both,)),
        "vmap of a product": (api.vmap(lambda w, r: w @ r, in_axes=(None, 0)), (whole, rows)),
        "vmap of a gradient": (api.vmap(api.grad(lambda r: (r**3).sum())), (rows,)),
        "vmap of two": (api.vmap(np.dot), (rows, rows)),
        "vmap of one cut": (api.vmap(np.add), (rows, whole)),
        "vmap of a scan": (api.vmap(lambda r: lax.scan(lambda c, v: (c + v, c * v), 0.0, r)), (rows,)),
        "vmap of a broadcast": (api.vmap(lambda r: np.broadcast_to(r.sum(), (3,)) + np.arange(3.0)), (rows,)),
        "vmap of a constant": (api.vmap(lambda r: np.ones(3)), (rows,)),
        "vmap of cond": (api.vmap(lambda r: lax.cond(r.sum() > 0, np.sin, np.cos, r)), (rows,)),
        "shard_map": (mapped(P("x", "y"), P("x"), lambda a: lax.psum(a, "y")), (both,)),
        "shard_map of parts": (mapped(P("x"), P("x"), lambda a: a * a.shape[0]), (rows,)),
        "shard_map within products": (
            lambda a, w: np.sin(api.shard_map(lambda a: a + lax.axis_index("x"), in_specs=P("x", "y"),
                                             out_specs=P("x", "y"))(a @ w)),
            (rows, columns),
        ),
        "shard_map, gradient": (
            api.grad(lambda a: (mapped(P("x", "y"), P("x"), lambda a: lax.psum(a, "y"))(a) ** 2).sum()), (both,)
        ),
        "shard_map of another cut": (mapped(P("y"), P("y"), lambda a: a), (rows,)),
        "within shard_map": (mapped(P("x", None), P("x", None), lambda a: np.sort(a, 0) + a.sum(0)), (rows,)),
        # resharding
        "reshard": (lambda a: reshard(a, P(None, "x")), (both,)),
        "reshard, gradient": (api.grad(lambda a: (reshard(a, P("y", None)) ** 2).sum()), (rows,)),
        "constrained": (lambda a: lax.with_sharding_constraint(a, P("x", "y")), (both,)),
        "constrained otherwise": (lambda a: lax.with_sharding_constraint(a, P("y", "x")), (both,)),
        "auto axes": (auto_axes(lambda a, b: a @ b.T, out_sharding=P("x", None)), (both, both)),
        "auto axes, gradient": (
            api.grad(lambda a: (auto_axes(lambda a: a @ a.T, out_sharding=P("x", None))(a) ** 2).sum()), (both,)
        ),
        # numbers
        "where": (lambda a: np.where(a > 0, a, 0.0), (both,)),
        "where of numbers": (lambda a: np.where(a > 0, 1.0, 0.0), (both,)),
        "where of a row": (lambda a: np.where(a > 0, a, a[:1] * 0), (columns,)),
        "where of plain": (lambda a: np.where(np.arange(8) > 3, a, 0.0), (rows,)),
        "clip": (lambda a: np.clip(a, -0.5, 0.5), (both,)),
        "maximum": (lambda a: np.maximum(a, 0), (both,)),
        "relu": (api.nn.relu, (both,)),
        "gelu": (api.nn.gelu, (both,)),
        "silu, gradient": (api.grad(lambda a: api.nn.silu(a).sum()), (both,)),
        "softmax": (api.nn.softmax, (rows,)),
        "softmax along a cut": (api.nn.softmax, (columns,)),
        "logsumexp": (lambda a: api.nn.logsumexp(a, axis=1), (both,)),
        "rules of ones own": (lambda a: (limited(a), square(a)), (both,)),
        "rules of ones own, gradients": (api.grad(lambda a: (limited(a) * square(a)).sum()), (both,)),
        "linearized": (lambda a: api.linearize(np.sin, a)[1](a), (both,)),
        "pulled back": (lambda a: api.vjp(lambda a: a.sum(0), a)[1](np.ones(8)), (rows,)),
        "hessian": (api.hessian(lambda v: (v**3).sum()), (vector,)),
        "jacobian": (api.jacrev(np.sin), (vector,)),
        "forward jacobian": (api.jacfwd(np.sin), (vector,)),
        # random numbers
        "normal": (lambda a: a + api.random.normal(key, a.shape), (both,)),
        "normal, stated": (lambda a: a + api.random.normal(key, a.shape, out_sharding=P("x", "y")), (both,)),
        "dropout": (dropout, (both,)),
        "dropout, gradient": (api.grad(lambda a: (dropout(a) ** 2).sum()), (both,)),
        "permutation": (lambda a: api.random.permutation(key, a, axis=1), (rows,)),
        "categorical": (lambda a: api.random.categorical(key, a), (rows,)),
        "keys": (lambda a: api.vmap(lambda k, r: r * api.random.uniform(k))(api.random.split(key, 8), a), (rows,)),
        # structure
        "cumsum": (lambda a: np.cumsum(a, 1), (rows,)),
        "cumsum along a cut": (lambda a: np.cumsum(a, 0), (rows,)),
        "sort": (lambda a: np.sort(a, 1), (rows,)),
        "argsort": (lambda a: np.argsort(a, 1), (rows,)),
        "sort along a cut": (lambda a: np.sort(a, 0), (rows,)),
        "top_k": (lambda a: lax.top_k(a, 2), (rows,)),
        "concatenate": (lambda a, b: np.concatenate([a, b], 1), (rows, rows)),
        "concatenate along a cut": (lambda a, b: np.concatenate([a, b], 0), (rows, rows)),
        "concatenate with zeros": (lambda a: np.concatenate([a, np.zeros((8, 1))], 1), (rows,)),
        "concatenate of two cuts": (lambda a, b: np.concatenate([a, b], 1), (rows, whole)),
        "stack": (lambda a, b: np.stack([a, b]), (rows, rows)),
        "stack of two cuts": (lambda a, b: np.stack([a, b]), (rows, whole)),
        "split": (lambda a: np.split(a, 2, 1), (rows,)),
        "heads": (lambda a: a.reshape(8, 4, 2), (both,)),
        "heads joined": (lambda a: a.reshape(8, 4, 2).reshape(8, 8), (both,)),
        "flattened": (lambda a: a.reshape(-1), (rows,)),
        "flattened both": (lambda a: a.ravel(), (both,)),
        "flattened columns": (lambda a: a.reshape(-1), (columns,)),
        "reshape, stated": (lambda a: np.reshape(a, (64,), out_sharding=P("y")), (columns,)),
        "reshape, gradient": (api.grad(lambda a: (a.reshape(8, 4, 2) ** 2).sum()), (both,)),
        "micro batches": (lambda a: a.reshape(4, 2, 8), (rows,)),
        "transpose": (lambda a: a.transpose(1, 0), (both,)),
        "reshaped to heads of two": (lambda a: a.reshape(2, 4, 8), (rows,)),
        "swap": (lambda a: np.swapaxes(a[None], 0, 2), (both,)),
        "expand": (lambda a: a[:, None, :], (both,)),
        "squeeze": (lambda a: a[:, None, :].squeeze(1), (both,)),
        "row": (lambda a: a[0], (columns,)),
        "row of cut rows": (lambda a: a[0], (rows,)),
        "last": (lambda a: a[:, -1], (rows,)),
        "halves": (lambda a: a[:, :4], (rows,)),
        "halves of cut rows": (lambda a: a[:4], (rows,)),
        "shifted": (lambda a: a[:, 1:] - a[:, :-1], (rows,)),
        "row of a number": (lambda a: a[np.int32(2)], (columns,)),
        "dynamic": (lambda a: lax.dynamic_slice_in_dim(a, 1, 2, 1), (rows,)),
        "dynamic index": (lambda a: lax.dynamic_index_in_dim(a, 1, 1, keepdims=False), (rows,)),
        "updated": (lambda a: a.at[:, 0].set(0.0), (rows,)),
        "updated with a column": (lambda a, b: a.at[:, 0].set(b[:, 1]), (rows, rows)),
        "added": (lambda a: a.at[:, 1].add(1.0), (rows,)),
        "update slice": (lambda a, b: lax.dynamic_update_slice_in_dim(a, b[:, :2], 3, 1), (rows, rows)),
        "taken": (lambda a: np.take(a, np.array([2, 0]), axis=1), (rows,)),
        "taken along": (lambda a: np.take_along_axis(a, np.zeros((8, 1), int), axis=1), (rows,)),
        "pad": (lambda a: np.pad(a, ((0, 0), (1, 1))), (rows,)),
        "roll": (lambda a: np.roll(a, 1, 1), (rows,)),
        "flip": (lambda a: a[:, ::-1], (both,)),
        "tile": (lambda a: np.tile(a, (1, 2)), (rows,)),
        "repeat": (lambda a: np.repeat(a, 2, axis=1), (rows,)),
        "tril": (np.tril, (both,)),
        "diagonal": (lambda a: a * np.eye(8), (both,)),
        "meshgrid": (lambda a: a[:, None] + np.arange(3.0), (((8,), ("x",)),)),
        "broadcast": (lambda a: np.broadcast_to(a, (3, 8)), (vector,)),
        "outer": (lambda a, b: a[:, None] * b[None, :], (((8,), ("x",)), vector)),
        "outer of one": (np.outer, (vector, vector)),
        "sums": (lambda a: (a.sum(), a.sum(0), a.mean(1), a.max(0), a.std(), a.prod(1)), (both,)),
        "products of rows": (lambda a, b: (a * b).sum(-1), (both, both)),
        "argmax": (lambda a: a.argmax(-1), (rows,)),
        "all": (lambda a: (np.all(a > 0), np.any(a > 0, axis=1)), (both,)),
        "norm": (np.linalg.norm, (both,)),
        "norm of rows": (lambda a: np.linalg.norm(a, axis=1), (rows,)),
        "trace": (np.trace, (whole,)),
        "dot": (lambda a, b: np.dot(a, b), (rows, vector)),
        "vdot": (np.vdot, (((8,), ("y",)), ((8,), ("y",)))),
        "matvec": (lambda a, b: a @ b, (rows, ((8,), (None,)))),
        "tensordot": (lambda a, b: np.tensordot(a, b, 1), (rows, columns)),
        "einsum of a batch": (
            lambda a, b: np.einsum("bij,bjk->bik", a, b),
            (((4, 2, 8), ("x", None, None)), ((4, 8, 4), ("x", None, "y"))),
        ),
        "einsum of three": (lambda a, b, c: np.einsum("ij,jk,kl->il", a, b, c), (rows, whole, columns)),
        "einsum sum": (lambda a: np.einsum("ij->i", a), (rows,)),
        "einsum diagonal": (lambda a: np.einsum("ij,ij->i", a, a), (both,)),
        "convolution": (lambda a, k: lax.conv(a, k, (1, 1), "SAME"), (images, kernel)),
        "convolution, gradient": (
            lambda a, k: api.grad(lambda k: (lax.conv(a, k, (1, 1), "SAME") ** 2).sum())(k), (images, kernel)
        ),
        "convolution, both gradients": (
            api.grad(convolved, (0, 1)), (images, kernel)
        ),
        "pooling": (
            lambda a: lax.reduce_window(a, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), (images,)
        ),
        "pooling, gradient": (
            api.grad(lambda a: lax.reduce_window(a, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID").sum()),
            (images,),
        ),
        "average pooling": (
            lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "SAME"), (images,)
        ),
        "cast": (lambda a: a.astype("bfloat16").astype("int32"), (both,)),
        "complex": (lambda a: (a + 1j).real, (both,)),
        "fourier": (lambda a: np.fft.rfft(a).real, (rows,)),
        "cholesky": (lambda a: np.linalg.cholesky(a @ np.swapaxes(a, 1, 2) + 8 * np.eye(4)), matrices),
        "solve": (lambda a: np.linalg.solve(a + 8 * np.eye(4), np.ones((2, 4, 1))), matrices),
        "inverse": (lambda a: np.linalg.inv(a + 8 * np.eye(4)), matrices),
        "segments": (lambda a: api.ops.segment_sum(a, np.arange(8) // 2, 4), (columns,)),
        "histogram": (lambda a: np.bincount((a[0] > 0).astype(int), length=2), (whole,)),
        "searchsorted": (lambda a: np.searchsorted(np.arange(8.0), a), (rows,)),
        "interp": (lambda a: np.interp(a, np.arange(8.0), np.arange(8.0)), (rows,)),
        "polyval": (lambda a: np.polyval(np.ones(3), a), (rows,)),
        "like": (lambda a: (np.zeros_like(a), np.ones_like(a), np.full_like(a, 2), np.empty_like(a) * 0), (both,)),
        "shape of": (lambda a: np.zeros(a.shape) + a, (both,)),
        "stopped": (api.grad(lambda a: (lax.stop_gradient(a) * a).sum()), (both,)),
        "barrier": (lambda a: lax.optimization_barrier(a), (both,)),
        "jit within": (lambda a: api.jit(lambda a: a * 2)(a).sum(0), (both,)),
        "constants": (lambda a: a + numpy.ones((8, 8), "float32") + np.ones(8), (both,)),
        "callback": (
            lambda a: api.pure_callback(lambda v: numpy.asarray(v) * 2, api.ShapeDtypeStruct((), "float32"), a.sum()),
            (both,),
        ),
        "nonzero": (lambda a: np.nonzero(a[0] > -2, size=4)[0], (whole,)),
        "unique": (lambda a: np.unique((a * 0).astype(int), size=2), (whole,)),
        "cov": (lambda a: np.cov(a), (rows,)),
        "median": (lambda a: np.median(a, 1), (rows,)),
        "percentile": (lambda a: np.percentile(a, 50, axis=1), (rows,)),
        "diff": (lambda a: np.diff(a, axis=1), (rows,)),
        "kron": (lambda a: np.kron(a, np.ones((1, 2))), (rows,)),
        "isnan": (lambda a: np.nan_to_num(a / a), (both,)),
        "power": (lambda a: np.abs(a) ** 0.5 + a**3, (both,)),
        "mod": (lambda a: (a * 10).astype(int) % 3, (both,)),
        "atan": (np.arctan2, (both, both)),
        "erf": (lax.erf, (both,)),
        "cumulative max": (lambda a: lax.cummax(a, 1), (rows,)),
        "reference": (lambda a: reference(api, a), (both,)),
        "reference, gradient": (api.grad(lambda a: reference(api, a).sum()), (both,)),
        "linear solve": (half, (both,)),
        "linear solve, gradient": (api.grad(lambda a: (half(a) ** 2).sum()), (both,)),
        "policy": (api.grad(lambda a: twice(a).sum()), (both,)),
        "named": (lambda a: api.ad_checkpoint.checkpoint_name(a * 2, "a"), (both,)),
        "fori, gradient": (api.grad(lambda a: lax.fori_loop(0, 3, lambda i, c: np.sin(c), a).sum()), (both,)),
        "cond, gradient": (api.grad(lambda a: lax.cond(a.sum() > 0, np.sin, np.cos, a).sum()), (rows,)),
        "accumulated": (lambda a, w: accumulated(a.reshape(2, 4, 8), w), (whole, whole)),
        "accumulated over cut batches": (accumulated, (((3, 8, 8), (None, "x", None)), whole)),
        "in_shardings": (lambda a: api.jit(lambda a: a * 2, in_shardings=P("x", "y"))(a), (both,)),
        "arange, stated": (lambda a: a + np.arange(8.0), (both,)),
        "zeros, stated": (lambda a: np.zeros((8, 8), out_sharding=P("x", None)) + a, (both,)),
        "full, stated": (lambda a: np.full((8, 8), 2.0, out_sharding=P("x", "y")) * 1, (whole,)),
        "list": (lambda a: np.array([a.sum(), a.max()]), (both,)),
        "average": (lambda a, w: np.average(a, axis=1, weights=w[0]), (rows, whole)),
        "column of logits": (lambda a: a[:, 0] * 2, (rows,)),
        "boolean mask": (lambda a: np.where(a[:, 0] > 0, 1, 0)[:, None] * a, (rows,)),
        "one-hot": (lambda a: api.nn.one_hot(a.argmax(1), 8), (rows,)),
        "vmap of an index": (api.vmap(lambda r, i: r[i.astype(int)]), (rows, ((8,), ("x",)))),
        "vmap of a norm": (api.vmap(lambda r: r / np.linalg.norm(r)), (rows,)),
        "vmap in jit": (lambda a: api.vmap(api.jit(lambda r: r * 2))(a), (rows,)),
        "vmap with weights": (lambda a, w: api.vmap(lambda r: np.tanh(r @ w) @ w.T)(a), (rows, whole)),
        "per-example gradients": (
            lambda a, w: api.vmap(api.grad(lambda w, r: (np.tanh(r @ w) ** 2).sum()), (None, 0))(w, a), (rows, whole)
        ),
        "vmap of vmap": (api.vmap(api.vmap(lambda v: v * v)), (both,)),
        "mapped fast": (api.vmap(lambda r: np.cumsum(r) + np.sort(r)), (rows,)),
        "jvp": (lambda a: api.jvp(lambda a: np.sin(a).sum(1), (a,), (np.ones_like(a),)), (both,)),
        "vjp with ones like": (lambda a: api.vjp(np.sin, a)[1](np.ones_like(a)), (both,)),
        "vjp with plain ones": (lambda a: api.vjp(np.sin, a)[1](np.ones(a.shape)), (both,)),
        "eval shape": (lambda a: np.zeros(api.eval_shape(lambda a: a.T, a).shape) + a, (both,)),
        "power iteration": (
            lambda a, v: lax.fori_loop(0, 3, lambda i, v: (a.T @ (a @ v)) / 8, v), (whole, ((8,), (None,)))
        ),
        "weights of two axes": (lambda a, w: a @ w, (((8, 4), ("x", None)), ((4, 8), (None, "y")))),
        "sharded weights": (
            lambda a, w: a @ reshard(w, P(None, None)), (((8, 8), (("x", "y"), None)), ((8, 8), (("x", "y"), None)))
        ),
        "batch over both": (lambda a, w: np.tanh(a @ w).mean(), (((8, 8), (("x", "y"), None)), whole)),
        "batch over both, gradient": (
            lambda a, w: api.grad(lambda w: np.tanh(a @ w).mean())(w), (((8, 8), (("x", "y"), None)), whole)
        ),
        "float0": (lambda a: api.grad(lambda a, n: (a * n).sum(), allow_int=True)(a, 2), (both,)),
    }  # fmt: skip


def reference(api: Any, a: Any) -> Any:
    """A sum kept in a reference."""
    ref = api.new_ref(api.numpy.zeros_like(a))
    ref[...] += a
    ref[...] = ref[...] * 2
    return ref[...]


def random_case(api: Any, np: Any, lax: Any, P: Any, seed: int) -> Case:
    """A function of two matrices, of a few operations in a row, and how these are sharded."""
    random = Random(seed)
    specs = [(None, None), ("x", None), (None, "y"), ("x", "y"), ("y", None), (("x", "y"), None)]
    unary = [
        np.sin, lambda a: a * 2 + 1, lambda a: a.T, lambda a: a[:, ::-1], lambda a: np.where(a > 0, a, 0.0),
        lambda a: a - a.mean(1, keepdims=True), lambda a: a / (1 + np.abs(a).sum(0)), lambda a: np.cumsum(a, 1),
        lambda a: a.reshape(8, 4, 2).reshape(8, 8), lambda a: a.reshape(2, 4, 8).reshape(8, 8), lambda a: np.sort(a, 0),
        lambda a: a + a.sum(0)[None], lambda a: a * a[:, :1], lambda a: a.reshape(4, 2, 8).sum(1).repeat(2, 0),
        lambda a: np.concatenate([a[:, 4:], a[:, :4]], 1), lambda a: np.stack([a, a], 1).sum(1),
        lambda a: a.at[0].multiply(2.0), lambda a: a.at[:, 1].set(0.5), lambda a: a[np.arange(8)[::-1]],
        lambda a: np.pad(a, ((0, 0), (0, 8)))[:, :8], lambda a: api.vmap(lambda r: r * r.sum())(a),
        lambda a: api.vmap(lambda r: r - r.max(), in_axes=1, out_axes=1)(a), api.nn.softmax, api.checkpoint(np.cos),
        lambda a: lax.scan(lambda c, r: (c + r.sum(), r * c), np.float32(0), a)[1],
        lambda a: lax.fori_loop(0, 2, lambda i, c: c * 0.5, a), lambda a: api.sharding.reshard(a, P("x", None)),
        lambda a: api.sharding.reshard(a, P(None, "y")), lambda a: np.tril(a), lambda a: np.einsum("ij->ji", a),
        lambda a: np.broadcast_to(a[None], (2, 8, 8)).sum(0), lambda a: np.expand_dims(a, 1).squeeze(1),
        lambda a: lax.cond(a.sum() > 0, lambda a: a, lambda a: a * 3, a), lambda a: np.roll(a, 1, 1),
        lambda a: lax.dynamic_update_slice(a, a[:, :2] * 2, (0, 3)), lambda a: api.jit(np.tanh)(a),
    ]  # fmt: skip
    binary = [
        np.add, lambda a, b: a * b[0], lambda a, b: a @ b, lambda a, b: np.where(a > b, a, b), lambda a, b: a @ b.T,
        lambda a, b: np.concatenate([a, b], 1)[:, :8], lambda a, b: np.einsum("ij,ij->i", a, b)[:, None] * a,
        lambda a, b: np.matmul(a, b, out_sharding=P("x", None)), lambda a, b: api.vmap(np.dot)(a, b)[:, None] + a,
        lambda a, b: np.stack([a, b]).sum(0), lambda a, b: lax.dynamic_update_slice(a, b[:, :4], (0, 2)),
    ]  # fmt: skip
    first, last = random.choices(unary, k=2), random.choices(unary, k=2)
    join, gradient = random.choice(binary), random.random() < 0.5

    def run(a: Any, b: Any) -> Any:
        for function in first:
            a = function(a)
        a = join(a, b)
        for function in last:
            a = function(a)
        return a

    function = api.grad(lambda a, b: (run(a, b) ** 2).sum(), (0, 1)) if gradient else run
    return function, (((8, 8), random.choice(specs)), ((8, 8), random.choice(specs)))


def outcome(api: Any, P: Any, mesh: Any, case: Case, numbers: bool) -> Any:
    """For each result its dtype and how its type says that it is cut, and the numbers if asked; or the error."""
    function, operands = case
    sharding = api.sharding.NamedSharding
    try:
        args = [
            api.device_put(contents(shape, number), sharding(mesh, P(*spec)))
            for number, (shape, spec) in enumerate(operands)
        ]
        if not numbers:
            return [(str(aval.dtype), str(aval.sharding.spec)) for aval in api.make_jaxpr(function)(*args).out_avals]
        found = api.tree.leaves(api.jit(function)(*args))
        for leaf in found:
            stated = api.typeof(leaf).sharding.spec
            assert mesh.auto_axes or leaf.sharding.is_equivalent_to(sharding(mesh, stated), leaf.ndim), stated
        return [numpy.asarray(leaf, complex if leaf.dtype.kind == "c" else float).tolist() for leaf in found]
    except Exception as error:  # whatever it is, it is compared
        return f"{type(error).__name__}: {error}"


def main(library: str, path: str, what: str, kind: str, seeds: str) -> None:
    """Write what programs give: their "types" or "numbers", over a mesh of axes of a `kind`."""
    if library == "jax":
        import jax as api
    else:
        import tangrad as api
    np, lax, P = api.numpy, api.lax, api.sharding.PartitionSpec
    mesh = api.make_mesh(tuple(SIZES.values()), tuple(SIZES), axis_types=(api.sharding.AxisType[kind],) * len(SIZES))
    with api.set_mesh(mesh):
        cases = programs(api, np, lax, P)
        cases |= {f"seed {seed}": random_case(api, np, lax, P, seed) for seed in range(*map(int, seeds.split(":")))}
        found = {name: outcome(api, P, mesh, case, what == "numbers") for name, case in cases.items()}
    with open(path, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
