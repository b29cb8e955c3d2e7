"""Derivatives of derivatives: transformations that leave the arguments of a function as they are, one on another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tangrad
import tangrad.numpy as np

Flat = Callable[..., Sequence[Any]]


def chain(names: Sequence[str], function: Flat, seen: Any, inputs: Any, outputs: Any) -> Flat:
    """A function of arrays that returns several, transformed by each name in turn.

    Args:
        seen: `vector(number, value)`, a direction; `marked(value, axes)`, a value that differs along axes.
        inputs, outputs: along which axes arguments and results differ.
    """
    for name in names:
        if name in ("vjp", "grad", "transpose"):
            outputs = inputs
        function = _marking(TRANSFORMATIONS[name](function, seen.vector), seen.marked, outputs)
    return function


def _marking(function: Flat, mark: Any, outputs: Any) -> Flat:
    return lambda *args: tuple([mark(out, axes) for out, axes in zip(function(*args), outputs, strict=True)])


def _directions(vector: Any, values: Sequence[Any], start: int) -> tuple[Any, ...]:
    return tuple([vector(start + number, value) for number, value in enumerate(values)])


def _jvp(function: Flat, vector: Any) -> Flat:
    return lambda *xs: tuple(tangrad.jvp(lambda *a: tuple(function(*a)), xs, _directions(vector, xs, 1))[1])


def _linearize(function: Flat, vector: Any) -> Flat:
    return lambda *xs: tangrad.linearize(lambda *a: tuple(function(*a)), *xs)[1](*_directions(vector, xs, 1))


def _vjp(function: Flat, vector: Any) -> Flat:
    def run(*xs: Any) -> Any:
        outs, pullback = tangrad.vjp(lambda *a: tuple(function(*a)), *xs)
        return pullback(_directions(vector, outs, 3))

    return run


def _transpose(function: Flat, vector: Any) -> Flat:
    def run(*xs: Any) -> Any:
        outs, linear = tangrad.linearize(lambda *a: tuple(function(*a)), *xs)
        return tangrad.linear_transpose(linear, *xs)(_directions(vector, outs, 3))

    return run


def _grad(function: Flat, vector: Any) -> Flat:
    def loss(*xs: Any) -> Any:
        """One number; of whole arrays the total over all values that differ."""
        outs = function(*xs)
        total = sum([(out * vector(5 + number, out)).sum(-1) for number, out in enumerate(outs)])
        return total.sum()

    return lambda *xs: tangrad.grad(loss, tuple(range(len(xs))))(*xs)


def _vmap(function: Flat, vector: Any) -> Flat:
    def run(*xs: Any) -> Any:
        return tuple([out[0] - out[1] for out in tangrad.vmap(lambda *a: tuple(function(*a)))(*map(_pair, xs))])

    return run


def _pair(x: Any) -> Any:
    return np.stack([x, 0.5 * x])


TRANSFORMATIONS: dict[str, Callable[[Flat, Any], Flat]] = {
    "jvp": _jvp,
    "linearize": _linearize,
    "vjp": _vjp,
    "transpose": _transpose,
    "grad": _grad,
    "vmap": _vmap,
    "jit": lambda function, _: tangrad.jit(lambda *a: tuple(function(*a))),
    "checkpoint": lambda function, _: tangrad.checkpoint(lambda *a: tuple(function(*a))),
}
