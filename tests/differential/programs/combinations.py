"""Control flow, custom rules, solves and checkpoint within each other, under jit, grad, grad of grad, vmap and scan."""

import functools

from ..corpus import integers, normal, positive_definite, program, uniform


@program(lambda r: (normal(r, 3), normal(r)), grad=(0, 1), usual=True)
def scan_cond_and_custom_jvp(api, xs, c):
    """A function with a rule in a branch in a scan in a jitted function."""
    np = api.numpy
    f = api.custom_jvp(np.tanh)
    f.defjvps(lambda t, ans, x: (1.0 - ans**2) * t * 0.5)
    step = lambda c, x: (api.lax.cond(x > 0, f, lambda v: v * x, c), f(x) * c)
    return api.jit(lambda c: api.lax.scan(step, c, xs))(c)


@program(lambda r: (normal(r, 2), normal(r, 2)), vmap=False, usual=True)
def gradients_of_gradients_of_scans_with_rules(api, x, y):
    """Second derivatives through a scan of checkpointed steps with a vjp rule."""
    np = api.numpy
    f = api.custom_vjp(lambda v: np.sin(v))
    f.defvjp(lambda v: (np.sin(v), v), lambda v, ct: (2.0 * ct * np.cos(v),))
    step = api.checkpoint(lambda c, u: (f(c * u) + c, f(c)))
    loss = lambda u, c: np.sum(api.lax.scan(step, c, u)[1]) ** 2
    first = api.grad(loss, (0, 1))
    second = api.grad(lambda u: np.sum(first(u, y[0])[0] * y))
    return first(x, y[0]), second(x), api.jit(second)(x), api.vmap(lambda c: api.grad(loss)(x, c))(y)


@program(lambda r: (uniform(r, 0.5, 3.0, 3),), vmap=False, usual=True)
def roots_in_maps_in_scans(api, a):
    """A root in a scan, mapped, checkpointed, differentiated twice."""
    np, lax = api.numpy, api.lax
    newton = lambda f, x: lax.fori_loop(0, 10, lambda i, v: v - f(v) / (2 * v), x)
    root = lambda v: lax.custom_root(lambda x: x**2 - v, np.ones_like(v), newton, lambda g, y: y / g(np.ones_like(y)))
    chain = lambda v: lax.scan(lambda c, u: (root(c + u), root(c * u)), v, a)
    loss = lambda v: np.sum(chain(v)[1])
    return (
        chain(a[0]),
        api.vmap(api.grad(loss))(a),
        api.grad(api.grad(api.checkpoint(loss)))(a[1]),
        api.jit(api.vmap(api.jit(api.grad(api.checkpoint(root)))))(a),
    )


@program(lambda r: (positive_definite(r, 2), normal(r, 2)), grad=(0, 1), usual=True, slack=50.0)
def conjugate_gradients(api, matrix, b):
    """A solver in a while loop with a carry of several vectors, stopped by its residual."""
    np = api.numpy

    def solve(matvec, b):
        def step(s):
            x, r, p, k = s
            ap = matvec(p)
            alpha = np.vdot(r, r) / (np.vdot(p, ap) + 1e-20)
            new = r - alpha * ap
            return x + alpha * p, new, new + np.vdot(new, new) / (np.vdot(r, r) + 1e-20) * p, k + 1

        return api.lax.while_loop(lambda s: s[3] < 2, step, (np.zeros_like(b), b, b, 0))[0]

    even = (matrix + matrix.T) / 2
    return api.lax.custom_linear_solve(lambda v: even @ v, b, solve, symmetric=True)


@program(lambda r: (normal(r, 3), normal(r)), grad=(0, 1), usual=True)
def implicit_layer(api, x, w):
    """A fixed point by a custom_vjp whose backward pass is a fixed point, too."""
    np = api.numpy

    def fixed_point(f, start):
        return api.lax.fori_loop(0, 30, lambda _, z: f(z), start)

    f = lambda w, x, z: np.tanh(0.5 * np.sin(w) * z + x)

    @api.custom_vjp
    def layer(w, x):
        return fixed_point(lambda z: f(w, x, z), np.zeros_like(x))

    def fwd(w, x):
        z = layer(w, x)
        return z, (w, x, z)

    def bwd(residuals, ct):
        w, x, z = residuals
        _, pull_z = api.vjp(lambda z: f(w, x, z), z)
        u = fixed_point(lambda u: ct + pull_z(u)[0], ct)
        return api.vjp(lambda w, x: f(w, x, z), w, x)[1](u)

    layer.defvjp(fwd, bwd)
    return layer(w, x), np.sum(layer(w, layer(w, x)))


