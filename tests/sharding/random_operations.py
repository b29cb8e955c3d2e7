"""What the steps of random programs do: with vectors on each device, and between devices.

A collective has two forms: with the names of axes, on each device; and on whole arrays, whose leading dimensions are
the axes of the mesh. A dimension of size 1 is an axis along which a value is the same.
"""

from collections.abc import Callable
from typing import Any

import numpy

import tangrad
import tangrad.numpy as np
from tangrad import lax

SIZE = 4  # of the vectors that all values are, on each device


# --- on each device ------------------------------------------------------------------------------------------------


@tangrad.custom_jvp
def by_rule_forward(x: Any) -> Any:
    return np.sin(x)


by_rule_forward.defjvp(lambda primals, tangents: (np.sin(primals[0]), 1.5 * np.cos(primals[0]) * tangents[0]))


@tangrad.custom_vjp
def by_rule_backward(x: Any, y: Any) -> Any:
    return np.sin(x) * y


by_rule_backward.defvjp(
    lambda x, y: (np.sin(x) * y, (x, y)), lambda kept, ct: (ct * np.cos(kept[0]) * kept[1], 0.5 * ct * np.sin(kept[0]))
)


def recurrence(x: Any, y: Any) -> Any:
    carry, out = lax.scan(lambda c, row: (np.tanh(c * 0.9 + row), c * x), np.ones(()), y)
    return carry + out.sum(0)


def turns(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: np.sin(c) + 0.5 * x, x)


def waited(x: Any, y: Any) -> Any:
    count, _ = lax.while_loop(lambda s: s[1] < 3.0, lambda s: (s[0] + 1, s[1] + 1.0), (0, lax.stop_gradient(x[0])))
    return y * count


def chosen(x: Any, y: Any) -> Any:
    return lax.cond(x[1] > 0, lambda: np.sin(x) * y, lambda: y * y)


def switched(x: Any, y: Any) -> Any:
    return lax.switch(np.int32(abs(lax.stop_gradient(x[0])) * 3), [lambda v: v, np.sin, lambda v: v * x], y)


def solved(x: Any, b: Any) -> Any:
    matrix = np.diag(2 + np.sin(x)) + 0.1 * np.outer(np.cos(x), np.ones(SIZE))
    return lax.custom_linear_solve(
        lambda v: matrix @ v, b, lambda _, b: np.linalg.solve(matrix, b), lambda _, b: np.linalg.solve(matrix.T, b)
    )


def solved_symmetric(x: Any, b: Any) -> Any:
    diagonal = 2 + np.sin(x)
    return lax.custom_linear_solve(lambda v: diagonal * v, b, lambda _, b: b / diagonal, symmetric=True)


def rooted(x: Any) -> Any:
    def newton(f: Any, z: Any) -> Any:
        return lax.fori_loop(0, 20, lambda _, z: z - f(z) / (1 + 0.2 * (1 - np.tanh(z) ** 2)), z)

    def divided(g: Any, y: Any) -> Any:
        slope = g(np.ones(SIZE))
        return lax.custom_linear_solve(g, y, lambda _, y: y / slope, symmetric=True)

    return lax.custom_root(lambda z: z + 0.2 * np.tanh(z) - x, np.zeros(SIZE), newton, divided)


def mapped_inside(x: Any, y: Any) -> Any:
    return tangrad.vmap(lambda a: np.sin(a) * lax.psum(a * y, "within"), axis_name="within")(x)[0]


LOCAL: dict[str, tuple[int, Callable[..., Any]]] = {
    "sin": (1, np.sin),
    "tanh": (1, lambda x: np.tanh(x) + 1),
    "power": (1, lambda x: x * x * 0.5),
    "total": (1, lambda x: np.sin(x).sum() * np.ones(SIZE)),
    "reversed": (1, lambda x: x[::-1]),
    "sorted": (1, np.sort),
    "add": (2, lambda x, y: x + 0.5 * y),
    "mul": (2, lambda x, y: x * y),
    "divide": (2, lambda x, y: x / (2 + np.sin(y))),
    "outer": (2, lambda x, y: np.outer(x, y) @ np.cos(x) / SIZE),
    "where": (2, lambda x, y: np.where(x > 0.3, x, y)),
    "gather": (2, lambda x, y: x[np.array([2, 0, 0, 1])] * y),
    "update": (2, lambda x, y: x.at[np.array([0, 2])].add(y[:2])),
    "jit": (2, tangrad.jit(lambda x, y: np.sin(x * y))),
    "checkpoint": (2, tangrad.checkpoint(lambda x, y: np.sin(np.cos(x) * y))),
    "custom_jvp": (1, by_rule_forward),
    "scan": (2, recurrence),
    "fori_loop": (1, turns),
    "while_loop": (2, waited),
    "cond": (2, chosen),
    "switch": (2, switched),
    "custom_linear_solve": (2, solved),
    "symmetric solve": (2, solved_symmetric),
    "custom_root": (1, rooted),
    "vmap": (2, mapped_inside),
}
BACKWARD_ONLY: dict[str, tuple[int, Callable[..., Any]]] = {"custom_vjp": (2, by_rule_backward)}


