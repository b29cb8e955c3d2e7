"""Small programs with control flow, written once against names that `jax` and `tangrad` share.

Each is a function of an API that returns a function of arrays; beside it stand its arguments. The first argument is
what gradients are taken with respect to.
"""

import numpy as np

PROGRAMS = {}


def program(*args, grad=True, mapped=True):
    """Register a program: `grad`, whether it has reverse-mode derivatives; `mapped`, whether vmap makes sense."""

    def register(make):
        PROGRAMS[make.__name__] = (make, args, grad, mapped)
        return make

    return register


def vector(n=3, seed=0):
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


def matrix(m=3, n=3, seed=0):
    return (np.random.default_rng(seed).normal(size=(m, n)) * 0.5).astype(np.float32)


ONE = np.float32(0.7)


# --- cond ------------------------------------------------------------------------------------------------------------


@program(ONE)
def cond_of_operand(api):
    return lambda x: api.lax.cond(x > 0.5, lambda y: api.numpy.sin(y) * y, lambda y: y * 3, x)


@program(np.float32(-0.7))
def cond_false(api):
    return lambda x: api.lax.cond(x > 0.5, lambda y: api.numpy.sin(y) * y, lambda y: api.numpy.exp(y) * 3, x)


@program(ONE)
def cond_of_closures(api):
    return lambda x: api.lax.cond(x > 0.5, lambda: x * x * x, lambda: api.numpy.cos(x))


@program(vector(), vector(seed=1))
def cond_with_trees(api):
    def f(x, y):
        out = api.lax.cond(
            x[0] > 0,
            lambda t: {"a": t["a"] * 2, "b": api.numpy.sin(t["b"])},
            lambda t: {"a": t["b"] * t["a"], "b": t["a"]},
            {"a": x, "b": y},
        )
        return api.numpy.sum(out["a"] * out["b"])

    return f


@program(ONE)
def cond_old_form(api):
    return lambda x: api.lax.cond(x > 0.5, x, lambda y: y * y, 2 * x, lambda y: y * 5)


@program(ONE)
def cond_operand_keyword(api):
    return lambda x: api.lax.cond(x > 0.5, lambda y: y * y, lambda y: y * 5, operand=x)


@program(ONE)
def cond_number_as_predicate(api):
    return lambda x: api.lax.cond(3, lambda y: y * y, lambda y: y * 5, x)


@program(vector())
def cond_in_cond(api):
    def f(x):
        def inner(y):
            return api.lax.cond(y[1] > 0, lambda z: z * z, lambda z: api.numpy.exp(z), y)

        return api.numpy.sum(api.lax.cond(x[0] > 0, inner, lambda y: inner(y * 2) * y, x))

    return f


@program(ONE)
def cond_constant_branch(api):
    return lambda x: api.lax.cond(x > 0.5, lambda y: api.numpy.float32(2.0), lambda y: y * y, x)


@program(vector())
def cond_differs_in_residuals(api):
    def f(x):
        return api.numpy.sum(
            api.lax.cond(
                api.numpy.sum(x) > 0,
                lambda y: api.numpy.tanh(api.numpy.sin(y) * api.numpy.exp(y)),
                lambda y: y * api.numpy.sum(y),
                x,
            )
        )

    return f


@program(np.int32(1), vector(), grad=False)
def switch_by_index(api):
    def f(i, x):
        branches = [lambda y: y, lambda y: api.numpy.sin(y), lambda y: y * y, lambda y: api.numpy.exp(y)]
        return api.lax.switch(i, branches, x)

    return f


@program(vector(), np.int32(7))
def switch_beyond_the_end(api):
    def f(x, i):
        branches = [lambda y: y, lambda y: api.numpy.sin(y), lambda y: y * y * y]
        return api.numpy.sum(api.lax.switch(i, branches, x))

    return f


@program(vector(), np.int8(-3))
def switch_below_the_start(api):
    def f(x, i):
        return api.numpy.sum(api.lax.switch(i, [lambda y: y * y, lambda y: api.numpy.sin(y)], x))

    return f


@program(vector(), np.array([0, 2, 1], np.int32), mapped=False)
def switch_mapped_index(api):
    def f(x, i):
        branches = [lambda y: y * y, lambda y: api.numpy.sin(y), lambda y: api.numpy.exp(y)]
        return api.numpy.sum(api.vmap(lambda k, y: api.lax.switch(k, branches, y))(i, x))

    return f


# --- while and fori --------------------------------------------------------------------------------------------------


@program(ONE, grad=False)
def while_doubling(api):
    return lambda x: api.lax.while_loop(lambda y: y < 100, lambda y: y * 2 + 1, x)