@program(lambda r: (normal(r, 4), integers(r, 0, 3, 4)), vmap=False, usual=True)
def switches_of_functions_with_rules(api, x, indices):
    """Branches with jvp rules, vjp rules, checkpoint; mapped and scanned."""
    np = api.numpy
    one = api.custom_jvp(np.sin)
    one.defjvp(lambda p, t: (np.sin(p[0]), 2.0 * t[0]))
    two = api.custom_vjp(np.cos)
    two.defvjp(lambda v: (np.cos(v), v), lambda v, ct: (3.0 * ct * v,))
    branches = [one, two, api.checkpoint(lambda v: np.exp(np.sin(v)))]
    choose = lambda i, v: api.lax.switch(i, branches, v)
    chain = lambda v: api.lax.scan(lambda c, i: (choose(i, c), c), v, indices)[0]
    return (
        api.vmap(choose)(indices, x),
        api.vmap(api.grad(choose, 1))(indices, x),
        api.grad(chain)(x[0]),
        api.jit(api.vmap(api.grad(chain)))(x),
    )


@program(lambda r: (normal(r, 3), uniform(r, 0.5, 2.0)), usual=True)
def forward_derivatives_of_everything(api, x, a):
    """jvp through while, scan, cond, custom_jvp, checkpoint, roots: at once."""
    np, lax = api.numpy, api.lax
    f = api.custom_jvp(np.sin)
    f.defjvp(lambda p, t: (f(*p), 2.0 * np.cos(p[0]) * t[0]))

    def run(v, b):
        grown = lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * b, s[1] + 1), (v, 0))[0]
        last, seen = lax.scan(api.checkpoint(lambda c, u: (f(c) + u, c * u)), b, grown)
        chosen = lax.cond(last > 0, lambda u: f(u) * 2.0, lambda u: u**2, last)
        root = lax.custom_root(
            lambda z: z**3 - b,
            1.0 + 0.0 * b,
            lambda g, z: lax.fori_loop(0, 12, lambda i, u: u - g(u) / (3 * u**2), z),
            lambda g, y: y / g(1.0 + 0.0 * y),
        )
        return chosen, seen, root

    return api.jvp(run, (x, a), (x, a)), api.jacfwd(run, 1)(x, a), api.jvp(api.jacfwd(run, 1), (x, a), (x, a))


@program(lambda r: (normal(r, 2, 2), normal(r, 3, 2)), grad=(0, 1), vmap=False, usual=True)
def recurrent_network_with_checkpoints(api, w, xs):
    """A scan of scans of checkpointed cells with named activations and a policy."""
    np, name = api.numpy, api.ad_checkpoint.checkpoint_name
    policy = api.checkpoint_policies.save_only_these_names("h")

    @functools.partial(api.checkpoint, policy=policy)
    def cell(h, x):
        h = name(np.tanh(w @ h + x), "h")
        return h, np.sum(np.sin(h))

    @api.checkpoint
    def inner(h, shift):
        return api.lax.scan(cell, h, xs + shift)

    return api.lax.scan(inner, np.zeros(2), xs[:, 0])


@program(lambda r: (normal(r, 3),), vmap=False, usual=True)
def maps_of_mapped_rules_in_scans(api, x):
    """custom_vmap in scan, in cond, in map, in custom_jvp."""
    lax = api.lax
    f = api.custom_batching.custom_vmap(lambda v: v * 2.0)
    f.def_vmap(lambda size, batched, v: (v * 3.0, True))
    g = api.custom_jvp(lambda v: f(v))
    g.defjvp(lambda p, t: (g(*p), f(t[0])))
    return (
        lax.scan(lambda c, v: (c + f(v), g(c)), 0.0, x),
        api.vmap(lambda v: lax.scan(lambda c, u: (f(c) + u, None), v, x)[0])(x),
        api.vmap(lambda v: lax.cond(x[0] > 0, f, lambda u: u, v))(x),
        lax.map(f, x),
        lax.map(f, x, batch_size=2),
        api.vmap(lambda v: api.jvp(g, (v,), (v,)))(x),
    )


