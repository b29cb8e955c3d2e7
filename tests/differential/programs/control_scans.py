"""scan, map and associative_scan: every argument; carries, slices and results of all kinds."""

from ..corpus import complex_normal, integers, normal, program


@program(lambda r: (normal(r), normal(r, 5)), grad=(0, 1), usual=True)
def scan_running_total(api, init, xs):
    """A carry, and results stacked."""
    return api.lax.scan(lambda c, x: (c + x, c * x), init, xs)


@program(lambda r: (normal(r, 2), normal(r, 4, 2)), grad=(0, 1), usual=True)
def scan_in_reverse(api, init, xs):
    """From the last slice to the first; results stay in place."""
    np = api.numpy
    return api.lax.scan(lambda c, x: (np.tanh(c + x), c - x), init, xs, reverse=True)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def scan_without_slices(api, init):
    """`xs` is None: the length says how often; with `xs` the length may be said too."""
    np, scan = api.numpy, api.lax.scan
    step = lambda c, _: (np.sin(c), np.sum(c))
    return scan(step, init, None, length=4), scan(step, init, length=2, reverse=True), scan(step, init, init, 3)


@program(lambda r: (normal(r, 4),), grad=(0,), usual=True)
def scan_without_carry(api, xs):
    """None and the empty tuple as carry; None as result; None among slices and results."""
    np, scan = api.numpy, api.lax.scan
    return (
        scan(lambda c, x: (None, np.sin(x)), None, xs),
        scan(lambda c, x: ((), 2.0 * x), (), xs),
        scan(lambda c, x: (c + x, None), 0.0, xs),
        scan(lambda c, x: (c * 2.0, {"none": None, "x": x["x"] * c}), xs[0], {"x": xs, "none": None}),
    )


@program(lambda r: (normal(r), normal(r, 5)), grad=(0, 1), vmap=False, usual=True)
def scan_unrolled(api, init, xs):
    """Every way to say `unroll`, with lengths that it divides and that it does not, in both directions."""
    run = lambda unroll, reverse: api.lax.scan(lambda c, x: (c * x + 1, c), init, xs, reverse=reverse, unroll=unroll)
    return [run(unroll, reverse) for unroll in (1, 2, 5, 7, True, False) for reverse in (False, True)]


@program(
    lambda r: ({"h": normal(r, 2), "n": integers(r, 0, 3)}, {"a": normal(r, 3, 2), "b": integers(r, 0, 5, 3)}),
    usual=True,
)
def scan_of_trees(api, init, xs):
    """Trees with integers in carry, slices and results."""

    def step(carry, x):
        new = {"h": carry["h"] * x["a"] + x["b"], "n": carry["n"] + x["b"]}
        return new, (new["h"], [x["b"] > 2, carry["n"]])

    return api.lax.scan(step, init, xs)


@program(lambda r: (normal(r), normal(r, 0)), vmap=False, usual=True)
def scan_of_nothing(api, init, xs):
    """No slices at all: the carry as it was, and empty results."""
    scan = api.lax.scan
    step = lambda c, x: (c * 2.0, (c, 1))
    return scan(step, init, xs), scan(step, init, None, length=0), api.grad(lambda c: scan(step, c, xs)[0])(init)


@program(lambda r: (normal(r, 3, 3), normal(r, 3), normal(r, 4, 3)), grad=(0, 1, 2), vmap=(None, 0, 1), usual=True)
def scan_over_closures(api, weights, h, xs):
    """A recurrent network whose weights the step closes over."""
    np = api.numpy
    return api.lax.scan(lambda c, x: (np.tanh(weights @ c + x), np.sum(c)), h, xs)


@program(lambda r: (normal(r, 6, 8), normal(r, 2), normal(r, 5, 4)), grad=(0, 1, 2), vmap=(None, 0, None), usual=True)
def scan_of_an_lstm_cell(api, weights, h, xs):
    """Two carries, one matrix product a step."""
    np, nn = api.numpy, api.nn

    def step(carry, x):
        h, c = carry
        i, f, g, o = np.split(np.concatenate([h, x]) @ weights, 4)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * np.tanh(g)
        h = nn.sigmoid(o) * np.tanh(c)
        return (h, c), h

    return api.lax.scan(step, (h, np.zeros(2)), xs)


