# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.example_libraries.activations import Elu as Elu
from tangrad.example_libraries.activations import Exp as Exp
from tangrad.example_libraries.activations import Gelu as Gelu
from tangrad.example_libraries.activations import LeakyRelu as LeakyRelu
from tangrad.example_libraries.activations import LogSoftmax as LogSoftmax
from tangrad.example_libraries.activations import Relu as Relu
from tangrad.example_libraries.activations import Selu as Selu
from tangrad.example_libraries.activations import Sigmoid as Sigmoid
from tangrad.example_libraries.activations import Softmax as Softmax
from tangrad.example_libraries.activations import Softplus as Softplus
from tangrad.example_libraries.activations import Tanh as Tanh
from tangrad.example_libraries.activations import elementwise as elementwise
from tangrad.example_libraries.combinators import FanInConcat as FanInConcat
from tangrad.example_libraries.combinators import FanInSum as FanInSum
from tangrad.example_libraries.combinators import FanOut as FanOut
from tangrad.example_libraries.combinators import parallel as parallel
from tangrad.example_libraries.combinators import serial as serial
from tangrad.example_libraries.combinators import shape_dependent as shape_dependent
from tangrad.example_libraries.layers import BatchNorm as BatchNorm
from tangrad.example_libraries.layers import Conv as Conv
from tangrad.example_libraries.layers import Conv1DTranspose as Conv1DTranspose
from tangrad.example_libraries.layers import ConvTranspose as ConvTranspose
from tangrad.example_libraries.layers import Dense as Dense
from tangrad.example_libraries.layers import Dropout as Dropout
from tangrad.example_libraries.layers import Flatten as Flatten
from tangrad.example_libraries.layers import GeneralConv as GeneralConv
from tangrad.example_libraries.layers import GeneralConvTranspose as GeneralConvTranspose
from tangrad.example_libraries.layers import Identity as Identity
from tangrad.example_libraries.pooling import AvgPool as AvgPool
from tangrad.example_libraries.pooling import MaxPool as MaxPool
from tangrad.example_libraries.pooling import SumPool as SumPool

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
