"""Arrays that are made: of values that change, of lists, of one another, growing."""

from typing import Any

from .idioms import TIMES, Idioms

IDIOMS = Idioms()
add = IDIOMS.add

add("full(n, i)", lambda api, x, n: [api.numpy.full(n, i) for i in TIMES])
add("full_like(x, i)", lambda api, x, n: [api.numpy.full_like(x, i) for i in TIMES])
add("zeros(n) + ones(n)", lambda api, x, n: api.numpy.zeros(n) + api.numpy.ones(n))
add("ones(i), growing", lambda api, x, n: [api.numpy.ones(n + i) for i in range(8)])
add("arange(i, i + n)", lambda api, x, n: [api.numpy.arange(i, i + n) for i in TIMES])
add("arange(0.5 i, ...)", lambda api, x, n: [api.numpy.arange(i * 0.5, i * 0.5 + 10, 0.5) for i in TIMES])
add("linspace(i, i + 1, n)", lambda api, x, n: [api.numpy.linspace(i, i + 1.0, n) for i in TIMES])
add("logspace(0, i, n)", lambda api, x, n: [api.numpy.logspace(0, 1.0 + i / 10, n) for i in range(8)])
add("geomspace(1, i, n)", lambda api, x, n: [api.numpy.geomspace(1.0, 2.0 + i, n) for i in range(8)])
add("eye(n, k=i)", lambda api, x, n: [api.numpy.eye(n, k=i) for i in range(8)])
add("pad(x, 2, value i)", lambda api, x, n: [api.numpy.pad(x, 2, constant_values=i) for i in TIMES])
add("pad(x, (i, 30 - i))", lambda api, x, n: [api.numpy.pad(x, (i, 30 - i)) for i in range(8)])
add("meshgrid(x, x)", lambda api, x, n: api.numpy.meshgrid(x, x))
add("stack of scalars", lambda api, x, n: api.numpy.stack([x[i] for i in TIMES]))
add("asarray(list of scalars)", lambda api, x, n: api.numpy.asarray([x[i] for i in TIMES]))
add("asarray(list of floats)", lambda api, x, n: api.numpy.asarray([float(i) for i in range(n)]))
add("vstack of rows", lambda api, x, n: api.numpy.vstack([x * i for i in range(10)]))
add("hstack of rows", lambda api, x, n: api.numpy.hstack([x * i for i in range(10)]))
add("tile and repeat", lambda api, x, n: (api.numpy.tile(x, 3), api.numpy.repeat(x, 3)))
add("insert(x, i, 0)", lambda api, x, n: [api.numpy.insert(x, i, 0.0) for i in range(8)])
add("delete(x, i)", lambda api, x, n: [api.numpy.delete(x, i) for i in range(8)])
add("lax.full", lambda api, x, n: [api.lax.full((n,), i) for i in TIMES], False)
add("lax.pad with i", lambda api, x, n: [api.lax.pad(x, float(i), ((1, 1, 0),)) for i in TIMES], False)
add("nn.one_hot(i, 10)", lambda api, x, n: [api.nn.one_hot(i, 10) for i in TIMES], False)


@IDIOMS.named("append, growing")
def appended(api: Any, x: Any, n: int) -> Any:
    """A vector that gets longer by one in each step."""
    grown = x[:1]
    for i in range(8):
        grown = api.numpy.append(grown, float(i))
    return grown


@IDIOMS.named("concatenate, growing")
def concatenated(api: Any, x: Any, n: int) -> Any:
    """A vector that gets longer by a part of another one in each step."""
    grown = x
    for i in range(8):
        grown = api.numpy.concatenate([grown, x[i : i + 1]])
    return grown