@program(lambda r: (normal(r, 3),), usual=True)
def scan_that_promotes(api, xs):
    """Carries that start as Python numbers; results that are; and integers beside them."""
    scan = api.lax.scan
    return (
        scan(lambda c, x: (c + x, 1), 0, xs),
        scan(lambda c, x: ((c[0] + 1, c[1] * x), 2.5), (0, 1), xs),
        scan(lambda c, x: (c + 1, c), 0, xs),
    )


@program(lambda r: (normal(r, 3), normal(r, 2, 3)), grad=(0, 1), usual=True)
def scan_in_scan(api, init, xs):
    """The inner one closes over the carry of the outer one."""
    np, scan = api.numpy, api.lax.scan

    def outer(carry, row):
        total, seen = scan(lambda c, x: (c + np.sin(x) * carry[0], c), 0.0, row)
        return carry * 0.5 + total, seen

    return scan(outer, init, xs)


@program(lambda r: (normal(r), normal(r, 5)), grad=(0, 1), usual=True)
def cond_in_scan(api, init, xs):
    """Each slice chooses; and a switch on the carry's sign."""
    np, lax = api.numpy, api.lax

    def step(c, x):
        c = lax.cond(x > 0, lambda v: v + x, lambda v: v * 0.9, c)
        return c, lax.switch((c > 0).astype("int32"), [np.sin, np.cos], x)

    return lax.scan(step, init, xs)


@program(lambda r: (normal(r), normal(r), normal(r, 4)), grad=(0, 1, 2), usual=True)
def scan_with_parts_that_stay(api, a, b, xs):
    """A carry handed on unchanged, one that is not read, and a result that is a slice."""
    step = lambda c, x: ((c[0], c[1] * c[0], c[2] + 1.0), (x, c[1] + x))
    return api.lax.scan(step, (a, b, 0.0), xs)


@program(lambda r: (normal(r, 2), normal(r, 3, 2)), vmap=False, usual=True)
def derivatives_of_scan(api, init, xs):
    """Forward and reverse, twice, jitted and not; linearize and vjp."""
    np = api.numpy

    def function(c, x):
        last, ys = api.lax.scan(lambda h, u: (np.sin(h * u) + h, h * u), c, x)
        return np.sum(last * ys[-1]) + np.sum(ys**2)

    gradient = api.grad(function, (0, 1))
    second = api.grad(lambda c: np.sum(api.grad(function, 1)(c, xs)))
    value, linear = api.linearize(function, init, xs)
    return [
        gradient(init, xs),
        api.jit(gradient)(init, xs),
        second(init),
        api.jit(second)(init),
        api.jvp(gradient, (init, xs), (init, xs)),
        api.jit(api.hessian(function))(init, xs),
        (value, linear(init, xs)),
        api.vjp(lambda c: api.lax.scan(lambda h, u: (h * u, h), c, xs), init)[1]((init, xs)),
    ]


@program(lambda r: (normal(r, 3), normal(r, 3, 4)), vmap=False, usual=True)
def maps_of_scan(api, init, xs):
    """Mapped over carry, slices, closures, in several axes; gradient of map and map of gradient."""
    np, vmap = api.numpy, api.vmap
    run = lambda c, x: api.lax.scan(lambda h, u: (h * u + 0.1, h), c, x)
    loss = lambda c, x: np.sum(run(c, x)[1])
    return (
        vmap(run)(init, xs),
        vmap(run, (None, 0))(init[0], xs),
        vmap(run, (0, None))(init, xs[0]),
        vmap(run, (None, 1), (0, 1))(init[0], xs),
        vmap(lambda w: api.lax.scan(lambda h, u: (h * w, u), 1.0, xs[0]))(init),
        api.jit(vmap(api.grad(loss, (0, 1))))(init, xs),
        api.grad(lambda c: np.sum(vmap(loss, (0, None))(c, xs[0])))(init),
        vmap(vmap(run, (None, 0)), (0, None))(init, xs),
    )


@program(lambda r: (complex_normal(r), complex_normal(r, 3), integers(r, 0, 2, 3)), vmap=False, usual=True)
def scan_of_many_dtypes(api, z, zs, flags):
    """Complex carries (differentiated), booleans, half precision, unsigned integers."""
    np, scan = api.numpy, api.lax.scan
    rotate = lambda c, x: (c * x, np.abs(c))
    gradient = api.grad(lambda v: np.sum(scan(rotate, v, zs)[1]))(z)
    flags = flags.astype(bool)
    return (
        scan(rotate, z, zs),
        gradient,
        scan(lambda c, x: (c ^ x, c | x), flags[0], flags),
        scan(lambda c, x: (c + c, c), np.float16(1.5), None, 3),
        scan(lambda c, x: (c + x, c), np.uint8(250), flags.astype("uint8")),
    )


