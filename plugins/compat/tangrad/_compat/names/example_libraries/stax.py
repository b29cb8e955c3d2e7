"""`jax.example_libraries.stax`: functions of `jax.nn` by their names in it."""

from typing import Any

import tangrad

_nn: Any = tangrad.nn
logsoftmax = _nn.log_softmax
glorot, randn = _nn.initializers.glorot_normal, _nn.initializers.normal

__all__ = ["glorot", "logsoftmax", "randn"]