# --- between devices -----------------------------------------------------------------------------------------------


class Collective:
    """An operation over one axis.

    Attributes:
        named: (value, name) -> value, on a device.
        whole: (array, dimension, size) -> array, where the array has the dimension at its full size.
        differs: whether the result counts as differing along the axis.
    """

    def __init__(self, named: Callable[..., Any], whole: Callable[..., Any], differs: bool) -> None:
        self.named = named
        self.whole = whole
        self.differs = differs


def weights(count: int) -> Any:
    return numpy.cos(numpy.arange(1.0, count + 1))


def _gathered(x: Any, name: Any) -> Any:
    rows = lax.all_gather(x, name)
    return weights(rows.shape[0]) @ rows


def _whole_gathered(x: Any, dimension: int, size: int) -> Any:
    total = np.tensordot(x, weights(size), ((dimension,), (0,)))
    return np.repeat(np.expand_dims(total, dimension), size, dimension)


def _shift(size: int) -> list[tuple[int, int]]:
    return [(place, (place + 1) % size) for place in range(size)]


def _shifted(x: Any, name: Any, whole: bool) -> Any:
    pairs = _shift(lax.axis_size(name))
    return lax.ppermute(x, name, pairs if whole else pairs[:-1])


def _whole_shifted(x: Any, dimension: int, whole: bool) -> Any:
    moved = np.roll(x, 1, dimension)
    if whole:
        return moved
    first = tuple([slice(None)] * dimension)
    return moved.at[(*first, 0)].set(0.0)


def _scattered(x: Any, name: Any) -> Any:
    own = lax.psum_scatter(x, name, scatter_dimension=0, tiled=True)
    return np.tile(own, SIZE // own.shape[0])


def _whole_scattered(x: Any, dimension: int, size: int) -> Any:
    total = x.sum(dimension)
    parts = np.split(total, size, -1)
    return np.stack([np.tile(part, size) for part in parts], dimension)


def _exchanged(x: Any, name: Any) -> Any:
    size = lax.axis_size(name)
    return lax.all_to_all(x.reshape(size, SIZE // size), name, 0, 0, tiled=True).reshape(SIZE)


def _whole_exchanged(x: Any, dimension: int, size: int) -> Any:
    parts = np.moveaxis(x, dimension, 0).reshape(size, *x.shape[:dimension], *x.shape[dimension + 1 : -1], size, -1)
    swapped = np.moveaxis(np.swapaxes(parts, 0, -2), 0, dimension)
    return swapped.reshape(x.shape)


def _indexed(x: Any, name: Any) -> Any:
    return x * (1.0 + lax.axis_index(name))


def _whole_indexed(x: Any, dimension: int, size: int) -> Any:
    index = np.arange(1.0, size + 1)
    return x * index.reshape([size if place == dimension else 1 for place in range(x.ndim)])


def _kept(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dimension, size: reduce(x, axis=dimension, keepdims=True)


COLLECTIVES = {
    "psum": Collective(lax.psum, _kept(np.sum), False),
    "pmean": Collective(lax.pmean, _kept(np.mean), False),
    "pmax": Collective(lax.pmax, _kept(np.max), False),
    "all_gather": Collective(_gathered, _whole_gathered, True),
    "ppermute": Collective(lambda x, name: _shifted(x, name, True), lambda x, d, n: _whole_shifted(x, d, True), True),
    "ppermute to some": Collective(
        lambda x, name: _shifted(x, name, False), lambda x, d, n: _whole_shifted(x, d, False), True
    ),
    "psum_scatter": Collective(_scattered, _whole_scattered, True),
    "all_to_all": Collective(_exchanged, _whole_exchanged, True),
    "axis_index": Collective(_indexed, _whole_indexed, True),
    "pvary": Collective(lax.pvary, lambda x, dimension, size: x, True),
}