@program(lambda r: (normal(r, 4), normal(r)), grad=(0, 1), usual=True)
def jit_in_scan(api, xs, w):
    """The step is jitted, and calls a jitted function that closes over an argument."""
    inner = api.jit(lambda c, x: c * w + x)
    step = api.jit(lambda c, x: (inner(c, x), inner(x, c)))
    return api.lax.scan(step, w, xs)


@program(lambda r: (normal(r, 4),), grad=(0,), usual=True)
def gradient_in_scan(api, xs):
    """Each step takes a gradient step of a function of the slice; scans are differentiated through it."""
    np = api.numpy
    loss = lambda w, x: np.sum((np.sin(w) * x - 1.0) ** 2)
    return api.lax.scan(lambda w, x: (w - 0.1 * api.grad(loss)(w, x), loss(w, x)), 0.3, xs)


@program(lambda r: (normal(r, 3, 2), integers(r, 0, 4, 3)), vmap=False, usual=True)
def map_of_trees(api, xs, ns):
    """map over a tree of arrays, with trees and None as results."""
    np = api.numpy
    function = lambda s: {"sum": np.sum(s[0]) * s[1], "none": None, "pair": (s[0], s[1] + 1)}
    return api.lax.map(function, (xs, ns)), api.lax.map(lambda v: 2, xs), api.lax.map(lambda v: v["a"], {"a": xs})


@program(lambda r: (normal(r, 7, 2),), grad=(0,), vmap=False, usual=True)
def map_in_batches(api, xs):
    """`batch_size` that divides the length, that does not, that is larger, one, and 0 for all."""
    np = api.numpy
    function = lambda x: np.sin(x) * np.sum(x)
    return [api.lax.map(function, xs, batch_size=size) for size in (None, 0, 1, 3, 7, 10)]


@program(lambda r: (normal(r, 3), normal(r)), grad=(0, 1), usual=True)
def map_of_closures(api, xs, w):
    """map under grad and vmap, with jit and vmap inside."""
    np = api.numpy
    return api.lax.map(api.jit(lambda x: np.sin(x * w)), xs), api.lax.map(lambda x: api.vmap(np.tanh)(xs * x), xs)


@program(lambda r: (normal(r, 7),), grad=(0,), usual=True)
def associative_scan_of_numbers(api, xs):
    """Sums, products and maxima, both ways; lengths of one and two."""
    lax = api.lax
    return (
        lax.associative_scan(lax.add, xs),
        lax.associative_scan(lax.mul, xs, reverse=True),
        lax.associative_scan(api.numpy.maximum, xs[:4]),
        lax.associative_scan(lax.add, xs[:1]),
        lax.associative_scan(lax.add, xs[:2], reverse=True),
    )


@program(lambda r: (normal(r, 3, 5), normal(r, 3, 5)), grad=(0, 1), usual=True)
def associative_scan_of_pairs(api, a, b):
    """Affine maps composed along the second axis: a linear recurrence."""
    compose = lambda one, other: (other[0] * one[0], other[0] * one[1] + other[1])
    first = api.lax.associative_scan(compose, (a, b), axis=-1)
    return first, api.lax.associative_scan(compose, (a, b), axis=1, reverse=True)


@program(lambda r: (normal(r, 4, 2, 2), integers(r, 0, 9, 6)), vmap=False, usual=True)
def associative_scan_of_matrices(api, matrices, numbers):
    """Matrix products; integers, booleans; a dict; its gradient and second gradient."""
    np, scan = api.numpy, api.lax.associative_scan
    loss = lambda m: np.sum(scan(np.matmul, m) ** 2)
    return (
        scan(np.matmul, matrices),
        scan(lambda p, q: {"x": p["x"] + q["x"]}, {"x": numbers}),
        scan(np.logical_or, numbers > 6),
        api.jit(api.grad(loss))(matrices),
        api.grad(lambda m: np.sum(api.grad(loss)(m)))(matrices),
    )
