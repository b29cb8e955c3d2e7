"""Going through arrays, and taking them out of their library: loops, unpacking, printing, conversions."""

from typing import Any

import numpy as onp

from .idioms import TIMES, Idioms, square

IDIOMS = Idioms()
add = IDIOMS.add

add("list(x)", lambda api, x, n: list(x))
add("for v in x", lambda api, x, n: [v * 2 for v in x])
add("for row in m", lambda api, x, n: [row.sum() for row in square(x)])
add("a, b, c = x", lambda api, x, n: (lambda a, b, c: a + b * c)(*x[:3]))
add("a, *rest = x", lambda api, x, n: (lambda a, *rest: (a, rest))(*x))
add("zip(x, x)", lambda api, x, n: [u + v for u, v in zip(x, x, strict=True)])
add("enumerate(x)", lambda api, x, n: [i * v for i, v in enumerate(x)])
add("next(iter(x))", lambda api, x, n: next(iter(x)))
add("reversed(x)", lambda api, x, n: list(reversed(x)))
add("sum(x)", lambda api, x, n: sum(x))
add("max(x)", lambda api, x, n: max(x))
add("sorted(x)", lambda api, x, n: sorted(x[:20]))
add("3.0 in x", lambda api, x, n: 3.0 in x)
add("dict of rows", lambda api, x, n: dict(enumerate(x.reshape(-1, 1))))
add("map(float, x)", lambda api, x, n: list(map(float, x)))
add("numpy.iterable(x)", lambda api, x, n: onp.iterable(x))
add("numpy.array(list(x))", lambda api, x, n: onp.array(list(x)))
add("numpy.asarray(x)", lambda api, x, n: onp.asarray(x))
add("numpy.fromiter(x)", lambda api, x, n: onp.fromiter(x, "float32"))
add("x.tolist()", lambda api, x, n: x.tolist())
add("repr and str", lambda api, x, n: (repr(x), str(x[0])))
add("f'{x[i]:.3f}'", lambda api, x, n: [f"{x[i]:.3f}" for i in TIMES])
add("float(x[i])", lambda api, x, n: [float(x[i]) for i in TIMES])
add("x[i].item()", lambda api, x, n: [x[i].item() for i in TIMES])
add("if x[i] > 0", lambda api, x, n: [1 if x[i] > 0 else 0 for i in TIMES])
add("bool((x > i).any())", lambda api, x, n: [bool((x > i).any()) for i in TIMES])


@IDIOMS.named("moving average by hand")
def moving_average(api: Any, x: Any, n: int) -> Any:
    """A recurrence over the elements."""
    state = api.numpy.zeros(())
    for v in x:
        state = state * 0.9 + v
    return state
