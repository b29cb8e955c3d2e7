"""What other distributions may use of tangrad-nn, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._nn.activations": "log1mexp",
        "tangrad._nn.normalization": "log_softmax logsumexp softmax",
        "tangrad._nn.primitives": "softmax_p",
    },
)
