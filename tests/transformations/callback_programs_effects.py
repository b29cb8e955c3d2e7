"""Programs with callbacks for input, output and debugging; see callback_programs.py."""

import numpy as np

from tests.transformations.callback_programs import INT, ONE, ROWS, THREE, like, note, program, report, scalar

# --- callbacks for input and output ----------------------------------------------------------------------------------


@program(ONE, calls=3)
def io_in_order(api, record):
    def f(x):
        report(api, record, "first", x)
        y = api.numpy.sin(x)
        report(api, record, "second", y)
        report(api, record, "third", x + y)
        return y

    return f


@program(ONE, ordered=False, calls=2)
def io_without_order(api, record):
    def f(x):
        report(api, record, "a", x, ordered=False)
        report(api, record, "b", x * 2, ordered=False)
        return x

    return f


@program(THREE)
def io_with_results(api, record):
    counter = iter(range(100))

    def host(x):
        return np.asarray(x) + next(counter)

    def f(x):
        one = api.experimental.io_callback(host, like(api, x), x, ordered=True)
        return api.experimental.io_callback(host, like(api, x), one, ordered=True)

    return f


@program(INT)
def io_in_loops(api, record):
    def f(n):
        def step(i, c):
            report(api, record, "turn", i)
            report(api, record, "carry", c)
            return c + i

        total = api.lax.fori_loop(0, n, step, 0)
        report(api, record, "total", total)
        return total

    return f


@program(THREE)
def io_in_a_scan(api, record):
    def f(x):
        def step(c, row):
            report(api, record, "row", row)
            return c + row, c

        out = api.lax.scan(step, np.float32(0), x, reverse=True)
        report(api, record, "end", out[0])
        return out

    return f


@program(THREE)
def io_in_branches(api, record):
    def f(x):
        report(api, record, "before", x)
        for index in (0, 1, 2):
            api.lax.switch(
                index, [lambda x, tag=tag: report(api, record, tag, x) for tag in ("zero", "one", "two")], x + index
            )
        report(api, record, "after", x)
        return x

    return f


@program(ONE)
def io_in_jitted_calls(api, record):
    @api.jit
    def inner(x):
        report(api, record, "inner", x)
        return x + 1

    def f(x):
        report(api, record, "start", x)
        y = inner(inner(x))
        report(api, record, "end", y)
        return y

    return f


@program(THREE)
def io_mapped(api, record):
    def f(x):
        return api.vmap(
            lambda x: api.experimental.io_callback(lambda x: record("row", x) or np.asarray(x) * 2, scalar(api), x)
        )(x)

    return f


@program(ROWS)
def io_mapped_twice(api, record):
    def f(x):
        one = lambda x: api.experimental.io_callback(lambda x: record("row", x) or x, scalar(api), x)
        return api.vmap(api.vmap(one))(x)

    return f


@program(ONE)
def io_in_a_custom_rule(api, record):
    f = api.custom_jvp(lambda x: api.experimental.io_callback(lambda x: record("primal", x) or x, scalar(api), x))
    f.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    return lambda x: (f(x), api.grad(f)(x))


@program(ONE)
def io_past_a_gradient(api, record):
    def f(x):
        report(api, record, "x", api.lax.stop_gradient(x))
        return x * x

    return api.grad(f)


# --- debugging -------------------------------------------------------------------------------------------------------


@program(ONE)
def debug_under_gradients(api, record):
    def f(x):
        note(api, record, "x", x)
        y = api.numpy.sin(x)
        note(api, record, "y", y)
        return y * x

    return lambda x: (api.grad(f)(x), api.grad(api.grad(f))(x))


@program(ONE)
def debug_under_jvp(api, record):
    def f(x):
        note(api, record, "x", x)
        return api.numpy.sin(x)

    return lambda x: (api.jvp(f, (x,), (x,)), api.jacfwd(f)(x))


@program(THREE)
def debug_mapped(api, record):
    def f(x, y):
        api.debug.callback(lambda x, y: record("row", x, y), x, y)
        return x * y

    return lambda x: api.vmap(f, (0, None))(x, 2.0)


