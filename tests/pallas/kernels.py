"""Kernels written once for Tangrad and for JAX: each is a function of a namespace, `of(tangrad)` or `of(jax)`."""

from functools import partial
from types import SimpleNamespace

import numpy as np

import tangrad
import tangrad.experimental.pallas.tpu
import tangrad.experimental.pallas.triton


def of_tangrad():
    pl = tangrad.experimental.pallas
    return _namespace(tangrad, pl, pl.tpu, pl.triton.load, pl.triton.store)


def of_jax():
    import jax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu, triton

    return _namespace(jax, pl, tpu, triton.load, triton.store)


def _namespace(module, pl, tpu, load, store):
    call = partial(pl.pallas_call, interpret=True)
    struct = module.ShapeDtypeStruct
    return SimpleNamespace(
        module=module, np=module.numpy, lax=module.lax, pl=pl, tpu=tpu, call=call, struct=struct, load=load, store=store
    )


def draw(*shape, dtype="float32", seed=0):
    """Numbers of any dtype."""
    generator = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return generator.random(shape) < 0.5
    if dtype.startswith(("int", "uint")):
        return generator.integers(0, 50, shape).astype(dtype)
    return generator.normal(size=shape).astype(dtype)


def product(m, sizes=(20, 24, 18), block=(8, 16, 6)):
    """x @ y by blocks, with scratch memory for the sum; blocks overhang where sizes are no multiples."""

    def kernel(x_ref, y_ref, o_ref, sum_ref):
        inner = block[1]

        @m.pl.when(m.pl.program_id(2) == 0)
        def _():
            sum_ref[...] = m.np.zeros_like(sum_ref)

        inside = m.pl.program_id(2) * inner + m.lax.broadcasted_iota("int32", (1, inner), 1) < sizes[1]
        x, y = m.np.where(inside, x_ref[...], 0), m.np.where(inside.T, y_ref[...], 0)
        sum_ref[...] += m.np.dot(x, y)

        @m.pl.when(m.pl.program_id(2) == m.pl.num_programs(2) - 1)
        def _():
            o_ref[...] = sum_ref[...].astype(o_ref.dtype)

    i, k, j = block
    return m.call(
        kernel,
        m.struct((sizes[0], sizes[2]), "float32"),
        grid=tuple(m.pl.cdiv(size, part) for size, part in zip((sizes[0], sizes[2], sizes[1]), (i, j, k))),
        in_specs=[m.pl.BlockSpec((i, k), lambda i, j, k: (i, k)), m.pl.BlockSpec((k, j), lambda i, j, k: (k, j))],
        out_specs=m.pl.BlockSpec((i, j), lambda i, j, k: (i, j)),
        scratch_shapes=[m.tpu.VMEM((i, j), "float32")],
    )


