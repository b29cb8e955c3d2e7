"""Programs that take derivatives inside of a checked `shard_map`, for JAX and for Tangrad: the same text for both.

As a script, `python -m tests.sharding.gradients_inside jax results.npz`, it runs all on a mesh of 2 x 4 devices.
"""

import sys
from typing import Any

import numpy

X = numpy.random.RandomState(0).randn(8, 4).astype("float32")
W = numpy.random.RandomState(1).randn(4, 3).astype("float32")
V = numpy.random.RandomState(2).randn(4).astype("float32")
LEFT = numpy.random.RandomState(3).randn(4, 8).astype("float32")
RIGHT = numpy.random.RandomState(4).randn(8, 2).astype("float32")
SCALE = numpy.float32(0.7)
BOTH = ("x", "y")


def programs(api: Any, np: Any, lax: Any, P: Any) -> dict[str, tuple[Any, Any, Any, tuple[Any, ...]]]:
    """name -> (function of parts, in_specs, out_specs, arguments)."""
    all_of, own = P(), P(BOTH)
    shared = (all_of, own)

    def loss(w, a):
        return (np.tanh(a @ w) ** 2).sum()

    def total(w, a):
        return lax.psum(loss(w, a), BOTH)

    def recurrence(p, a):
        def turn(carry, row):
            carry = np.tanh(carry * p + row)
            return carry, carry.sum()

        carry, sums = lax.scan(turn, a[0] * 0, a)
        return carry.sum() + sums.sum()

    def steps(of_step):
        def run(w, a):
            return lax.scan(lambda w, _: (w - 0.1 * api.grad(of_step)(w, a), None), w, None, length=3)[0]

        return run

    def layers(left, right, a):
        return lax.pmean((lax.psum(np.tanh(a @ left) @ right, "y") ** 2).sum(), "x")

    @api.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -0.1, 0.1),))

    @api.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, 3 * primals[0] * tangents[0]))

    def shifted(x):
        return lax.ppermute(x, "y", [(0, 1), (1, 2)])

    def swapped(a):
        return (lax.all_to_all(a, "y", 1, 0, tiled=True) * lax.axis_index("y")).sum()

    def scattered(p, a):
        return (lax.psum_scatter(np.sin(a * p), "y", scatter_dimension=1, tiled=True) ** 2).sum()

    by_w = lambda function: lambda w, a: api.grad(lambda w: function(w, a))(w)
    cut = (all_of, P("x"))
    return {
        "of what differs": (api.grad(lambda a: (np.sin(a) * a).sum()), (own,), own, (X,)),
        "of what is shared": (by_w(loss), shared, all_of, (W, X)),
        "shared along one axis more": (by_w(loss), cut, all_of, (W, X)),
        "of a sum": (api.value_and_grad(total), shared, all_of, (W, X)),
        "of a mean": (by_w(lambda w, a: lax.pmean(loss(w, a), BOTH)), shared, all_of, (W, X)),
        "of a sum over one axis": (by_w(lambda w, a: lax.psum(loss(w, a), "x")), shared, all_of, (W, X)),
        "of a sum of what is shared": (api.grad(lambda p: lax.psum(p * 3, "x")), (all_of,), all_of, (SCALE,)),
        "by both": (api.grad(lambda w, a: lax.psum(loss(w, a), "y"), (0, 1)), shared, shared, (W, X)),
        "by what is not used": (api.grad(lambda w, a: (a * a).sum(), (0, 1)), shared, shared, (W, X)),
        "of a bias": (by_w(lambda p, a: (p + a).sum()), shared, all_of, (V, X)),
        "auxiliary": (
            api.value_and_grad(lambda w, a: (total(w, a), a * 2), has_aux=True), shared, ((all_of, own), all_of), (W, X)
        ),
        "index": (api.grad(lambda p: p * lax.axis_index("y")), (all_of,), all_of, (SCALE,)),
        "ppermute": (by_w(lambda p, a: (shifted(a * p) * a).sum()), shared, all_of, (SCALE, X)),
        "ppermute of what is shared": (by_w(lambda p, a: (shifted(p) * a).sum()), shared, all_of, (SCALE, X)),
        "all_gather": (api.grad(lambda a: (lax.all_gather(a, "y") ** 2).sum()), (P(*BOTH),), P(*BOTH), (X,)),
        "psum_scatter": (by_w(scattered), cut, all_of, (SCALE, X)),
        "all_to_all": (api.grad(swapped), (own,), own, (X,)),
        "tensor parallel": (
            api.grad(layers, (0, 1)), (P(None, "y"), P("y"), P("x")), (P(None, "y"), P("y")), (LEFT, RIGHT, X)
        ),
        "scan": (by_w(recurrence), shared, all_of, (V, numpy.tile(X, (2, 1)))),
        "steps": (steps(loss), shared, all_of, (W, X)),
        "steps of a mean": (steps(lambda w, a: lax.pmean(loss(w, a), BOTH)), shared, all_of, (W, X)),
        "checkpoint": (by_w(lambda w, a: lax.psum(api.checkpoint(loss)(w, a), BOTH)), shared, all_of, (W, X)),
        "jit inside": (api.grad(api.jit(total)), shared, all_of, (W, X)),
        "vmap of grad": (api.vmap(api.grad(lambda p, r: (p * r).sum()), (None, 0)), cut, P(None), (V, X)),
        "vmap over weights": (api.vmap(by_w(loss), (0, None)), cut, P(None), (numpy.stack([W, 2 * W]), X)),
        "jvp": (lambda w, a: api.jvp(lambda w: loss(w, a), (w,), (w,))[1][None], shared, own, (W, X)),
        "linearize": (lambda w, a: api.linearize(lambda w: loss(w, a), w)[1](w)[None], shared, own, (W, X)),
        "vjp": (lambda w, a: api.vjp(lambda w: a @ w, w)[1](a @ w), shared, all_of, (W, X)),
        "hessian": (api.hessian(lambda p, a: lax.psum((np.tanh(a @ p) ** 2).sum(), BOTH)), shared, all_of, (V, X)),
        "of a gradient": (by_w(lambda w, a: (by_w(loss)(w, a) ** 2).sum()), shared, all_of, (W, X)),
        "pcast": (lambda w, a: by_w(loss)(lax.pcast(w, BOTH, to="varying"), a)[None], shared, own, (W, X)),
        "pcast inside": (by_w(lambda w, a: loss(lax.pcast(w, "x", to="varying"), a)), shared, all_of, (W, X)),
        "rule of what is shared": (by_w(lambda w, a: total(clipped(w), a)), shared, all_of, (W, X)),
        "rule of a sum": (by_w(lambda w, a: clipped(total(w, a))), shared, all_of, (W, X)),
        "forward rule": (by_w(lambda p, a: square(p * a).sum()), shared, all_of, (SCALE, X)),
    }  # fmt: skip


