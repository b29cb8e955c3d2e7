"""Optimizers. Each returns an `Optimizer`: `init_fun`, `update_fun`, `params_fun`.

Step sizes are numbers, or schedules: functions of the number of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.example_libraries.schedules import make_schedule
from tangrad._scipy.example_libraries.states import optimizer
from tangrad.core import api_boundary

Rule = tuple[Any, Any, Any]


def _first(state: Any) -> Any:
    return state[0]


def _with_zeros(count: int) -> Callable[[Any], tuple[Any, ...]]:
    """How a state begins: the parameters, and as many arrays of zeros like them."""
    return lambda x0: (x0, *[tnp.zeros_like(x0) for _ in range(count)])


def _average(decay: Any, average: Any, new: Any) -> Any:
    """A moving average, one step on."""
    return decay * average + (1 - decay) * new


def _weight(decay: Any, step: Any, dtype: Any) -> Any:
    """The weights of a moving average that began with 0, summed: its divisor (Kingma and Ba, section 3)."""
    return 1 - tnp.asarray(decay, dtype) ** (step + 1)


@api_boundary
@optimizer
def sgd(step_size: Any) -> Rule:
    """Gradient descent: `x - step_size * g`.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.sgd(0.1)
    >>> params_fun(update_fun(0, 2.0, init_fun(1.0)))
    0.8
    """
    size = make_schedule(step_size)
    return lambda x0: x0, lambda i, g, x: x - size(i) * g, lambda x: x


@api_boundary
@optimizer
def momentum(step_size: Any, mass: Any) -> Rule:
    """Gradient descent with momentum (Polyak, 1964): the velocity is `mass` times itself, plus the gradient.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.momentum(0.1, 0.9)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.8
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * velocity, velocity

    return _with_zeros(1), update, _first


@api_boundary
@optimizer
def nesterov(step_size: Any, mass: Any) -> Rule:
    """Gradient descent with Nesterov's momentum (1983).

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.nesterov(0.1, 0.9)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.62
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * (mass * velocity + g), velocity

    return _with_zeros(1), update, _first


def _inverse_root(squares: Any) -> Any:
    """1 / sqrt(x), and 0 at 0."""
    return tnp.where(squares > 0, 1 / tnp.sqrt(tnp.where(squares > 0, squares, 1)), 0)


@api_boundary
@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Rule:
    """Adagrad (Duchi, Hazan and Singer, 2011), with momentum.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.adagrad(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.99
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + tnp.square(g)
        mean = _average(momentum, mean, g * _inverse_root(squares))
        return x - size(i) * mean, squares, mean

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Rule:
    """RMSProp (Tieleman and Hinton, 2012): gradients in units of a running mean of their squares.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.rmsprop(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.684
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = _average(gamma, squares, tnp.square(g))
        return x - size(i) * g / tnp.sqrt(squares + eps), squares

    return _with_zeros(1), update, _first


@api_boundary
@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Rule:
    """RMSProp with momentum.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.rmsprop_momentum(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.684
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, velocity = state
        squares = _average(gamma, squares, tnp.square(g))
        velocity = momentum * velocity + size(i) * g / tnp.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Rule:
    """Adam (Kingma and Ba, 2015).

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.adam(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.9
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, squares = state
        mean, squares = _average(b1, mean, g), _average(b2, squares, tnp.square(g))
        spread = tnp.sqrt(squares / _weight(b2, i, mean.dtype))
        return x - size(i) * (mean / _weight(b1, i, mean.dtype)) / (spread + eps), mean, squares

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Rule:
    """AdaMax (Kingma and Ba, 2015): Adam with the largest recent gradient in the place of their mean square.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.adamax(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.9
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean, largest = _average(b1, mean, g), tnp.maximum(b2 * largest, tnp.abs(g))
        return x - size(i) / _weight(b1, i, mean.dtype) * mean / (largest + eps), mean, largest

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Rule:
    """SM3 (Anil, Gupta, Koren and Singer, 2019): Adagrad that keeps a row of squares for each axis.

    >>> import tangrad.numpy as np
    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.sm3(0.1)
    >>> params_fun(update_fun(0, np.array([2.0, 0.0]), init_fun(np.ones(2))))
    Array([0.99, 1.  ], dtype=float32)
    """
    size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        x0 = tnp.asarray(x0)
        return x0, tnp.zeros_like(x0), [tnp.zeros(extent, x0.dtype) for extent in x0.shape]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, rows = state
        squares = tnp.square(g)
        if rows:
            least = _along(rows[0], 0, x.ndim)
            for axis, row in enumerate(rows[1:], 1):
                least = tnp.minimum(least, _along(row, axis, x.ndim))
            squares = least + squares
        mean = _average(momentum, mean, g * _inverse_root(squares))
        rows = [squares.max([other for other in range(x.ndim) if other != axis]) for axis in range(x.ndim)]
        return x - size(i) * mean, mean, rows

    return init, update, _first


def _along(row: Any, axis: int, ndim: int) -> Any:
    """A row as an array of `ndim` dimensions, of which only one is not 1."""
    return row.reshape([-1 if dimension == axis else 1 for dimension in range(ndim)])
