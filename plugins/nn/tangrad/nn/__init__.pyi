# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.nn.activations import celu as celu
from tangrad.nn.activations import elu as elu
from tangrad.nn.activations import gelu as gelu
from tangrad.nn.activations import glu as glu
from tangrad.nn.activations import hard_sigmoid as hard_sigmoid
from tangrad.nn.activations import hard_silu as hard_silu
from tangrad.nn.activations import hard_swish as hard_swish
from tangrad.nn.activations import hard_tanh as hard_tanh
from tangrad.nn.activations import identity as identity
from tangrad.nn.activations import leaky_relu as leaky_relu
from tangrad.nn.activations import log1mexp as log1mexp
from tangrad.nn.activations import log_sigmoid as log_sigmoid
from tangrad.nn.activations import mish as mish
from tangrad.nn.activations import relu as relu
from tangrad.nn.activations import relu6 as relu6
from tangrad.nn.activations import selu as selu
from tangrad.nn.activations import sigmoid as sigmoid
from tangrad.nn.activations import silu as silu
from tangrad.nn.activations import soft_sign as soft_sign
from tangrad.nn.activations import softplus as softplus
from tangrad.nn.activations import sparse_plus as sparse_plus
from tangrad.nn.activations import sparse_sigmoid as sparse_sigmoid
from tangrad.nn.activations import squareplus as squareplus
from tangrad.nn.activations import swish as swish
from tangrad.nn.attention import dot_product_attention as dot_product_attention
from tangrad.nn.encoding import one_hot as one_hot
from tangrad.nn.normalization import log_softmax as log_softmax
from tangrad.nn.normalization import logmeanexp as logmeanexp
from tangrad.nn.normalization import logsumexp as logsumexp
from tangrad.nn.normalization import softmax as softmax
from tangrad.nn.normalization import standardize as standardize
from tangrad.nn.scaled_products import scaled_matmul as scaled_matmul
from tangrad.numpy.transcendental import tanh as tanh

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "scaled_matmul",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]
