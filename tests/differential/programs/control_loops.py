"""while_loop and fori_loop: carries of all kinds, closures, bounds; forward derivatives, reverse ones where defined."""

from ..corpus import integers, normal, program, uniform


@program(lambda r: (integers(r, 1, 40),), exact=True, usual=True)
def while_counts(api, start):
    """Steps of the Collatz sequence: under vmap each row ends at its own time."""
    np = api.numpy
    step = lambda s: (np.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)
    return api.lax.while_loop(lambda s: s[0] > 1, step, (start, 0))


@program(lambda r: (integers(r, 1, 99), integers(r, 1, 99)), exact=True, vmap=(0, None), usual=True)
def while_finds_a_divisor(api, a, b):
    """Euclid's algorithm, with one of the numbers mapped."""
    return api.lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]


@program(lambda r: (uniform(r, 1.0, 9.0), normal(r)), usual=True)
def while_differentiated_forward(api, x, direction):
    """A square root by Heron's method: jvp, jacfwd, and forward over forward."""
    lax = api.lax

    def root(a):
        step = lambda s: (s[0] + 1, 0.5 * (s[1] + a / s[1]))
        return lax.while_loop(lambda s: s[0] < 6, step, (0, a))[1]

    return api.jvp(root, (x,), (direction,)), api.jacfwd(root)(x), api.jacfwd(api.jacfwd(root))(x)


@program(lambda r: (normal(r, 3), uniform(r, 2.0, 5.0)), usual=True)
def while_with_closures(api, x, limit):
    """Condition and body close over arguments; the tree holds None and a dict."""
    np = api.numpy
    init = {"x": x, "none": None, "turns": 0}
    body = lambda s: {"x": s["x"] * 1.5 + limit / 8, "none": None, "turns": s["turns"] + 1}
    return api.lax.while_loop(lambda s: np.sum(np.abs(s["x"])) < limit * 4, body, init)


@program(lambda r: (normal(r, 3), integers(r, 0, 5, 3)), vmap=False, usual=True)
def maps_of_while(api, x, counts):
    """Mapped over the condition's closure, over the body's, over the carry; and jvp of the map, map of jvp."""
    lax = api.lax

    def power(v, n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * v), (0, 1.0))[1]

    return (
        api.vmap(power)(x, counts),
        api.vmap(power, (None, 0))(x[0], counts),
        api.vmap(power, (0, None))(x, counts[0]),
        api.vmap(api.vmap(power, (None, 0)), (0, None))(x, counts),
        api.jvp(lambda v: api.vmap(power)(v, counts), (x,), (x,)),
        api.jit(api.vmap(lambda v, n: api.jvp(lambda u: power(u, n), (v,), (1.0,))))(x, counts),
    )


@program(lambda r: (normal(r),), usual=True)
def while_that_never_runs(api, x):
    """The first value comes back, with the type that the body would give it."""
    return api.lax.while_loop(lambda s: False, lambda s: s * 2.0, x), api.lax.while_loop(
        lambda s: s[1] > 0, lambda s: (s[0] + x, s[1] - 1), (0.0, 0)
    )


@program(lambda r: (normal(r),), usual=True)
def loops_that_promote(api, x):
    """Carries that start as Python numbers take the dtype that the body makes of them."""
    lax = api.lax
    return (
        lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0] + x, s[1] + 1), (0, 0)),
        lax.fori_loop(0, 3, lambda i, s: s + x, 0),
        lax.fori_loop(0, 3, lambda i, s: s + i, 0),
        lax.fori_loop(0, 3, lambda i, s: s + 1.5 * i, 1),
    )


@program(lambda r: (normal(r, 4),), grad=(0,), usual=True)
def fori_of_known_length(api, x):
    """Bounds that are Python numbers: reverse-mode derivatives exist."""
    np = api.numpy
    return api.lax.fori_loop(1, 4, lambda i, v: np.sin(v) + x[i] * v, x)


@program(lambda r: (normal(r, 3),), vmap=False, usual=True)
def derivatives_of_fori(api, x):
    """Gradient, gradient of it, Hessian, jitted and not."""
    np = api.numpy
    function = lambda v: np.sum(api.lax.fori_loop(0, 3, lambda i, s: s * np.cos(v) + s[i], v))
    second = lambda v: np.sum(api.grad(function)(v) * v)
    return api.grad(function)(x), api.grad(second)(x), api.jit(api.hessian(function))(x)


@program(lambda r: (normal(r, 3),), grad=(0,), vmap=False, usual=True)
def fori_unrolled(api, x):
    """`unroll` by number, True and False; lengths that it does not divide."""
    run = lambda **how: api.lax.fori_loop(0, 5, lambda i, v: v * 0.9 + x[i % 3], x, **how)
    return run(), run(unroll=2), run(unroll=5), run(unroll=True), run(unroll=False), run(unroll=None)


