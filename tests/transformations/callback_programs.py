"""Small programs with callbacks, written once against names that `jax` and `tangrad` share.

Each is a function of an API and of `record`, which returns a function of arrays; beside it stand its arguments. What
callbacks are called with goes into the record, `record(tag, *values)`; what is printed is compared as well.
"""

import functools

import numpy as np

PROGRAMS = {}
FAILING = {}


class Program:
    """A program, its arguments, and how it is run.

    Attributes:
        modes: "eager", "jit", or both.
        ordered: whether what is recorded and printed has an order; else it is compared as a set.
        calls: how many times it is called.
    """

    def __init__(self, make, args, modes=("eager", "jit"), ordered=True, calls=1):
        self.make = make
        self.args = args
        self.modes = modes
        self.ordered = ordered
        self.calls = calls


def program(*args, table=PROGRAMS, **options):
    """Register a program."""

    def register(make):
        assert make.__name__ not in table
        table[make.__name__] = Program(make, args, **options)
        return make

    return register


failing = functools.partial(program, table=FAILING)

ONE = np.float32(0.7)
THREE = np.arange(3, dtype=np.float32)
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
INT = np.int32(4)


def like(api, x):
    return api.ShapeDtypeStruct(x.shape, x.dtype)


def scalar(api, dtype="float32"):
    return api.ShapeDtypeStruct((), dtype)


def report(api, record, tag, x, ordered=True):
    api.experimental.io_callback(lambda x: record(tag, x), None, x, ordered=ordered)


def note(api, record, tag, x, ordered=True):
    api.debug.callback(lambda x: record(tag, x), x, ordered=ordered)


# --- Programs with callbacks inside of several transformations at once ---


def noting(api, record, function, tag="x"):
    """A function whose argument is recorded."""

    def noted(x, *rest):
        note(api, record, tag, x)
        return function(x, *rest)

    return noted


@program(ONE)
def hessian(api, record):
    return api.hessian(noting(api, record, lambda x: x**3))


@program(THREE)
def both_jacobians(api, record):
    f = noting(api, record, lambda x: x**2)
    return lambda x: (api.jacrev(f)(x), api.jacfwd(f)(x))


@program(ONE)
def transposed(api, record):
    return lambda x: api.linear_transpose(noting(api, record, lambda x: 2 * x), x)(x)


@program(THREE)
def mapped_in_order(api, record):
    f = noting(api, record, lambda x: x * 2)
    return lambda x: (api.lax.map(f, x), api.lax.map(f, x, batch_size=2))


@program(THREE)
def scans_of_branches_mapped(api, record):
    def step(c, y):
        api.lax.cond(y > 1, lambda: note(api, record, "large", c), lambda: None)
        return c + y, None

    return api.vmap(lambda x: api.lax.scan(step, x, np.arange(3, dtype="float32"))[0])


@program(ONE, INT)
def gradient_of_a_switch(api, record):
    branches = [noting(api, record, lambda x, k=k: x**k, f"branch {k}") for k in (1, 2, 3)]
    return lambda x, n: api.grad(lambda x: api.lax.switch(n - 3, branches, x))(x)


@program(ONE)
def unrolled_scan(api, record):
    step = lambda c, y: (noting(api, record, lambda y: c + y)(y), None)
    return lambda x: api.lax.scan(step, x, np.arange(5, dtype="float32"), unroll=2)


@program(ONE)
def tangents_of_loops(api, record):
    double = noting(api, record, lambda c: c * 2)

    def f(x):
        grown = api.lax.while_loop(lambda c: c < 3, double, x)
        return api.lax.scan(lambda c, y: (double(c) * y, c), grown, np.arange(1, 4, dtype="float32"))

    return lambda x: api.jvp(f, (x,), (2 * x,))


@program(THREE)
def linear_solve(api, record):
    def solve(a, b):
        return api.lax.custom_linear_solve(
            noting(api, record, lambda v: a * v), b, lambda _, b: b / a, lambda _, b: b / a
        )

    return lambda x: (solve(x + 1, x), api.grad(lambda a: api.numpy.sum(solve(a, x)))(x + 1))


@program(ONE)
def root(api, record):
    def solve(f, x):
        return api.lax.fori_loop(0, 3, lambda _, v: v - f(v) / (2 * v), x)

    f = noting(api, record, lambda v: v**2 - 2)
    return lambda x: api.lax.custom_root(f, x, solve, lambda g, y: y / g(np.float32(1)))


@program(ONE)
def checkpoint_in_a_checkpoint(api, record):
    inner = api.checkpoint(noting(api, record, api.numpy.sin))
    return api.grad(api.checkpoint(lambda x: inner(x) * x))


@program(ONE)
def jitted_function_in_a_checkpoint(api, record):
    inner = api.jit(noting(api, record, api.numpy.cos))
    return api.grad(api.checkpoint(lambda x: api.numpy.cos(inner(x))))


@program(ONE)
def branch_in_a_checkpoint(api, record):
    inner = lambda x: api.lax.cond(x > 0, noting(api, record, api.numpy.cos), lambda x: x, x)
    return api.grad(api.checkpoint(lambda x: api.numpy.cos(inner(x))))


