"""Layers made of layers: one after another, side by side, and what joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tangrad.numpy as tnp
from tangrad import random
from tangrad._scipy.layers import Layer
from tangrad.core import Array, api_boundary

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Params


def _keys(rng: Any, count: int) -> tuple[None, ...] | Array:
    return (None,) * count if rng is None else random.split(rng, count)


@api_boundary
def serial(*layers: Layer) -> Layer:
    """Layers one after another.

    Args:
        layers: pairs `(init_fun, apply_fun)`. Where `apply_fun` is given `rng`, each layer gets a key of its own.

    Returns:
        The pair `(init_fun, apply_fun)` of all together; the parameters are a list with those of each.

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> init_fun, apply_fun = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(2), stax.LogSoftmax)
    >>> shape, params = init_fun(tangrad.random.key(0), (-1, 4))
    >>> shape, len(params), apply_fun(params, tangrad.numpy.ones((3, 4))).shape
    ((-1, 2), 4, (3, 2))
    """

    def init_fun(rng: Array, input_shape: object) -> object:
        params = []
        for init, _ in layers:
            rng, own = random.split(rng)
            input_shape, made = init(own, input_shape)
            params.append(made)
        return input_shape, params

    def apply_fun(params: Params, inputs: object, **kwargs: object) -> object:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for (_, apply), own, key in zip(layers, params, keys, strict=True):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


@api_boundary
def parallel(*layers: Layer) -> Layer:
    """Layers side by side: a list of inputs, one for each, gives a list of outputs.

    Args:
        layers: pairs `(init_fun, apply_fun)`. Where `apply_fun` is given `rng`, each layer gets a key of its own.

    Returns:
        The pair `(init_fun, apply_fun)` of all together; the parameters are a tuple with those of each.

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> residual = stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(4), stax.Identity), stax.FanInSum)
    >>> residual[0](tangrad.random.key(0), (-1, 4))[0]
    (-1, 4)
    """

    def init_fun(rng: Array, input_shape: Any) -> object:
        keys = random.split(rng, len(layers))
        pairs = [init(key, shape) for (init, _), key, shape in zip(layers, keys, input_shape, strict=True)]
        return [shape for shape, _ in pairs], tuple([params for _, params in pairs])

    def apply_fun(params: Params, inputs: Sequence[Array], **kwargs: object) -> object:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        return [
            apply(own, one, rng=key, **kwargs)
            for (_, apply), own, one, key in zip(layers, params, inputs, keys, strict=True)
        ]

    return init_fun, apply_fun


@api_boundary
def FanOut(num: int) -> Layer:
    """A layer that hands its inputs on `num` times, as a list.

    >>> from tangrad.example_libraries import stax
    >>> stax.FanOut(2)[1]((), 1.0)
    [1.0, 1.0]
    """

    def init_fun(rng: object, input_shape: object) -> tuple[list[object], tuple[()]]:
        return [input_shape] * num, ()

    def apply_fun(params: object, inputs: object, **kwargs: object) -> object:
        return [inputs] * num

    return init_fun, apply_fun


def _first_shape(rng: object, input_shape: Any) -> object:
    return input_shape[0], ()


def _sum(params: object, inputs: Sequence[Array], **kwargs: object) -> Any:
    return sum(inputs)


FanInSum: Layer = (_first_shape, _sum)


@api_boundary
def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins a list of inputs along an axis.

    >>> import tangrad.numpy as np
    >>> from tangrad.example_libraries import stax
    >>> init_fun, apply_fun = stax.FanInConcat()
    >>> init_fun(None, [(2, 3), (2, 4)])[0]
    (2, 7)
    """

    def init_fun(rng: object, input_shape: Any) -> object:
        shape = list(input_shape[0])
        shape[axis] = sum([one[axis] for one in input_shape])
        return tuple(shape), ()

    def apply_fun(params: object, inputs: ArrayLike, **kwargs: object) -> Array:
        return tnp.concatenate(inputs, axis)

    return init_fun, apply_fun


@api_boundary
def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known.

    Args:
        make_layer: `input_shape -> (init_fun, apply_fun)`.

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> same_size = stax.shape_dependent(lambda shape: stax.Dense(shape[-1]))
    >>> same_size[0](tangrad.random.key(0), (-1, 5))[0]
    (-1, 5)
    """

    def init_fun(rng: object, input_shape: object) -> object:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Params, inputs: ArrayLike, **kwargs: object) -> object:
        return make_layer(tnp.shape(inputs))[1](params, inputs, **kwargs)

    return init_fun, apply_fun
