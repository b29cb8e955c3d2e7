"""Marsaglia and Tsang's cubes, of which the gamma distribution is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._random.distributions.normal import random_normal_p
from tangrad._random.distributions.stream import Stream, random_uniform_p
from tangrad.extend import lax
from tangrad.extend.lax import full, reduce_or, while_loop
from tangrad.typing import Value, Values

if TYPE_CHECKING:
    from tangrad.core import Array


def accepted_cubes(stream: Stream, c: Value, d: Value) -> Value:
    """(1 + c X)³ for normal X, accepted with the right probability. Elements that are done wait for the others."""
    shape, dtype = c.aval.shape, c.aval.dtype

    def is_rejected(square: Value, cube: Value, uniform: Value) -> Value:
        squeezed = lax.ge(uniform, lax.sub(np.array(1, dtype)[()], lax.mul(0.0331, lax.mul(square, square))))
        bound = lax.add(lax.mul(square, 0.5), lax.mul(d, lax.add(lax.sub(1, cube), lax.log(cube))))
        return lax.bitwise_and(squeezed, lax.ge(lax.log(uniform), bound))

    def step(state: Values) -> Values:
        waiting, keys, cube = state
        next_stream, for_normal, for_uniform = Stream(keys, stream.partitionable).split(3)
        x, root = _positive_roots(for_normal, waiting, c)
        new_cube = lax.mul(lax.mul(root, root), root)
        uniform = for_uniform.draw(random_uniform_p, shape=(), dtype=dtype)
        rejected = is_rejected(lax.mul(x, x), new_cube, uniform)
        cube = lax.select(waiting, new_cube, cube)
        return lax.bitwise_and(waiting, rejected), lax.select(waiting, next_stream.keys, keys), cube

    start = (full(shape, True, np.bool_), stream.keys, full(shape, 1, dtype))
    return while_loop(lambda state: _any(state[0]), step, start)[2]


def _positive_roots(stream: Stream, wanted: Value, c: Value) -> Values:
    """Normal numbers x for which 1 + c x is positive, and that."""
    shape, dtype = c.aval.shape, c.aval.dtype

    def step(state: Values) -> Values:
        waiting, keys, x, root = state
        next_stream, for_normal = Stream(keys, stream.partitionable).split()
        new_x = for_normal.draw(random_normal_p, shape=(), dtype=dtype)
        new_root = lax.add(1, lax.mul(new_x, c))
        x, root = lax.select(waiting, new_x, x), lax.select(waiting, new_root, root)
        keys = lax.select(waiting, next_stream.keys, keys)
        return lax.bitwise_and(waiting, lax.le(root, 0)), keys, x, root

    start = (wanted, stream.keys, full(shape, 0, dtype), full(shape, 1, dtype))
    return while_loop(lambda state: _any(state[0]), step, start)[2:]


def _any(mask: Value) -> Array:
    return reduce_or(mask, tuple(range(len(mask.aval.shape))))