@program(ONE)
def scan_in_a_checkpoint(api, record):
    step = lambda c, _: (noting(api, record, api.numpy.cos)(c), None)
    inner = lambda x: api.lax.scan(step, x, None, length=2)[0]
    return api.grad(api.checkpoint(lambda x: api.numpy.cos(inner(x))))


# --- Programs with pure callbacks ---


@program(THREE)
def pure_of_numpy(api, record):
    return lambda x: api.pure_callback(np.sin, like(api, x), x) + 1


@program(THREE, ONE)
def pure_with_trees(api, record):
    def host(tree, *, scale):
        return {"sum": np.asarray(tree["a"]).sum(dtype="float32"), "both": [tree["a"] * scale, tree["b"]]}

    def f(x, y):
        declared = {"sum": scalar(api), "both": [like(api, x), scalar(api)]}
        return api.pure_callback(host, declared, {"a": x, "b": y}, scale=y)

    return f


@program(THREE)
def pure_list_for_tuple(api, record):
    return lambda x: api.pure_callback(lambda x: [x, 2 * x], (like(api, x), like(api, x)), x)


@program(THREE)
def pure_of_dtypes(api, record):
    def f(x):
        declared = tuple([api.ShapeDtypeStruct((3,), d) for d in ("int32", "bool", "float16", "complex64", "uint8")])
        return api.pure_callback(
            lambda x: tuple([np.asarray(x).astype(d) for d in ("int32", "bool", "float16", "complex64", "uint8")]),
            declared,
            x,
        )

    return f


@program(THREE)
def pure_of_doubles_where_they_are_off(api, record):
    return lambda x: api.pure_callback(lambda x: np.asarray(x, "float64") / 3, like(api, x), x)


@program(THREE)
def pure_of_python_numbers(api, record):
    return lambda x: api.pure_callback(lambda x: (1.5, 2), (scalar(api), scalar(api, "int32")), x)


@program(np.zeros((0, 2), np.float32))
def pure_of_empty_arrays(api, record):
    return lambda x: api.pure_callback(lambda x: np.ones((2, 0), "float32"), api.ShapeDtypeStruct((2, 0), "float32"), x)


@program()
def pure_without_arguments(api, record):
    return lambda: api.pure_callback(lambda: np.float32(2.5), scalar(api))


@program(THREE)
def pure_with_python_arguments(api, record):
    def host(x, n, scale):
        record("types", np.dtype(n.dtype).name, np.dtype(scale.dtype).name, n.shape)
        return x * scale + n

    return lambda x: api.pure_callback(host, like(api, x), x, 2, 0.5)


@program(THREE)
def pure_that_computes(api, record):
    return lambda x: api.pure_callback(lambda x: api.numpy.cumsum(api.numpy.sin(x)), like(api, x), x)


@program(THREE)
def pure_unused_in_a_compiled_program(api, record):
    def f(x):
        api.pure_callback(lambda x: record("ran") or x, like(api, x), x)
        return x * 2

    return api.jit(f)


@program(THREE, modes=("eager",))
def pure_inside_and_outside_of_jit(api, record):
    def twice(x):
        return api.pure_callback(lambda x: 2 * np.asarray(x), like(api, x), x)

    return lambda x: twice(api.jit(twice)(twice(x)))


@program(THREE)
def pure_in_a_jitted_call_twice(api, record):
    inner = api.jit(lambda x: api.pure_callback(np.cos, like(api, x), x))
    return lambda x: inner(x) + inner(x + 1)


@program(THREE)
def pure_of_a_bound_method(api, record):
    class Table:
        rows = np.arange(10, dtype="float32") ** 2

        def look_up(self, index):
            return self.rows[np.asarray(index).astype(int)]

    table = Table()
    return lambda x: api.pure_callback(table.look_up, like(api, x), x)


def mapped_methods(api, method, in_axes, f):
    def run(x, y):
        return api.vmap(lambda x, y: f(x, y, method), in_axes=in_axes)(x, y)

    return run


def shown(api, record):
    def host(x, y):
        record("shapes", x.shape, y.shape)
        return np.asarray(x) * np.asarray(y)

    return lambda x, y, method: api.pure_callback(host, scalar(api), x, y, vmap_method=method)


@program(THREE, ONE)
def mapped_sequential(api, record):
    return mapped_methods(api, "sequential", (0, None), shown(api, record))


@program(THREE, THREE)
def mapped_sequential_unrolled(api, record):
    return mapped_methods(api, "sequential_unrolled", (0, 0), shown(api, record))


@program(THREE, ONE)
def mapped_expand_dims(api, record):
    return mapped_methods(api, "expand_dims", (0, None), shown(api, record))


@program(THREE, ONE)
def mapped_broadcast_all(api, record):
    return mapped_methods(api, "broadcast_all", (0, None), shown(api, record))


@program(THREE, ONE)
def mapped_legacy_vectorized(api, record):
    return mapped_methods(api, "legacy_vectorized", (0, None), shown(api, record))