@program(ONE, grad=False)
def while_counting(api):
    def f(x):
        out = api.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, api.numpy.sin(s[1]) * x), (0, x))
        return out[1]

    return f


@program(vector(), grad=False)
def while_with_closures(api):
    def f(x):
        limit = api.numpy.max(x) + 20
        return api.lax.while_loop(lambda y: api.numpy.sum(y) < limit, lambda y: y * 1.5 + api.numpy.abs(x), x)

    return f


@program(vector(), grad=False)
def while_never(api):
    return lambda x: api.lax.while_loop(lambda y: y[0] > 1e6, lambda y: y * 2, x)


@program(vector(), grad=False)
def while_with_dictionary(api):
    def f(x):
        start = {"i": 0, "x": x, "rest": (x * 2, None)}

        def body(s):
            return {"i": s["i"] + 1, "x": s["rest"][0], "rest": (s["x"] + s["i"], None)}

        return api.lax.while_loop(lambda s: s["i"] < 3, body, start)["x"]

    return f


@program(np.float32(0.0), grad=False, mapped=False)
def while_weak_start(api):
    return lambda x: api.lax.while_loop(lambda y: y < 10, lambda y: y + api.numpy.float32(2.5), 0) + x


@program(vector(5))
def fori_static(api):
    return lambda x: api.numpy.sum(api.lax.fori_loop(0, 4, lambda i, y: api.numpy.sin(y) * (i + 1), x))


@program(vector(5))
def fori_indexing(api):
    def f(x):
        return api.lax.fori_loop(0, 5, lambda i, total: total * 0.5 + api.lax.dynamic_index_in_dim(x, i, 0, False), 0.0)

    return f


@program(vector(5))
def fori_from_two(api):
    return lambda x: api.numpy.sum(api.lax.fori_loop(2, 5, lambda i, y: y * y + i, x))


@program(vector(5))
def fori_empty(api):
    return lambda x: api.numpy.sum(api.lax.fori_loop(5, 2, lambda i, y: y * y + i, x))


@program(vector(5))
def fori_unrolled(api):
    return lambda x: api.numpy.sum(api.lax.fori_loop(0, 5, lambda i, y: api.numpy.cos(y) + i, x, unroll=2))


@program(vector(4), np.int32(3), grad=False)
def fori_dynamic(api):
    return lambda x, n: api.lax.fori_loop(0, n, lambda i, y: api.numpy.sin(y) * (i + 1), x)


@program(np.int16(2), np.int16(6), grad=False)
def fori_dtype_of_index(api):
    return lambda a, b: api.lax.fori_loop(a, b, lambda i, y: y + i, a)


@program(vector(4))
def fori_of_fori(api):
    def f(x):
        def outer(i, y):
            return api.lax.fori_loop(0, 3, lambda j, z: api.numpy.sin(z) + i * j, y)

        return api.numpy.sum(api.lax.fori_loop(0, 3, outer, x))

    return f


# --- scan ------------------------------------------------------------------------------------------------------------


@program(ONE, vector(5))
def scan_product(api):
    def f(x, xs):
        last, ys = api.lax.scan(lambda c, y: (c * y, c + y), x, xs)
        return last + api.numpy.sum(ys * ys)

    return f


@program(vector(5), ONE)
def scan_gradient_of_xs(api):
    def f(xs, x):
        last, ys = api.lax.scan(lambda c, y: (api.numpy.sin(c) * y, c * y), x, xs)
        return last * api.numpy.sum(ys)

    return f


@program(vector(5), ONE)
def scan_reverse(api):
    def f(xs, x):
        last, ys = api.lax.scan(lambda c, y: (api.numpy.sin(c) * y, c * y), x, xs, reverse=True)
        return last * api.numpy.sum(ys * api.numpy.arange(5.0))

    return f


@program(vector(5), ONE)
def scan_unrolled(api):
    def f(xs, x):
        last, ys = api.lax.scan(lambda c, y: (api.numpy.sin(c) * y, c * y), x, xs, unroll=2)
        return last * api.numpy.sum(ys * api.numpy.arange(5.0))

    return f


@program(vector(5), ONE)
def scan_unrolled_reverse(api):
    def f(xs, x):
        last, ys = api.lax.scan(lambda c, y: (api.numpy.sin(c) * y, c * y), x, xs, unroll=3, reverse=True)
        return last * api.numpy.sum(ys * api.numpy.arange(5.0))

    return f


@program(vector(4), ONE)
def scan_unrolled_whole(api):
    def f(xs, x):
        last, ys = api.lax.scan(lambda c, y: (api.numpy.sin(c) * y, c * y), x, xs, unroll=True)
        return last * api.numpy.sum(ys)

    return f


