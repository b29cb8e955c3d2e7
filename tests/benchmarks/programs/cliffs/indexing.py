"""Parts of arrays at places that change: indices, slices, windows, masks, and changed copies."""

import numpy as onp

from .idioms import TIMES, Idioms, square

IDIOMS = Idioms()
add = IDIOMS.add

add("x[i]", lambda api, x, n: [x[i] for i in TIMES])
add("x[-i]", lambda api, x, n: [x[-i - 1] for i in TIMES])
add("x[i:i + 3]", lambda api, x, n: [x[i : i + 3] for i in TIMES])
add("x[:i]", lambda api, x, n: [x[: i + 1] for i in range(8)])
add("x[i:i + 20:2]", lambda api, x, n: [x[i : i + 20 : 2] for i in TIMES])
add("x[i + 5:i:-1]", lambda api, x, n: [x[i + 5 : i : -1] for i in TIMES])
add("x[::-1]", lambda api, x, n: x[::-1])
add("batches", lambda api, x, n: [x[i : i + 10].mean() for i in range(0, 90, 10)])
add("m[i, j]", lambda api, x, n: [square(x)[i, 7 - i] for i in range(8)])
add("m[:, i]", lambda api, x, n: [square(x)[:, i] for i in range(8)])
add("m[i:i + 2, j:j + 2]", lambda api, x, n: [square(x)[i : i + 2, j : j + 2] for i in range(6) for j in range(6)])
add("m[i:i + 2, j]", lambda api, x, n: [square(x)[i : i + 2, i] for i in range(6)])
add("x[array of indices]", lambda api, x, n: [x[onp.array([i, i + 1, i + 2])] for i in TIMES])
add("x[x > i]", lambda api, x, n: [x[x > i] for i in range(4)])
add("take(x, i)", lambda api, x, n: [api.numpy.take(x, i) for i in TIMES])
add("x[argsort(x)]", lambda api, x, n: x[api.numpy.argsort(x)])
add("x[argmax(x)]", lambda api, x, n: x[api.numpy.argmax(x)])
add("split(x, 10)", lambda api, x, n: api.numpy.split(x[:100], 10))
add("split(x, [i])", lambda api, x, n: [api.numpy.split(x[:20], [i + 1]) for i in range(4)])
add("array_split(x, 7)", lambda api, x, n: api.numpy.array_split(x, 7))
add("roll(x, i)", lambda api, x, n: [api.numpy.roll(x, i) for i in TIMES])
add("roll(m, (i, -i))", lambda api, x, n: [api.numpy.roll(square(x), (i, -i), (0, 1)) for i in range(8)])
add("len(x[i:])", lambda api, x, n: [len(x[i:]) for i in range(4)])
add("lax.slice", lambda api, x, n: [api.lax.slice(x, (i,), (i + 4,)) for i in TIMES], False)
add("lax.dynamic_slice", lambda api, x, n: [api.lax.dynamic_slice(x, (i,), (4,)) for i in TIMES], False)
add("lax.index_in_dim", lambda api, x, n: [api.lax.index_in_dim(x, i) for i in TIMES], False)
add("x.at[i].set(i)", lambda api, x, n: [x.at[i].set(i) for i in TIMES], False)
add("x.at[i:i + 3].set(0)", lambda api, x, n: [x.at[i : i + 3].set(0.0) for i in TIMES], False)
add("x.at[i].add(i)", lambda api, x, n: [x.at[i].add(i) for i in TIMES], False)
add("x.at[x > i].set(0)", lambda api, x, n: [x.at[x > i].set(0) for i in TIMES], False)
add("m.at[:, i].set(0)", lambda api, x, n: [square(x).at[:, i].set(0.0) for i in range(8)], False)
add("swap neighbours", lambda api, x, n: [x.at[i].set(x[i + 1]).at[i + 1].set(x[i]) for i in TIMES], False)
