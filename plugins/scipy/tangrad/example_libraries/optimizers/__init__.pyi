# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.example_libraries.norms import (
    clip_grads as clip_grads,
    l2_norm as l2_norm,
)
from tangrad._scipy.example_libraries.schedules import (
    constant as constant,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    make_schedule as make_schedule,
    piecewise_constant as piecewise_constant,
    polynomial_decay as polynomial_decay,
)
from tangrad._scipy.example_libraries.states import (
    JoinPoint as JoinPoint,
    Optimizer as Optimizer,
    OptimizerState as OptimizerState,
    optimizer as optimizer,
    pack_optimizer_state as pack_optimizer_state,
    unpack_optimizer_state as unpack_optimizer_state,
)
from tangrad._scipy.example_libraries.update_rules import (
    adagrad as adagrad,
    adam as adam,
    adamax as adamax,
    momentum as momentum,
    nesterov as nesterov,
    rmsprop as rmsprop,
    rmsprop_momentum as rmsprop_momentum,
    sgd as sgd,
    sm3 as sm3,
)

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]
