# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from collections.abc import Sequence
from tangrad._scipy.example_libraries.activations import (
    Elu as Elu,
    Exp as Exp,
    Gelu as Gelu,
    LeakyRelu as LeakyRelu,
    LogSoftmax as LogSoftmax,
    Relu as Relu,
    Selu as Selu,
    Sigmoid as Sigmoid,
    Softmax as Softmax,
    Softplus as Softplus,
    Tanh as Tanh,
    elementwise as elementwise,
)
from tangrad._scipy.example_libraries.activations import Layer
from tangrad._scipy.example_libraries.combinators import (
    FanInConcat as FanInConcat,
    FanInSum as FanInSum,
    FanOut as FanOut,
    parallel as parallel,
    serial as serial,
    shape_dependent as shape_dependent,
)
from tangrad._scipy.example_libraries.layers import (
    BatchNorm as BatchNorm,
    Conv as Conv,
    Conv1DTranspose as Conv1DTranspose,
    ConvTranspose as ConvTranspose,
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    GeneralConv as GeneralConv,
    GeneralConvTranspose as GeneralConvTranspose,
    Identity as Identity,
)
from typing import Any

def AvgPool(window_shape: Sequence[int], strides: Any = ..., padding: Any = ..., spec: str | None = ...) -> Layer:
    """A layer of the mean of each window."""

def MaxPool(window_shape: Sequence[int], strides: Any = ..., padding: Any = ..., spec: str | None = ...) -> Layer:
    """A layer of the greatest element of each window."""

def SumPool(window_shape: Sequence[int], strides: Any = ..., padding: Any = ..., spec: str | None = ...) -> Layer:
    """A layer of the sum of each window."""

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "parallel",
    "serial",
    "shape_dependent",
]
