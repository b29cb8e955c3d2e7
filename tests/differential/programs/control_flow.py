"""Conditionals and loops: cond, switch, while_loop, fori_loop."""

from ..corpus import complex_normal, integers, normal, program, uniform

# --- cond and switch: predicates, operands, closures, trees, weak types; differentiated, mapped, nested -------------


@program(lambda r: (normal(r), normal(r, 3), {"a": normal(r, 3)}), grad=(1, 2), usual=True)
def cond_of_operands(api, decides, x, tree):
    """Several operands, one of them a tree; under vmap the predicate is mapped too."""
    np = api.numpy
    return api.lax.cond(decides > 0, lambda v, t: np.sin(v) * t["a"], lambda v, t: v - np.sum(t["a"]), x, tree)


@program(lambda r: (normal(r), normal(r, 3)), grad=(1,), vmap=(None, 0), usual=True)
def cond_with_shared_predicate(api, decides, x):
    """The predicate is the same for all rows."""
    return api.lax.cond(decides > 0, api.numpy.exp, api.numpy.cos, x), api.lax.cond(decides < 0, lambda: x, lambda: -x)


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def cond_of_closures(api, x, y):
    """No operands: branches close over what they need, a constant among it."""
    table = api.numpy.arange(3.0)
    return api.lax.cond(x > y, lambda: (x * y, table), lambda: (x + y, 2.0 * table))


@program(lambda r: (normal(r, 2),), grad=(0,), usual=True)
def cond_with_operand_by_name(api, x):
    """`operand=`, a value and None."""
    lax = api.lax
    named = lax.cond(x[0] > 0, lambda v: v * 2.0, lambda v: v / 2.0, operand=x)
    return named, lax.cond(x[0] > 0, lambda _: x[0], lambda _: x[1], operand=None)


@program(lambda r: (normal(r, 2), normal(r)), grad=(0, 1), usual=True)
def cond_in_its_older_form(api, x, y):
    """An operand for each branch."""
    return api.lax.cond(y > 0, x, lambda v: v * 3.0, y, lambda v: api.numpy.stack([v, v]))


@program(lambda r: (integers(r, 0, 2), normal(r)), usual=True)
def cond_of_numbers(api, flag, x):
    """Numbers as predicates: integers, floating-point numbers, NumPy's and Python's."""
    choose = lambda pred: api.lax.cond(pred, lambda v: v + 1, lambda v: v - 1, x)
    return choose(flag), choose(flag * 0.5), choose(flag.astype("uint8")), choose(1), choose(0.0), choose(True)


@program(lambda r: (normal(r),), usual=True)
def cond_and_weak_types(api, x):
    """A result is weakly typed only if that of both branches is."""
    cond = api.lax.cond
    return cond(x > 0, lambda: (1.0, 2.0, x), lambda: (x, 3.0, 4.0)), cond(x > 0, lambda: 1, lambda: 2)


@program(lambda r: (integers(r, 0, 9), complex_normal(r), normal(r)), usual=True)
def cond_of_many_dtypes(api, count, z, x):
    """Integers, booleans, complex numbers, and trees with None in results."""
    yes = lambda n, c: {"n": n + 1, "flag": n > 3, "z": c * 1j, "none": None, "pair": (n, [c])}
    no = lambda n, c: {"n": n * 2, "flag": n < 3, "z": c.conj(), "none": None, "pair": (3 * n, [c - 1])}
    return api.lax.cond(x > 0, yes, no, count, z)


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def cond_in_cond(api, x, y):
    """Two levels, each with its own predicate."""
    np, cond = api.numpy, api.lax.cond
    inner = lambda a: cond(a > y, lambda b: b * y, lambda b: np.sin(b) + y, a)
    return cond(x > 0, inner, lambda a: a - inner(2 * a), x)


@program(lambda r: (normal(r),), vmap=False, usual=True)
def derivatives_of_cond(api, x):
    """Up to the third order, forward and reverse, eagerly and jitted."""
    np, grad = api.numpy, api.grad

    def function(v):
        return api.lax.cond(v > 0, lambda u: np.sin(u) * u, lambda u: np.exp(u) / (1 + u**2), v)

    second = grad(grad(function))
    return [grad(function)(x), second(-x), api.jit(grad(second))(x), api.jvp(grad(function), (x,), (x,))]


