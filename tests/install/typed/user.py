"""What users write, for mypy and pyright: the type of each expression is the comment behind it."""

from typing import Annotated, NamedTuple, reveal_type

import numpy
import numpy.typing

import tangrad
import tangrad.numpy as np
from tangrad import grad, jit, lax, random, tree, value_and_grad, vmap
from tangrad.typing import ArrayLike


class Params(NamedTuple):
    w: tangrad.Array
    b: tangrad.Array


class Measured:
    def __tangrad_array__(self) -> tangrad.Array:
        return np.ones(3)


def loss(w: tangrad.Array, x: tangrad.Array, y: tangrad.Array) -> tangrad.Array:
    return np.mean((np.dot(x, w) - y) ** 2)


def with_count(params: Params, x: tangrad.Array) -> tuple[tangrad.Array, int]:
    return np.sum(params.w * x + params.b), 3


def step(carry: tangrad.Array, x: tangrad.Array) -> tuple[tangrad.Array, tangrad.Array]:
    return carry + x, carry


def added(i: tangrad.Array, x: tangrad.Array) -> tangrad.Array:
    return x + i


def doubled(leaf: tangrad.Array) -> tangrad.Array:
    return leaf * 2


@jit
def update(w: tangrad.Array, x: tangrad.Array, y: tangrad.Array) -> tangrad.Array:
    return w - 0.1 * grad(loss)(w, x, y)


@tangrad.custom_jvp
def cubed(x: tangrad.Array) -> tangrad.Array:
    return x**3


@tangrad.custom_vjp
def clipped(x: tangrad.Array) -> tangrad.Array:
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),))


def rows(x: Annotated[tangrad.Array, "a b"]) -> Annotated[tangrad.Array, "b"]:
    return x[0]  # as a type checker reads jaxtyping's `Float[tangrad.Array, "a b"]`


def on_host(x: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float32]:
    return numpy.asarray(x, numpy.float32)


def squared(x: ArrayLike) -> tangrad.Array:
    return np.square(x)


key = random.key(0)
x = np.ones(3)
params = {"w": x, "b": np.zeros(())}
model = Params(x, x[0])
squares = [squared(Measured()), squared(numpy.ones(3)), squared(numpy.float32(1)), squared(2.0), squared(True)]

# --- arrays ---------------------------------------------------------------------------------------------------------

reveal_type(np.ones(3))  # Array
reveal_type(np.sin(x))  # Array
reveal_type(x.shape)  # tuple[int, ...]
reveal_type(x.dtype)  # dtype[Any]
reveal_type(x.ndim)  # int
reveal_type(x + 1)  # Array
reveal_type(2 * x)  # Array
reveal_type(x > 0)  # Array
reveal_type(x[0])  # Array
reveal_type(x[None, :, ...])  # Array
reveal_type(x.at[0].set(1.0))  # Array
reveal_type(x.sum())  # Array
reveal_type(x.T)  # Array
reveal_type(x.reshape(3, 1))  # Array
reveal_type(x.astype(np.float32))  # Array
reveal_type(list(x))  # list[Array]
reveal_type(float(x[0]))  # float

# --- functions ------------------------------------------------------------------------------------------------------

reveal_type(np.where(x > 0, x, 0))  # Array
reveal_type(np.concatenate([x, x]))  # Array
reveal_type(np.linalg.norm(x))  # Array
reveal_type(np.add.reduce(x))  # Array
reveal_type(np.float32(3))  # Array
reveal_type(np.unique(x))  # Array
reveal_type(np.unique(x, return_counts=True))  # tuple[Array, Array]
reveal_type(np.intersect1d(x, x))  # Array
reveal_type(np.gradient(x, axis=0))  # Array
reveal_type(np.atleast_1d(x, 2.0))  # tuple[Array, ...]
reveal_type(np.vectorize(doubled)(x))  # Array
reveal_type(lax.sort(x))  # Array
reveal_type(lax.sort([x, x]))  # tuple[Array, ...]
reveal_type(rows(x))  # Array
reveal_type(numpy.sin(on_host(x)).shape)  # tuple[Any, ...]
reveal_type(lax.scan(step, x, x))  # tuple[Array, Array]
reveal_type(lax.cond(True, np.sin, np.cos, x))  # Array
reveal_type(lax.fori_loop(0, 3, added, x))  # Array
reveal_type(random.normal(key, (3,)))  # Array
reveal_type(random.split(key))  # Array

# --- transformations ------------------------------------------------------------------------------------------------

reveal_type(update(x, x, x))  # Array
reveal_type(grad(loss)(x, x, x))  # Array
reveal_type(grad(loss, argnums=1)(x, x, x))  # Array
reveal_type(grad(loss, argnums=(0, 1))(x, x, x))  # tuple[Array, Array]
reveal_type(value_and_grad(with_count, has_aux=True)(model, x))  # tuple[tuple[Array, int], Params]
reveal_type(vmap(loss)(x, x, x))  # Array
reveal_type(vmap(grad(loss))(x, x, x))  # Array
reveal_type(tangrad.checkpoint(loss)(x, x, x))  # Array
reveal_type(cubed(x))  # Array
reveal_type(tangrad.jvp(cubed, (x,), (x,)))  # tuple[Array, Array]
reveal_type(tree.map(doubled, params))  # dict[str, Array]
reveal_type(jit(loss, donate_argnums=0)(x, x, x))  # Array
reveal_type(clipped(x))  # Array
reveal_type(tangrad.eval_shape(loss, x, x, x))  # ShapeDtypeStruct
reveal_type(tangrad.make_jaxpr(loss)(x, x, x).jaxpr)  # Jaxpr
reveal_type(tangrad.pure_callback(numpy.sin, x, x))  # Array
reveal_type(tangrad.shard_map(doubled, None, None, None)(x))  # Array
reveal_type(tangrad.xmap(doubled, ["i"], ["i"])(x))  # Array
reveal_type(tangrad.device_get(x))  # ndarray[Any, Any]