@program(lambda r: (normal(r, 3), normal(r, 3)), vmap=False, usual=True)
def jacobians_of_loops_with_rules(api, x, y):
    """jacfwd, jacrev and hessian over scan, map and associative_scan with functions that have rules."""
    np, lax = api.numpy, api.lax
    f = api.custom_jvp(lambda a, b: a * np.sin(b))
    f.defjvps(lambda t, ans, a, b: np.sin(b) * t, lambda t, ans, a, b: a * np.cos(b) * t)
    scanned = lambda v: lax.scan(lambda c, u: (f(c, u), c), 1.0, v)[1]
    mapped = lambda v: lax.map(lambda u: f(u, v[0]), y)
    running = lambda v: lax.associative_scan(lambda a, b: f(a, np.ones_like(a)) + b, v)
    return (
        api.jacfwd(scanned)(x),
        api.jacrev(scanned)(x),
        api.jacrev(mapped)(x),
        api.jit(api.jacfwd(running))(x),
        api.hessian(lambda v: np.sum(scanned(v) * mapped(v)))(x),
    )


@program(lambda r: (normal(r, 2, 3), normal(r, 3)), vmap=False, usual=True)
def per_row_gradients_in_scan(api, rows, w):
    """vmap of grad of a scanned loss, in a scan of descent steps, with a checkpoint around each."""
    np, lax = api.numpy, api.lax
    predict = lambda w, row: lax.scan(lambda c, p: (np.tanh(c + p[0] * p[1]), None), 0.0, (w, row))[0]
    loss = lambda w, row: (predict(w, row) - 0.5) ** 2

    @api.checkpoint
    def step(w, _):
        gradients = api.vmap(api.grad(loss), (None, 0))(w, rows)
        return w - 0.1 * np.mean(gradients, 0), np.sum(gradients**2)

    run = lambda w: lax.scan(step, w, None, length=2)
    return run(w), api.grad(lambda w: np.sum(run(w)[1]))(w)


@program(lambda r: (normal(r), normal(r, 3)), grad=(0, 1), usual=True)
def closures_through_many_levels(api, a, xs):
    """What is differentiated is closed over by cond in scan in checkpoint in custom_root in jit."""
    np, lax = api.numpy, api.lax

    @api.jit
    def run(b):
        @api.checkpoint
        def total(scale):
            step = lambda c, x: (c + lax.cond(x > 0, lambda: x * scale * a, lambda: scale + b), None)
            return lax.scan(step, 0.0, xs)[0]

        f = lambda z: 3.0 * z + np.sin(total(b) + z)
        newton = lambda f, z: lax.fori_loop(0, 15, lambda i, v: v - f(v) / 3.0, z)
        return lax.custom_root(f, 0.0 * b, newton, lambda g, y: y / g(np.ones_like(y)))

    return run(np.cos(a))


@program(lambda r: (normal(r, 3), normal(r)), vmap=False, usual=True)
def integers_through_everything(api, x, y):
    """Counters and flags beside what is differentiated, in scan, while, cond, checkpoint and rules."""
    lax = api.lax
    count = api.custom_vjp(lambda v, n: (v * n, n + 1))
    count.defvjp(lambda v, n: (count(v, n), n), lambda n, cts: (cts[0] * n, None))

    @api.checkpoint
    def step(carry, v):
        total, n, flag = carry
        out, n = count(v, n)
        n = lax.cond(flag, lambda m: m + 1, lambda m: m, n)
        return (total + out * y, n, ~flag), n

    run = lambda v: lax.scan(step, (0.0, 1, True), v)
    return run(x), api.grad(lambda v: run(v)[0][0])(x), api.jit(api.vmap(lambda s: run(x * s)))(x)


@program(lambda r: (normal(r, 4, 2), normal(r, 2)), grad=(0, 1), usual=True, slack=4.0)
def linear_recurrence_three_ways(api, a, h):
    """scan, associative_scan and a loop of known length agree, and so do their gradients."""
    np, lax = api.numpy, api.lax
    decay = np.tanh(a)
    scanned = lax.scan(lambda c, p: (p * c + 1.0, p * c + 1.0), h, decay)[1]
    compose = lambda one, other: (other[0] * one[0], other[0] * one[1] + other[1])
    factors, shifts = lax.associative_scan(compose, (decay, np.ones_like(decay)))
    looped = lax.fori_loop(0, 4, lambda i, c: decay[i] * c + 1.0, h)
    return scanned, factors * h + shifts, looped