@program(lambda r: (normal(r), integers(r, 0, 5), integers(r, 2, 7)), usual=True)
def fori_with_bounds_that_vary(api, x, low, high):
    """Traced bounds: values, forward derivatives, and rows that run different numbers of turns."""
    run = lambda v: api.lax.fori_loop(low, high, lambda i, s: s * v + i, v)
    return run(x), api.jvp(run, (x,), (1.0,))


@program(lambda r: (normal(r),), usual=True)
def fori_with_odd_bounds(api, x):
    """Upper below lower, negative, and of other integer dtypes."""
    np, fori = api.numpy, api.lax.fori_loop
    body = lambda i, s: (s[0] + i, s[1] + x)
    typed = lambda kind: fori(np.asarray(1, kind), np.asarray(4, kind), lambda i, s: s + i, np.asarray(0, kind))
    return fori(3, 1, body, (0, x)), fori(-3, 2, body, (0, x)), typed("int16"), typed("uint8"), typed("int32")


@program(lambda r: (normal(r, 3, 3),), grad=(0,), usual=True, slack=4.0)
def fori_in_fori(api, matrix):
    """Indices of both loops, and updates in place."""

    def row(i, m):
        return api.lax.fori_loop(0, 3, lambda j, n: n.at[i, j].multiply(1.0 + 0.1 * n[j, i]), m)

    return api.lax.fori_loop(0, 3, row, matrix)


@program(lambda r: (normal(r, 3, 3), normal(r, 3)), grad=(0, 1), usual=True, slack=4.0)
def fori_finds_an_eigenvalue(api, matrix, x):
    """Power iteration on a symmetric matrix."""
    np = api.numpy
    symmetric = matrix @ matrix.T + np.eye(3)
    step = lambda _, v: symmetric @ v / np.linalg.norm(symmetric @ v)
    vector = api.lax.fori_loop(0, 4, step, x)
    return vector @ symmetric @ vector


@program(lambda r: (normal(r, 4), uniform(r, 1.0, 3.0)), usual=True)
def while_in_scan_and_scan_in_while(api, x, limit):
    """Each inside the other; forward derivatives through both."""
    np, lax = api.numpy, api.lax
    grow = lambda v, most: lax.while_loop(lambda u: np.abs(u) < most, lambda u: u * 1.7 + 0.1, v)

    def outside(most):
        return lax.scan(lambda c, v: (c + grow(v, most), grow(c, most)), 0.5, x)

    def inside(most):
        total = lambda v: lax.scan(lambda c, u: (c + 0.1 * u, None), v, x)[0]
        return lax.while_loop(lambda s: s[1] < 3, lambda s: (total(s[0]) * most, s[1] + 1), (most, 0))

    return outside(limit), inside(limit), api.jvp(lambda m: (outside(m), inside(m)[0]), (limit,), (1.0,))


@program(lambda r: (normal(r, 3), normal(r)), grad=(0, 1), usual=True)
def while_beside_a_gradient(api, x, scale):
    """What a loop computes of constants alone may stand beside what is differentiated."""
    np = api.numpy
    count = api.lax.while_loop(lambda n: n * n < 30, lambda n: n + 1, 0)
    stopped = api.lax.while_loop(lambda v: v < 8.0, lambda v: v * 2.0 + 1.0, api.lax.stop_gradient(np.abs(scale)) + 1)
    return np.sin(x * count) * stopped * scale


@program(lambda r: (normal(r, 3), normal(r)), grad=(0, 1), usual=True)
def carries_that_stay_as_they_came(api, x, y):
    """Of what no turn changes there is a gradient, and it is not mapped with what decides how many turns there are."""
    lax, np = api.lax, api.numpy
    counted, same, scale = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1], s[2]), (0, x, y))
    turns = lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 2, s[1]), (0, y))
    mapped = api.vmap(turns, out_axes=(0, None))(np.arange(4))
    return counted, np.sin(same) * scale, mapped[0], mapped[1] * scale


@program(lambda r: (normal(r, 2), integers(r, 0, 4)), usual=True)
def loops_of_booleans_and_bits(api, x, n):
    """Carries of booleans, unsigned integers and half precision."""
    np, lax = api.numpy, api.lax
    flip = lax.fori_loop(0, 3, lambda i, s: (~s[0], s[1] << 1), (x[0] > 0, n.astype("uint32")))
    half = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * np.float16(1.5)), (0, x.astype("float16")))
    return flip, half


@program(lambda r: (normal(r, 3).astype("float64"), normal(r, 3)), grad=(0, 1), vmap=False, usual=True, x64=True)
def loops_in_double_precision(api, x, y):
    """With 64 bits: indices, weak types, carries of both precisions."""
    lax = api.lax
    return (
        lax.fori_loop(0, 3, lambda i, s: s * x[i] + i, 1.0),
        lax.scan(lambda c, u: (c + u, c * 2), 0, y),
        lax.scan(lambda c, u: ((c[0] * u, c[1] + 1), c[1]), (x, 0), y),
        lax.cond(x[0] > 0, lambda: (1.0, y), lambda: (2.0, y * 2)),
        lax.while_loop(lambda n: n < 5, lambda n: n + 1, 0),
        lax.associative_scan(lax.mul, x),
    )