@program(lambda r: (normal(r, 4), normal(r, 4)), vmap=False, usual=True)
def maps_of_cond(api, x, y):
    """Mapped over predicate, operand, both, or neither; and two levels."""
    choose = lambda p, v: api.lax.cond(p > 0, lambda u: u * p, lambda u: u - 1.0, v)
    two = api.vmap(api.vmap(choose, (None, 0)), (0, None))
    return (
        api.vmap(choose)(x, y),
        api.vmap(choose, (0, None))(x, y[0]),
        api.vmap(choose, (None, 0))(x[0], y),
        two(x, y),
        api.jit(api.vmap(api.grad(choose, (0, 1))))(x, y),
    )


@program(lambda r: (normal(r, 3),), grad=(0,), vmap=False, usual=True)
def cond_where_the_predicate_is_known(api, x):
    """Python booleans and NumPy's, under jit: one branch is enough, and the other may have infinite slope."""
    np = api.numpy
    known = lambda pred: api.jit(lambda v: api.lax.cond(pred, lambda u: u * 2.0, lambda u: np.sqrt(u - 9.0), v))(x)
    return known(True), known(2 > 1)


@program(lambda r: (normal(r, 3), integers(r, -2, 5)), grad=(0,), usual=True)
def switch_of_three(api, x, index):
    """An index beyond either end means the nearest branch."""
    np = api.numpy
    branches = [np.sin, lambda v: v * np.sum(v), lambda v: v - 1.0]
    return api.lax.switch(index, branches, x), api.lax.switch(-5, branches, x), api.lax.switch(7, branches, x)


@program(lambda r: (normal(r), normal(r, 2)), grad=(0, 1), vmap=False, usual=True)
def switch_with_indices_of_many_dtypes(api, x, y):
    """uint8, int16, weak and strong int32; one branch alone; operand by name."""
    np, switch = api.numpy, api.lax.switch
    branches = (lambda a, b: a * b, lambda a, b: np.exp(a) + b)
    kinds = [np.asarray(1, kind) for kind in ("uint8", "int16", "int32")]
    one = switch(3, [lambda a, b: a - b], x, y)
    return [switch(kind, branches, x, y) for kind in kinds], one, switch(0, [np.sin, np.cos], operand=y)


@program(lambda r: (normal(r, 4), integers(r, 0, 3, 4)), vmap=False, usual=True)
def maps_of_switch(api, x, indices):
    """Each row its own branch; gradients of the rows and of their sum."""
    np = api.numpy
    branches = [lambda v: v**2, lambda v: np.sin(v), lambda v: 3.0 * v]
    choose = lambda i, v: api.lax.switch(i, branches, v)
    total = lambda v: np.sum(api.vmap(choose)(indices, v))
    return (
        api.vmap(choose)(indices, x),
        api.vmap(choose, (0, None))(indices, x[0]),
        api.vmap(api.grad(choose, 1))(indices, x),
        api.jit(api.grad(total))(x),
        api.grad(lambda v: np.sum(api.grad(total)(v) ** 2))(x),
    )


@program(lambda r: (normal(r, 3), integers(r, 0, 2)), grad=(0,), usual=True)
def branches_that_loop(api, x, index):
    """A scan in one branch, a loop of known length in the other."""
    lax = api.lax
    scanned = lambda v: lax.scan(lambda c, u: (c * u, c + u), 1.0, v)
    looped = lambda v: lax.fori_loop(0, 3, lambda i, s: (s[0] + v[i], s[1] * 0.5), (0.0, v))
    return lax.switch(index, [scanned, looped], x)


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def branches_that_share_and_hand_on(api, x, y):
    """An operand handed on unchanged, a result that is a constant, and one that both branches compute alike."""
    np = api.numpy
    yes = lambda a, b: (a, 1.0, np.tanh(b), b)
    no = lambda a, b: (b, 2.0, np.tanh(b), b)
    return api.lax.cond(x * y > 0, yes, no, x, y)


@program(lambda r: (normal(r), normal(r, 2)), vmap=False, usual=True)
def linear_parts_of_cond(api, x, y):
    """linearize, vjp and linear_transpose where the predicate is known, and where it is not."""

    def function(a, b):
        return api.lax.cond(a > 0, lambda u, v: u * v, lambda u, v: u + v**2, a, b)

    value, linear = api.linearize(function, x, y)
    _, pull = api.vjp(function, x, y)
    transpose = api.linear_transpose(lambda v: api.lax.cond(x > 0, lambda u: 2.0 * u, lambda u: -u, v), y)
    jitted = api.jit(lambda a, b: api.vjp(function, a, b)[1](b))(x, y)
    return value, linear(1.0, y), pull(y), transpose(y), jitted


# --- while_loop and fori_loop: carries of all kinds, closures, bounds; forward derivatives, reverse ones where
# defined.


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
