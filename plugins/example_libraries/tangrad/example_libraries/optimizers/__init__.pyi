# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.example_libraries.norms import clip_grads as clip_grads
from tangrad.example_libraries.norms import l2_norm as l2_norm
from tangrad.example_libraries.schedules import constant as constant
from tangrad.example_libraries.schedules import exponential_decay as exponential_decay
from tangrad.example_libraries.schedules import inverse_time_decay as inverse_time_decay
from tangrad.example_libraries.schedules import make_schedule as make_schedule
from tangrad.example_libraries.schedules import piecewise_constant as piecewise_constant
from tangrad.example_libraries.schedules import polynomial_decay as polynomial_decay
from tangrad.example_libraries.states import JoinPoint as JoinPoint
from tangrad.example_libraries.states import Optimizer as Optimizer
from tangrad.example_libraries.states import OptimizerState as OptimizerState
from tangrad.example_libraries.states import optimizer as optimizer
from tangrad.example_libraries.states import pack_optimizer_state as pack_optimizer_state
from tangrad.example_libraries.states import unpack_optimizer_state as unpack_optimizer_state
from tangrad.example_libraries.update_rules import adagrad as adagrad
from tangrad.example_libraries.update_rules import adam as adam
from tangrad.example_libraries.update_rules import adamax as adamax
from tangrad.example_libraries.update_rules import momentum as momentum
from tangrad.example_libraries.update_rules import nesterov as nesterov
from tangrad.example_libraries.update_rules import rmsprop as rmsprop
from tangrad.example_libraries.update_rules import rmsprop_momentum as rmsprop_momentum
from tangrad.example_libraries.update_rules import sgd as sgd
from tangrad.example_libraries.update_rules import sm3 as sm3

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