@program(ROWS, THREE)
def mapped_twice_sequential(api, record):
    def f(x, y):
        inner = lambda x, y: api.pure_callback(
            lambda x, y: record("row", x, y) or np.asarray(x + y), scalar(api), x, y, vmap_method="sequential"
        )
        return api.vmap(api.vmap(inner, (0, None)), (0, 0))(x, y)

    return f


@program(ROWS, THREE)
def mapped_twice_broadcast(api, record):
    def f(x, y):
        inner = lambda x, y: api.pure_callback(
            lambda x, y: record("shapes", x.shape, y.shape) or np.asarray(x + y),
            scalar(api),
            x,
            y,
            vmap_method="broadcast_all",
        )
        return api.vmap(api.vmap(inner, (0, None)), (0, 0))(x, y)

    return f


@program(ROWS)
def mapped_over_the_last_axis(api, record):
    def f(x):
        one = lambda c: api.pure_callback(lambda c: np.sort(c)[::-1], like(api, c), c, vmap_method="sequential")
        return api.vmap(one, in_axes=1, out_axes=1)(x)

    return f


@program(ROWS)
def mapped_vectorized_over_the_last_axis(api, record):
    def f(x):
        turned = lambda c: np.sort(c, -1)[..., ::-1]
        one = lambda c: api.pure_callback(turned, like(api, c), c, vmap_method="expand_dims")
        return api.vmap(one, in_axes=1, out_axes=1)(x)

    return f


@program(THREE)
def mapped_with_nothing_mapped(api, record):
    def f(x):
        one = lambda row: row + api.pure_callback(lambda c: record("once") or c, scalar(api), 2.0)
        return api.vmap(one)(x)

    return f


def with_rule(api):
    """A function of the host with a derivative of its own."""

    def host_sin(x):
        return api.pure_callback(lambda x: np.sin(x), like(api, x), x, vmap_method="expand_dims")

    def host_cos(x):
        return api.pure_callback(lambda x: np.cos(x), like(api, x), x, vmap_method="expand_dims")

    sin, cos = api.custom_jvp(host_sin), api.custom_jvp(host_cos)
    sin.defjvp(lambda primals, tangents: (sin(*primals), cos(*primals) * tangents[0]))
    cos.defjvp(lambda primals, tangents: (cos(*primals), -sin(*primals) * tangents[0]))
    return sin


@program(ONE)
def gradient_with_a_rule(api, record):
    return api.grad(with_rule(api))


@program(ONE)
def second_gradient_with_a_rule(api, record):
    return api.grad(api.grad(lambda x: with_rule(api)(x) ** 2))


@program(THREE)
def mapped_gradient_with_a_rule(api, record):
    return api.vmap(api.grad(with_rule(api)))


@program(ONE)
def gradient_of_a_scan_with_a_rule(api, record):
    sin = with_rule(api)
    return api.grad(lambda x: api.lax.scan(lambda c, _: (sin(c) * c, c), x, None, length=3)[0])


@program(ONE)
def gradient_of_a_checkpoint_with_a_rule(api, record):
    sin = with_rule(api)
    return api.grad(api.checkpoint(lambda x: sin(sin(x))))


@program(ONE)
def gradient_by_a_vjp_rule(api, record):
    def call(function, x):
        return api.pure_callback(lambda x: function(x), like(api, x), x)

    f = api.custom_vjp(lambda x: call(np.exp, x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (call(lambda x: record("back", x) or np.exp(x), x) * ct,))
    return api.grad(lambda x: f(x) * x)


@program(ONE)
def gradient_past_a_callback(api, record):
    def f(x):
        factor = api.pure_callback(lambda x: np.asarray(x) + 1, like(api, x), api.lax.stop_gradient(x))
        return factor * x

    return api.grad(f)


@program(INT)
def pure_in_a_loop(api, record):
    def f(n):
        step = lambda i, c: c + api.pure_callback(lambda i: np.asarray(i * i, "float32"), scalar(api), i)
        return api.lax.fori_loop(0, n, step, np.float32(0))

    return f


@program(THREE)
def pure_in_a_mapped_loop(api, record):
    def f(x):
        grow = lambda c: api.pure_callback(lambda c: c + 1, scalar(api), c, vmap_method="expand_dims")
        return api.vmap(lambda c: api.lax.while_loop(lambda c: c < 2.5, grow, c))(x)

    return f


@program(THREE)
def pure_in_a_scan(api, record):
    def f(x):
        step = lambda c, row: (c + row, api.pure_callback(lambda c, r: record("step", r) or c * r, scalar(api), c, row))
        return api.lax.scan(step, np.float32(1), x)

    return f


@program(THREE, INT)
def pure_in_a_branch(api, record):
    def f(x, n):
        taken = lambda x: api.pure_callback(lambda x: record("taken") or -np.asarray(x), like(api, x), x)
        return api.lax.cond(n > 3, taken, lambda x: x, x), api.lax.cond(n > 9, taken, lambda x: x, x)

    return f