def results(api: Any, np: Any, lax: Any, P: Any, mesh: Any) -> dict[str, Any]:
    """What the programs give; and gradients and maps of functions with gradients inside."""
    table = programs(api, np, lax, P)
    found = {}
    for name, (function, in_specs, out_specs, args) in table.items():
        mapped = api.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        for number, leaf in enumerate(api.tree_util.tree_leaves(api.jit(mapped)(*args))):
            found[f"{name}, result {number}"] = numpy.asarray(leaf)
    for name in ("of what is shared", "scan"):
        function, in_specs, out_specs, (first, *rest) = table[name]
        mapped = api.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        scalar = lambda value, mapped=mapped, rest=rest: (mapped(value, *rest) ** 2).sum()
        found[f"gradient of {name}"] = numpy.asarray(api.grad(scalar)(first))
        found[f"map of {name}"] = numpy.asarray(api.vmap(scalar)(numpy.stack([first, 2 * first])))
    return found


if __name__ == "__main__":
    if sys.argv[1] == "jax":
        import jax

        whole = jax.make_mesh((2, 4), BOTH, axis_types=(jax.sharding.AxisType.Auto,) * 2)
        numpy.savez(sys.argv[2], **results(jax, jax.numpy, jax.lax, jax.sharding.PartitionSpec, whole))
    else:
        import tangrad

        whole = tangrad.make_mesh((2, 4), BOTH)
        numpy.savez(sys.argv[2], **results(tangrad, tangrad.numpy, tangrad.lax, tangrad.P, whole))
