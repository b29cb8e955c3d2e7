"""Layers without parameters that apply a function to each element, or along the last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tangrad.numpy as tnp
from tangrad import nn
from tangrad.core import api_boundary

Layer = tuple[Callable[..., Any], Callable[..., Any]]


@api_boundary
def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies a function, which keeps the shape.

    Args:
        fun: a function of an array.
        fun_kwargs: its further arguments.

    Returns:
        The pair `(init_fun, apply_fun)`: `init_fun(rng, input_shape) -> (output_shape, ())` and
        `apply_fun((), inputs, **kwargs) -> outputs`.

    >>> import tangrad.numpy as np
    >>> from tangrad.example_libraries import stax
    >>> init_fun, apply_fun = stax.elementwise(np.clip, max=1.0)
    >>> init_fun(None, (2,)), apply_fun((), np.array([0.5, 2.0]))
    (((2,), ()), Array([0.5, 1. ], dtype=float32))
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return input_shape, ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return init_fun, apply_fun


Tanh = elementwise(tnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(tnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)  # type: ignore[has-type]  # a cycle, as mypy sees it
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)
