# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._nn.activations import log1mexp as log1mexp
from tangrad._nn.normalization import (
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    softmax as softmax,
)

__all__ = [
    "log1mexp",
    "log_softmax",
    "logsumexp",
    "softmax",
]