def attention(m, block=8):
    """Causal attention in one pass over the keys, as flash attention has it; heads and batch are squeezed."""

    def kernel(q_ref, k_ref, v_ref, o_ref, most_ref, total_ref, sum_ref):
        row, column = m.pl.program_id(2), m.pl.program_id(3)

        @m.pl.when(column == 0)
        def _():
            most_ref[...] = m.np.full_like(most_ref, -m.np.inf)
            total_ref[...], sum_ref[...] = m.np.zeros_like(total_ref), m.np.zeros_like(sum_ref)

        @m.pl.when(column <= row)
        def _():
            scores = m.lax.dot_general(q_ref[...], k_ref[...], (((1,), (1,)), ((), ())))
            place = lambda first, axis: first * block + m.lax.broadcasted_iota("int32", (block, block), axis)
            scores = m.np.where(place(row, 0) >= place(column, 1), scores, -1e30)
            most = m.np.maximum(most_ref[...], scores.max(axis=1, keepdims=True))
            weights, before = m.np.exp(scores - most), m.np.exp(most_ref[...] - most)
            total_ref[...] = before * total_ref[...] + weights.sum(axis=1, keepdims=True)
            sum_ref[...] = before * sum_ref[...] + m.np.dot(weights, v_ref[...])
            most_ref[...] = most

        @m.pl.when(column == m.pl.num_programs(3) - 1)
        def _():
            o_ref[...] = sum_ref[...] / total_ref[...]

    def call(q, k, v):
        batch, heads, length, size = q.shape
        rows = m.pl.BlockSpec((None, None, block, size), lambda b, h, i, j: (b, h, i, 0))
        columns = m.pl.BlockSpec((None, None, block, size), lambda b, h, i, j: (b, h, j, 0))
        return m.call(
            kernel,
            m.struct(q.shape, q.dtype),
            grid=(batch, heads, length // block, length // block),
            in_specs=[rows, columns, columns],
            out_specs=rows,
            scratch_shapes=[m.tpu.VMEM((block, n), "float32") for n in (1, 1, size)],
        )(q, k, v)

    return call


def overhanging(m, dtype="float32"):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + x_ref[...]

    blocks = m.pl.BlockSpec((4, 4), lambda i, j: (i, j))
    return m.call(kernel, m.struct((10, 7), dtype), grid=(3, 2), in_specs=[blocks], out_specs=blocks)


def copied(m, dtype="float32"):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    blocks = m.pl.BlockSpec((4,), lambda i: (i,))
    return m.call(kernel, m.struct((16,), dtype), grid=4, in_specs=[blocks], out_specs=blocks)


def in_place(m):
    """A result that starts as the second operand, and one that nothing is written to."""

    def kernel(x_ref, y_ref, o_ref, rest_ref):
        o_ref[...] = o_ref[...] * 2 + x_ref[...]

        @m.pl.when(m.pl.program_id(0) == 1)
        def _():
            rest_ref[...] = y_ref[...].astype("int32")

    blocks = m.pl.BlockSpec((3,), lambda i: (i,))
    results = m.struct((9,), "float32"), m.struct((9,), "int32")
    specs = {"in_specs": [blocks, blocks], "out_specs": (blocks, blocks), "input_output_aliases": {1: 0}}
    return m.call(kernel, results, grid=(3,), **specs)


def prefetched(m):
    """Rows in an order that scalars say, times a scalar that the kernel sees."""

    def kernel(order_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * order_ref[m.pl.program_id(0)]

    spec = m.tpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(3, 2),
        in_specs=[m.pl.BlockSpec((1, 2), lambda i, j, order: (order[i], j))],
        out_specs=m.pl.BlockSpec((1, 2), lambda i, j, order: (i, j)),
    )
    return m.call(kernel, m.struct((3, 4), "float32"), grid_spec=spec)


def windows(m):
    """Sums over windows that overlap, with padding at both ends that is masked."""

    def kernel(x_ref, o_ref):
        place = m.pl.program_id(0) - 1 + m.lax.broadcasted_iota("int32", (3,), 0)
        o_ref[0] = m.np.sum(m.np.where((place >= 0) & (place < 8), x_ref[...], 0))

    parts = m.pl.BlockSpec((m.pl.Element(3, (1, 1)),), lambda i: (i,))
    return m.call(
        kernel,
        m.struct((8,), "float32"),
        grid=(8,),
        in_specs=[parts],
        out_specs=m.pl.BlockSpec((1,), lambda i: (i,)),
    )


def indices(m):
    """Places of the grid, written one by one: arithmetic with program ids."""

    def kernel(o_ref):
        i, j, k = (m.pl.program_id(axis) for axis in range(3))
        o_ref[i, j, k] = 100 * i + 10 * j + k + m.pl.num_programs(1) * 1000

    return m.call(kernel, m.struct((2, 3, 2), "int32"), grid=(2, 3, 2))


def masked(m):
    """Parts that start where the program says, and overhang."""

    def kernel(x_ref, o_ref):
        start = m.pl.program_id(0) * 4
        inside = start + m.np.arange(4) < 10
        value = m.load(x_ref.at[m.pl.ds(start, 4)], mask=inside, other=-1.0)
        m.store(o_ref.at[m.pl.ds(start, 4)], value * 2, mask=inside & (value > -0.5))

    def call(x):
        return m.call(kernel, m.struct((10,), "float32"), grid=(3,), input_output_aliases={0: 0})(x)

    return call


def rows(m):
    """Loops within a kernel that read and write rows, and parts with a stride."""

    def kernel(x_ref, y_ref, o_ref):
        def body(i, total):
            o_ref[i, :] = x_ref[i, :] + total
            return total + m.np.sum(y_ref[m.pl.ds(i, 3, 2)])

        m.lax.fori_loop(0, x_ref.shape[0], body, 0.0)

        @m.pl.loop(0, 4, step=2)
        def _(i):
            o_ref[i, m.pl.ds(1, 2)] += 10.0

    return m.call(kernel, m.struct((5, 3), "float32"))


def trees(m):
    """Operands and results in trees, scratch memory by name, a kernel that is a partial application."""

    def kernel(factor, xs, y_ref, out, *, kept):
        kept[...] = xs["a"][...] * factor
        out["sum"][...] = kept[...] + y_ref[...]
        out["least"][0] = m.np.min(xs["b"][...])

    result = {"sum": m.struct((3,), "float32"), "least": m.struct((1,), "int32")}
    scratch = {"kept": m.tpu.VMEM((3,), "float32")}
    return m.call(partial(kernel, 2.0), result, scratch_shapes=scratch)


# Name -> the kernel, and its operands.
CASES = {
    "product": (product, (draw(20, 24), draw(24, 18))),
    "attention": (attention, tuple(draw(2, 2, 32, 8, seed=n) for n in range(3))),
    "overhanging": (overhanging, (draw(10, 7),)),
    "in_place": (in_place, (draw(9), draw(9, seed=1))),
    "prefetched": (prefetched, (np.array([2, 0, 1], "int32"), draw(3, 4))),
    "windows": (windows, (draw(8),)),
    "indices": (indices, ()),
    "masked": (masked, (draw(10),)),
    "rows": (rows, (draw(5, 3), draw(12))),
    "trees": (trees, ({"a": draw(3), "b": draw(4, dtype="int32")}, draw(3))),
}