@program(ONE)
def scan_length_only(api):
    def f(x):
        last, ys = api.lax.scan(lambda c, _: (c * x, api.numpy.sin(c)), 1.0, None, length=4)
        return last + api.numpy.sum(ys)

    return f


@program(ONE)
def scan_empty(api):
    def f(x):
        last, ys = api.lax.scan(lambda c, _: (c * x, api.numpy.sin(c)), x, None, length=0)
        return last + api.numpy.sum(ys)

    return f


@program(vector(4))
def scan_without_carry(api):
    return lambda xs: api.numpy.sum(api.lax.scan(lambda c, x: (c, api.numpy.sin(x) * x), None, xs)[1])


@program(vector(4))
def scan_without_results(api):
    return lambda xs: api.lax.scan(lambda c, x: (c * api.numpy.cos(x), None), 1.0, xs)[0]


@program(matrix(3, 3), matrix(4, 3, 1))
def scan_recurrent(api):
    def f(w, xs):
        def step(h, x):
            h = api.numpy.tanh(api.numpy.dot(w, h) + x)
            return h, h

        last, hs = api.lax.scan(step, api.numpy.zeros(3), xs)
        return api.numpy.sum(hs * hs) + api.numpy.sum(last)

    return f


@program(matrix(8, 4), matrix(3, 2, 1), matrix(5, 2, 2), mapped=False)
def scan_lstm(api):
    def f(w, _, xs):
        def step(carry, x):
            h, c = carry
            gates = api.numpy.dot(w, api.numpy.concatenate([x, h]))
            i, g, o, k = api.numpy.split(gates, 4)
            c = api.nn.sigmoid(k) * c + api.nn.sigmoid(i) * api.numpy.tanh(g)
            h = api.nn.sigmoid(o) * api.numpy.tanh(c)
            return (h, c), h

        start = api.numpy.zeros(2), api.numpy.zeros(2)
        (h, c), hs = api.lax.scan(step, start, xs)
        return api.numpy.sum(hs) + api.numpy.sum(h * c)

    return f


@program(vector(4))
def scan_trees(api):
    def f(xs):
        def step(carry, x):
            new = {"a": carry["b"] * x["x"], "b": carry["a"] + x["y"][0]}
            return new, (new["a"], [carry["b"]])

        last, (one, (two,)) = api.lax.scan(step, {"a": 1.0, "b": 2.0}, {"x": xs, "y": (xs * 2, None)})
        return last["a"] + api.numpy.sum(one * two)

    return f


@program(vector(4))
def scan_closing_over_constant(api):
    def f(xs):
        table = api.numpy.asarray(vector(4, seed=5))
        last, ys = api.lax.scan(lambda c, x: (c + api.numpy.sum(table * x), api.numpy.exp(c * 0.1)), 0.5, xs)
        return last * api.numpy.sum(ys)

    return f


@program(ONE, vector(4))
def scan_invariant_work(api):
    def f(w, xs):
        def step(c, x):
            scale = api.numpy.exp(api.numpy.sin(w))  # the same in every turn
            return c * scale + x, scale * c

        last, ys = api.lax.scan(step, 1.0, xs)
        return last + api.numpy.sum(ys)

    return f


@program(vector(4), vector(3, 1))
def scan_carry_handed_on(api):
    def f(xs, k):
        def step(carry, x):
            constant, total = carry
            return (constant, total * api.numpy.sum(constant * x)), total

        (constant, last), ys = api.lax.scan(step, (k, 1.0), xs)
        return last + api.numpy.sum(ys) + api.numpy.sum(constant)

    return f


@program(vector(4))
def scan_counter_in_carry(api):
    def f(xs):
        def step(carry, x):
            i, total = carry
            return (i + 1, total + x * i), api.numpy.where(i % 2 == 0, x, x * x)

        (_, last), ys = api.lax.scan(step, (0, 0.0), xs)
        return last * api.numpy.sum(ys)

    return f


@program(vector(4))
def scan_integers_and_floats(api):
    def f(xs):
        def step(carry, x):
            return carry + 1, (carry, x * carry)

        last, (numbers, ys) = api.lax.scan(step, api.numpy.int32(1), xs)
        return api.numpy.sum(ys * ys) + last + api.numpy.sum(numbers)

    return f


@program(matrix(3, 4))
def scan_in_scan(api):
    def f(xs):
        def outer(c, row):
            last, ys = api.lax.scan(lambda d, x: (d * 0.5 + api.numpy.sin(x), d * x), c, row)
            return last, api.numpy.sum(ys)

        last, ys = api.lax.scan(outer, 1.0, xs)
        return last + api.numpy.sum(ys * ys)

    return f


