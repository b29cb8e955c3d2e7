"""cond and switch: predicates, operands, closures, trees, weak types; differentiated, mapped, nested."""

from ..corpus import complex_normal, integers, normal, program


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