@program(THREE)
def debug_mapped_in_order(api, record):
    def f(x):
        note(api, record, "first", x)
        note(api, record, "second", x * 2)

    return api.vmap(f)


@program(ROWS)
def debug_mapped_twice(api, record):
    return lambda x: api.vmap(api.vmap(lambda x: note(api, record, "x", x)), in_axes=1)(x)


@program(THREE)
def debug_under_a_gradient_of_a_map(api, record):
    def f(x):
        note(api, record, "x", x)
        return x * x

    return api.grad(lambda x: api.numpy.sum(api.vmap(f)(x)))


@program(THREE)
def debug_under_a_mapped_gradient(api, record):
    def f(x):
        note(api, record, "x", x)
        return x * x

    return api.vmap(api.grad(f))


@program(ONE)
def debug_in_a_checkpoint(api, record):
    def f(x):
        note(api, record, "x", x)
        y = api.numpy.sin(x)
        note(api, record, "y", y)
        return api.numpy.sin(y)

    return lambda x: (api.checkpoint(f)(x), api.grad(api.checkpoint(f))(x))


@program(ONE)
def debug_in_a_checkpoint_that_keeps_all(api, record):
    def f(x):
        note(api, record, "x", x)
        return api.numpy.sin(api.numpy.sin(x))

    return api.grad(api.checkpoint(f, policy=api.checkpoint_policies.everything_saveable))


@program(ONE)
def debug_in_a_checkpoint_that_keeps_products(api, record):
    def f(x):
        note(api, record, "x", x)
        return api.numpy.sin(api.numpy.sin(x))

    return api.grad(api.checkpoint(f, policy=api.checkpoint_policies.dots_saveable))


@program(ONE)
def debug_in_a_jvp_rule(api, record):
    @api.custom_jvp
    def f(x):
        note(api, record, "f", x)
        return api.numpy.sin(x)

    def rule(primals, tangents):
        note(api, record, "rule", primals[0])
        note(api, record, "tangent", tangents[0])
        return f(*primals), api.numpy.cos(primals[0]) * tangents[0]

    f.defjvp(rule)
    return lambda x: (f(x), api.grad(f)(x), api.jvp(f, (x,), (2 * x,)))


@program(ONE, modes=("eager",))
def debug_of_a_tangent_linearized(api, record):
    f = api.custom_jvp(lambda x: x)

    def rule(primals, tangents):
        note(api, record, "tangent", tangents[0])
        return f(*primals), 2 * tangents[0]

    f.defjvp(rule)
    return lambda x: api.linearize(f, x)[1](x)


@program(ONE)
def debug_in_a_vjp_rule(api, record):
    @api.custom_vjp
    def f(x):
        note(api, record, "f", x)
        return api.numpy.sin(x)

    def fwd(x):
        note(api, record, "fwd", x)
        return f(x), x

    def bwd(x, ct):
        note(api, record, "bwd", ct)
        return (api.numpy.cos(x) * ct,)

    f.defvjp(fwd, bwd)
    return lambda x: (f(x), api.grad(lambda x: 3 * f(x))(x))


@program(ONE)
def debug_in_a_scan_under_a_gradient(api, record):
    def step(c, _):
        note(api, record, "c", c)
        return api.numpy.sin(c), c

    return api.grad(lambda x: api.lax.scan(step, x, None, length=3)[0])


@program(ONE)
def debug_in_a_branch_under_a_gradient(api, record):
    def branch(x):
        note(api, record, "taken", x)
        return x * x

    return api.grad(lambda x: api.lax.cond(x > 0, branch, lambda x: x, x))


@program(ONE)
def debug_in_a_while_loop(api, record):
    def condition(c):
        note(api, record, "test", c)
        return c < 3

    def body(c):
        note(api, record, "body", c)
        return c + 1

    return lambda x: api.lax.while_loop(condition, body, x)


@program(INT)
def debug_in_a_counted_condition(api, record):
    def condition(state):
        note(api, record, "test", state[0])
        return state[0] < state[1]

    def body(state):
        note(api, record, "body", state[0])
        return state[0] + 1, state[1]

    return lambda n: api.lax.while_loop(condition, body, (0, n))


