"""Arrays among what is not arrays: text, Python's own functions, NumPy's functions, copies, files."""

import copy
import functools
import io
import json
import math
import operator
import pickle
import statistics

import numpy as onp

from .idioms import TIMES, Idioms, square

IDIOMS = Idioms()
add = IDIOMS.add

add("'%.3f' % x[i]", lambda api, x, n: [f"{i}: {x[i]:.3f} of {x[-1]:g}" for i in range(8)])
add("f'{x.mean():.2f}'", lambda api, x, n: f"{x.mean():.2f} ± {x.std():.2f}")
add("str of rows", lambda api, x, n: [str(row) for row in square(x)])
add("json of x", lambda api, x, n: json.dumps({"x": x.tolist(), "n": int(x.sum())}))
add("{i: float(v)}", lambda api, x, n: {i: float(v) for i, v in enumerate(x)})
add("sorted(key=x[i])", lambda api, x, n: sorted(range(20), key=lambda i: -x[i]))
add("min(key=|x[i] - 4|)", lambda api, x, n: min(range(20), key=lambda i: abs(x[i] - 4.0)))
add("all(v >= 0)", lambda api, x, n: all(v >= 0 for v in x))
add("[v for v in x if v > 4]", lambda api, x, n: [v for v in x if v > 4])
add("reduce(add, x)", lambda api, x, n: functools.reduce(operator.add, x))
add("math.sqrt(x[i])", lambda api, x, n: [math.sqrt(x[i]) for i in TIMES])
add("names[int(x[i])]", lambda api, x, n: ["abcdefghij"[int(x[i])] for i in TIMES])
add("statistics.mean", lambda api, x, n: statistics.fmean(x.tolist()))
add("running best", lambda api, x, n: functools.reduce(lambda best, i: x[i] if x[i] > best else best, TIMES, x[0]))
add("numpy.sin(x)", lambda api, x, n: onp.sin(onp.asarray(x)))
add("numpy.mean(x)", lambda api, x, n: (onp.mean(x), onp.std(x), onp.max(x)))
add("numpy.histogram(x)", lambda api, x, n: onp.histogram(x, 10))
add("assert_allclose(x, x)", lambda api, x, n: onp.testing.assert_allclose(x, x, rtol=1e-5))
add("numpy.asarray of columns", lambda api, x, n: {i: onp.asarray(square(x)[:, i]) for i in range(8)})
add("x.shape, x.dtype, len(x)", lambda api, x, n: [(x.shape[0], x.ndim, x.size, x.dtype, len(x)) for _ in TIMES])
add("deepcopy(x)", lambda api, x, n: copy.deepcopy({"x": x, "y": [x, x]}))
add("pickle", lambda api, x, n: pickle.loads(pickle.dumps(x)))
add("numpy.save", lambda api, x, n: onp.save(io.BytesIO(), x))