@program(lambda r: (normal(r, 3), normal(r)), vmap=False, usual=True)
def derivatives_through_linearize_and_vjp_in_loops(api, x, c):
    """linearize and vjp of loops inside loops; their functions passed through jit and cond."""
    np, lax = api.numpy, api.lax
    f = lambda c: lax.scan(lambda h, u: (np.sin(h * u), h), c, x)

    def step(h, u):
        value, linear = api.linearize(lambda v: f(v)[0], h)
        pulled = api.vjp(lambda v: f(v)[1], h)[1](x * u)[0]
        return value + 0.1 * linear(u), lax.cond(u > 0, linear, lambda v: v * pulled, u)

    run = lambda h: lax.scan(step, h, x)
    return run(c), api.jit(run)(c), api.grad(lambda h: np.sum(run(h)[1]))(c)


@program(lambda r: (uniform(r, 0.5, 2.0, 3), normal(r, 3)), vmap=False, usual=True, slack=4.0)
def solves_in_rules_and_rules_in_solves(api, d, b):
    """A linear solve in a vjp rule; a function with a rule as matvec."""
    np, lax = api.numpy, api.lax
    solve = lambda d, b: lax.custom_linear_solve(lambda x: d * x, b, lambda _, y: y / d, symmetric=True)
    ruled = api.custom_vjp(solve)

    def bwd(residuals, ct):
        d, x = residuals
        back = solve(d, ct)
        return -back * x, 2.0 * back

    ruled.defvjp(lambda d, b: (solve(d, b), (d, solve(d, b))), bwd)
    scale = api.custom_jvp(lambda d, x: d * x)
    scale.defjvps(lambda t, ans, d, x: 5.0 * x * t, lambda t, ans, d, x: d * t)
    strange = lambda d, b: lax.custom_linear_solve(lambda x: scale(d, x), b, lambda _, y: y / d, symmetric=True)
    total = lambda f: lambda d, b: np.sum(np.sin(f(d, b)))
    return (
        api.grad(total(ruled), (0, 1))(d, b),
        api.vmap(api.grad(total(ruled)))(d, b),
        api.grad(total(strange), (0, 1))(d, b),
        api.jit(api.grad(lambda d: np.sum(api.grad(total(ruled))(d, b))))(d),
    )


@program(lambda r: (uniform(r, 0.3, 1.0, 2),), vmap=False, usual=True)
def rules_made_of_derivatives(api, x):
    """jvp rules that ask for the derivative of functions that carry programs: known values beside unknown tangents."""
    np, lax = api.numpy, api.lax
    wave = lambda v: np.sin(v) * v
    functions = [
        api.checkpoint(wave),
        api.checkpoint(wave, policy=api.checkpoint_policies.everything_saveable),
        lambda v: api.grad(api.checkpoint(lambda u: np.sum(wave(u))))(v),
        lambda v: lax.scan(lambda c, _: (np.sin(c) * v, None), v, None, length=2)[0],
        lambda v: lax.cond(np.sum(v) > 0, wave, np.cos, v),
        api.jit(wave),
    ]
    found = []
    for function in functions:
        ruled = api.custom_jvp(function)
        ruled.defjvp(functools.partial(api.jvp, function))
        loss = lambda v, f=ruled: np.sum(f(v))
        found.append((api.grad(loss)(x), api.jit(api.hessian(loss))(x), api.vmap(api.grad(ruled))(x)))
    return found


@program(lambda r: (uniform(r, 0.5, 2.0, 2).astype("float64"), normal(r)), vmap=False, usual=True, x64=True)
def rules_and_solves_in_double_precision(api, a, c):
    """With 64 bits: tangents and cotangents have the precision of what they belong to."""
    np, lax = api.numpy, api.lax
    f = api.custom_jvp(lambda x, y: np.sin(x) * y)
    f.defjvp(lambda p, t: (f(*p), np.cos(p[0]) * p[1] * t[0] + np.sin(p[0]) * t[1]))
    g = api.custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (g(x, y), (x, y)), lambda r, ct: (2.0 * ct * r[1], np.sum(ct * r[0]).astype(r[1].dtype)))
    newton = lambda f, x: lax.fori_loop(0, 20, lambda i, v: v - f(v) / (2 * v), x)
    root = lambda v: lax.custom_root(lambda x: x**2 - v, np.ones_like(v), newton, lambda g, y: y / g(np.ones_like(y)))
    loss = lambda a, c: np.sum(api.checkpoint(root)(g(f(a, c) ** 2 + 1.0, c) ** 2))
    return root(a), api.grad(loss, (0, 1))(a, c), api.jit(api.hessian(lambda v: np.sum(root(v))))(a)