@program(THREE)
def debug_in_a_mapped_branch(api, record):
    def f(x):
        return api.lax.cond(
            x > 1, lambda: note(api, record, "large", x) or x, lambda: note(api, record, "small", x) or -x
        )

    return api.vmap(f)


@program(THREE)
def debug_in_a_mapped_while_loop(api, record):
    def body(c):
        note(api, record, "body", c)
        return c + 1

    return lambda x: api.vmap(lambda x: api.lax.while_loop(lambda c: c < 3, body, x))(x)


@program(THREE, ordered=False)  # JAX 0.10 goes on too long with ordered effects here
def debug_in_a_mapped_condition(api, record):
    def condition(c):
        note(api, record, "test", c, ordered=False)
        return c < 3

    return lambda x: api.vmap(lambda x: api.lax.while_loop(condition, lambda c: c + 1, x))(x)


@program(THREE)
def debug_in_a_mapped_scan(api, record):
    def step(c, row):
        note(api, record, "row", row)
        return c + row, c

    return lambda x: api.vmap(lambda x: api.lax.scan(step, x, np.arange(2, dtype="float32")))(x)


@program(ONE, calls=2)
def debug_and_io_have_orders_of_their_own(api, record):
    def f(x):
        note(api, record, "x", x)
        note(api, record, "twice", 2 * x)
        return x

    return f


@program(THREE)
def debug_with_static_arguments(api, record):
    return lambda x: api.debug.callback(
        lambda x, text, *, kinds, none: record(text, x, sorted(kinds), none), x, "text", kinds={"a", "b"}, none=None
    )


@program(THREE)
def debug_in_two_calls(api, record):
    return lambda x: api.debug.callback(ordered=True)(lambda x, *, ordered: record("x", x, ordered), x, ordered=1)


@program(THREE)
def debug_keeps_what_it_is_given(api, record):
    kept = []

    def f(x):
        y = x * 2
        api.debug.callback(kept.append, y, ordered=True)
        y = y + 1
        api.debug.callback(kept.append, y, ordered=True)
        y = y * 3
        api.debug.callback(lambda: record("kept", *kept), ordered=True)
        return y

    return f


# --- printing --------------------------------------------------------------------------------------------------------


@program(THREE, INT)
def print_formats(api, record):
    def f(x, n):
        api.debug.print("x = {}, n = {n:d} {n:>4}", x, n=n, ordered=True)
        api.debug.print("{0} {1} {0}", n, x, ordered=True)
        api.debug.print("{tree} {tree[a]} {text!r} {pair[1]}", tree={"a": 1}, text="t", pair=(1, 2.5), ordered=True)
        api.debug.print("plain", ordered=True)
        api.debug.print("", ordered=True)
        return x

    return f


@program(ONE)
def print_numbers(api, record):
    def f(x):
        api.debug.print("{:.2f} {:e} {:8.3f}|", x, x, x, ordered=True)
        api.debug.print("{} {} {} {}", 1, 2.5, True, None, ordered=True)

    return f


@program(THREE)
def print_under_printoptions(api, record):
    def f(x):
        with np.printoptions(precision=2, suppress=True):
            api.debug.print("{}", x / 7, ordered=True)
        api.debug.print("{}", x / 7, ordered=True)

    return f


@program(THREE)
def print_mapped(api, record):
    return api.vmap(lambda x: api.debug.print("row {} of {}", x, 3.0))


@program(THREE)
def print_in_two_calls(api, record):
    return lambda x: api.debug.print(ordered=True)("x = {ordered}", ordered=x)


@program(THREE)
def print_without_check(api, record):
    return lambda x: api.debug.print("values", x, skip_format_check=True)


@program(ONE)
def print_in_a_checkpointed_scan(api, record):
    def step(c, _):
        api.debug.print("c = {}", c, ordered=True)
        return api.numpy.sin(c), None

    return api.grad(lambda x: api.lax.scan(api.checkpoint(step), x, None, length=2)[0])