@program(vector(4))
def cond_in_scan(api):
    def f(xs):
        def step(c, x):
            c = api.lax.cond(x > 0, lambda a, b: a * b, lambda a, b: api.numpy.sin(a) + b, c, x)
            return c, c

        last, ys = api.lax.scan(step, 1.0, xs)
        return last + api.numpy.sum(ys * ys)

    return f


@program(vector(4))
def scan_in_cond(api):
    def f(xs):
        def run(x):
            return api.lax.scan(lambda c, y: (c * api.numpy.cos(y), None), 1.0, x)[0]

        return api.lax.cond(xs[0] > 0, run, lambda x: run(x * 2) * x[1], xs)

    return f


@program(vector(4), grad=False)
def while_in_scan(api):
    def f(xs):
        def step(c, x):
            c = api.lax.while_loop(lambda y: y < 5, lambda y: y * 1.7 + 1, c * 0.1 + x)
            return c, c

        return api.lax.scan(step, 1.0, xs)[1]

    return f


@program(vector(4))
def jit_in_scan(api):
    def f(xs):
        g = api.jit(lambda a, b: api.numpy.sin(a) * b)
        last, ys = api.lax.scan(lambda c, x: (g(c, x), g(x, c)), 1.0, xs)
        return last + api.numpy.sum(ys)

    return f


@program(vector(4))
def vmap_in_scan(api):
    def f(xs):
        def step(c, x):
            c = api.vmap(lambda a: api.numpy.sin(a) * x)(c)
            return c, api.numpy.sum(c)

        last, ys = api.lax.scan(step, xs, xs)
        return api.numpy.sum(last) + api.numpy.sum(ys)

    return f


@program(vector(4))
def grad_in_scan(api):
    def f(xs):
        def step(c, x):
            return c - 0.1 * api.grad(lambda a: api.numpy.sin(a) * x * a)(c), c

        last, ys = api.lax.scan(step, 1.0, xs)
        return last + api.numpy.sum(ys)

    return f


@program(vector(4))
def jvp_of_scan(api):
    def f(xs):
        def g(x):
            return api.lax.scan(lambda c, y: (api.numpy.sin(c) * y, c * y), x, xs)

        (last, ys), (dlast, dys) = api.jvp(g, (xs[0],), (1.0,))
        return last * dlast + api.numpy.sum(ys * dys)

    return f


@program(vector(4))
def scan_duplicate_results(api):
    def f(xs):
        def step(c, x):
            y = api.numpy.exp(c * x * 0.3)
            return y, (y, y, c, x)

        last, (a, b, c, d) = api.lax.scan(step, 1.0, xs)
        return last + api.numpy.sum(a * b + c * d)

    return f


@program(vector(4))
def scan_complex(api):
    def f(xs):
        last, ys = api.lax.scan(lambda c, x: (c * (x + 1j), c * c), api.numpy.complex64(1.0), xs)
        return api.numpy.real(last) + api.numpy.sum(api.numpy.abs(ys))

    return f


# --- map and associative_scan ----------------------------------------------------------------------------------------


@program(matrix(5, 3))
def map_rows(api):
    return lambda x: api.numpy.sum(api.lax.map(lambda row: api.numpy.sin(row) * api.numpy.sum(row), x))


@program(matrix(5, 3))
def map_in_batches(api):
    def f(x):
        return api.numpy.sum(api.lax.map(lambda row: api.numpy.sin(row) * api.numpy.sum(row), x, batch_size=2))

    return f


@program(matrix(4, 3))
def map_in_exact_batches(api):
    def f(x):
        return api.numpy.sum(api.lax.map(lambda row: {"a": row * api.numpy.sum(row)}, x, batch_size=2)["a"])

    return f


@program(matrix(7, 3))
def associative_sum(api):
    return lambda x: api.numpy.sum(api.lax.associative_scan(api.numpy.add, x) ** 2)


@program(matrix(6, 3))
def associative_product_reverse(api):
    return lambda x: api.numpy.sum(api.lax.associative_scan(api.numpy.multiply, x, reverse=True) ** 2)


@program(matrix(3, 5))
def associative_axis(api):
    return lambda x: api.numpy.sum(api.lax.associative_scan(api.numpy.multiply, x, axis=-1) ** 2)


@program(vector(8), vector(8, 1))
def associative_linear_recurrence(api):
    def f(a, b):
        def combine(one, other):
            return one[0] * other[0], one[1] * other[0] + other[1]

        return api.numpy.sum(api.lax.associative_scan(combine, (a, b))[1] ** 2)

    return f


@program(np.array([True, False, True]), grad=False)
def associative_or(api):
    return lambda x: api.lax.associative_scan(api.numpy.logical_or, x)
