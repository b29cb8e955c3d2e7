"""Random programs over two arrays of four numbers, as data, and two ways to run them: by references, and by values."""

import random

SIZE = 4
UPDATES = ("set", "add", "swap", "whole")
BLOCKS = ("scan", "cond", "while", "jit", "fori")


def draw_program(seed, depth=2, length=3):
    """Statements: `(update, array, index, source)`, or `(block, statements, ...)`."""
    draw = random.Random(seed)
    return _statements(draw, depth, length)


def _statements(draw, depth, length):
    return [_statement(draw, depth) for _ in range(draw.randint(1, length))]


def _statement(draw, depth):
    if depth and draw.random() < 0.5:
        blocks = [_statements(draw, depth - 1, 3) for _ in range(2)]
        return (draw.choice(BLOCKS), *blocks, draw.randrange(SIZE))
    return draw.choice(UPDATES), draw.randrange(2), draw.randrange(SIZE), draw.randrange(SIZE)


def by_references(ns, program):
    """The program as a function of a vector, in the names of `ns`: `new_ref`, `ref`, `lax`, `numpy`, `jit`."""

    def run(statements, refs, x, i):
        for statement in statements:
            kind, *rest = statement
            if kind in UPDATES:
                update(kind, refs, x, i, *rest)
            else:
                block(kind, refs, x, *rest)

    def update(kind, refs, x, i, which, index, source):
        ref, other = refs[which], refs[1 - which]
        value = ns.numpy.sin(other[source] * 0.7) + x[i] * 0.5
        if kind == "set":
            ref[index] = value
        elif kind == "add":
            ns.ref.addupdate(ref, i, value)
        elif kind == "swap":
            other[index] = ns.ref.swap(ref, source, value)
        else:
            ref[...] = ref[...] * 0.5 + value

    def block(kind, refs, x, first, second, index):
        if kind == "scan":
            ns.lax.scan(lambda c, i: (run(first, refs, x, i), c)[1:] + (None,), 0, ns.numpy.arange(SIZE))
        elif kind == "fori":
            ns.lax.fori_loop(0, 2, lambda i, c: (run(first, refs, x, i), c)[1], 0)
        elif kind == "cond":
            holds = refs[0][index] > refs[1][index]
            ns.lax.cond(holds, lambda: run(first, refs, x, 0), lambda: run(second, refs, x, 1))
        elif kind == "while":
            body = lambda n: (run(first, refs, x, n), n + 1)[1]
            ns.lax.while_loop(lambda n: (n < 2) & (refs[0][index] < 1e3), body, 0)
        else:
            ns.jit(lambda y: run(first, refs, y, index))(x)

    def function(x):
        x = ns.numpy.asarray(x)
        refs = [ns.new_ref(x), ns.new_ref(x * x)]
        run(program, refs, x, 0)
        return ns.numpy.sum(refs[0][...] * refs[1][...][::-1])

    return function


def by_values(ns, program):
    """The same function without references: what a block changes it takes and returns."""

    def run(statements, state, x, i):
        for statement in statements:
            kind, *rest = statement
            state = update(kind, state, x, i, *rest) if kind in UPDATES else block(kind, state, x, *rest)
        return state

    def update(kind, state, x, i, which, index, source):
        own, other = state[which], state[1 - which]
        value = ns.numpy.sin(other[source] * 0.7) + x[i] * 0.5
        if kind == "set":
            own = own.at[index].set(value)
        elif kind == "add":
            own = own.at[i].add(value)
        elif kind == "swap":
            other, own = other.at[index].set(own[source]), own.at[source].set(value)
        else:
            own = own * 0.5 + value
        return (own, other) if which == 0 else (other, own)

    def block(kind, state, x, first, second, index):
        if kind == "scan":
            return ns.lax.scan(lambda s, i: (run(first, s, x, i), None), state, ns.numpy.arange(SIZE))[0]
        if kind == "fori":
            return ns.lax.fori_loop(0, 2, lambda i, s: run(first, s, x, i), state)
        if kind == "cond":
            holds = state[0][index] > state[1][index]
            return ns.lax.cond(holds, lambda s: run(first, s, x, 0), lambda s: run(second, s, x, 1), state)
        if kind == "while":
            more = lambda s: (s[0] < 2) & (s[1][0][index] < 1e3)
            return ns.lax.while_loop(more, lambda s: (s[0] + 1, run(first, s[1], x, s[0])), (0, state))[1]
        return ns.jit(lambda s, y: run(first, s, y, index))(state, x)

    def function(x):
        x = ns.numpy.asarray(x)
        first, second = run(program, (x, x * x), x, 0)
        return ns.numpy.sum(first * second[::-1])

    return function


def has_while(statements):
    """Whether a program has a loop that reverse mode cannot go back."""
    return any([kind == "while" or any(map(has_while, rest[:2])) for kind, *rest in statements if kind not in UPDATES])
