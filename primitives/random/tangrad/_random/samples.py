"""Samples of the random primitives, for the conformance kit. Keys enter and leave as words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tangrad import random as functions
from tangrad._random.ciphers import random_unwrap_p, random_wrap_p
from tangrad._random.family import random
from tangrad._random.generators import RandomAlgorithm
from tangrad._random.keys import is_key
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import Array, Literal, Primitive
from tangrad.typing import ArrayLike, Value

P = random.primitives
NEAR = 1e-4
WORDS = np.array([17, 42], np.uint32)


def samples() -> list[Sample]:
    """All of them."""
    key = functions.key(7)
    found = [_recorded(name, partial(function, key)) for name, function in _DRAWN.items()]
    found += [_recorded(name, partial(function, key)) for name, function in _WITH_PARAMETERS.items()]
    found.append(Sample(P["random_wrap"], (WORDS,), {"impl": key.dtype}, leave=_words))
    found.append(Sample(P["random_unwrap"], (WORDS,), enter=partial(_enter, key.dtype, True)))
    found.append(Sample(P["random_seed"], (np.int32(3),), {"impl": key.dtype}, leave=_words))
    found.append(Sample(P["random_seed"], (np.array([3, 5], np.int32),), {"impl": key.dtype}, leave=_words))
    found.append(Sample(P["random_between"], (draw(4, low=0, high=1), np.float32(-1), np.float32(2)), derivatives=0))
    found += [*_generators()]
    for impl in ("rbg", "unsafe_rbg"):
        other = functions.key(7, impl=impl)
        found += [_recorded(name, partial(_DRAWN[name], other)) for name in _DRAWN_BY_EACH_GENERATOR]
        found.append(Sample(P["random_seed"], (np.array([3, 5], np.int32),), {"impl": other.dtype}, leave=_words))
    words = tuple([draw(3, dtype="uint32", high=1000, seed=seed) for seed in range(4)])
    found.append(Sample(P["threefry2x32"], words))
    found.append(Sample(P["threefry2x32"], (np.uint32(1), np.uint32(2), words[2], words[3])))
    return found


def _generators() -> list[Sample]:
    """A state whose counter is about to carry, and each way in which the two words of a cipher can be paired."""
    state = np.array([17, 42, 0xFFFFFFFF, 0xFFFFFFFF], np.uint32)
    default, fry, philox = RandomAlgorithm
    drawn = [
        (default, (5,), "uint32"),
        (philox, (3,), "uint64"),
        (fry, (), "uint32"),
        (fry, (3, 2), "uint8"),
        (fry, (3, 5), "uint16"),
        (fry, (3,), "uint64"),
    ]
    names = ("algorithm", "shape", "dtype")
    return [
        Sample(P["rng_bit_generator"], (state,), dict(zip(names, (algorithm, shape, np.dtype(dtype)))))
        for algorithm, shape, dtype in drawn
    ]


_DRAWN_BY_EACH_GENERATOR = ("random_split", "random_clone", "random_fold_in", "random_bits", "random_uniform")
_DRAWN: dict[str, Callable[..., object]] = {
    "random_split": lambda key: functions.split(key, 3),
    "random_clone": functions.clone,
    "random_fold_in": lambda key: functions.fold_in(key, 5),
    "random_bits": lambda key: functions.bits(key, (3,)),
    "random_uniform": lambda key: functions.uniform(key, (3,)),
    "random_exponential": lambda key: functions.exponential(key, (3,)),
    "random_gumbel": lambda key: functions.gumbel(key, (3,)),
    "random_laplace": lambda key: functions.laplace(key, (3,)),
    "random_logistic": lambda key: functions.logistic(key, (3,)),
    "random_cauchy": lambda key: functions.cauchy(key, (3,)),
    "random_normal": lambda key: functions.normal(key, (3,)),
    "random_maxwell": lambda key: functions.maxwell(key, (3,)),
}
_WITH_PARAMETERS: dict[str, Callable[..., object]] = {
    "random_integers": lambda key: functions.randint(key, (3,), -5, 9),
    "random_bernoulli": lambda key: functions.bernoulli(key, np.float32(0.3), (3,)),
    "random_fine_bernoulli": lambda key: functions.bernoulli(key, np.float32(0.3), (3,), mode="high"),
    "random_truncated_normal": lambda key: functions.truncated_normal(key, np.float32(-1), np.float32(2), (3,)),
    "random_lognormal": lambda key: functions.lognormal(key, np.float32(0.5), (3,)),
    "random_double_sided_maxwell": lambda key: functions.double_sided_maxwell(
        key, np.float32(0.5), np.float32(2), (3,)
    ),
    "random_pareto": lambda key: functions.pareto(key, np.float32(2), (3,)),
    "random_rayleigh": lambda key: functions.rayleigh(key, np.float32(2), (3,)),
    "random_wald": lambda key: functions.wald(key, np.float32(2), (3,)),
    "random_geometric": lambda key: functions.geometric(key, np.float32(0.3), (3,)),
    "random_triangular": lambda key: functions.triangular(key, np.float32(-1), np.float32(0.5), np.float32(2), (3,)),
    "random_gamma": lambda key: functions.gamma(key, np.float32(0.7), (3,)),
    "random_beta": lambda key: functions.beta(key, np.float32(2), np.float32(3), (3,)),
    "random_dirichlet": lambda key: functions.dirichlet(key, np.array([0.5, 1, 2], np.float32)),
    "random_chisquare": lambda key: functions.chisquare(key, np.float32(3), (3,)),
    "random_f": lambda key: functions.f(key, np.float32(3), np.float32(5), (3,)),
    "random_t": lambda key: functions.t(key, np.float32(3), (3,)),
    "random_generalized_normal": lambda key: functions.generalized_normal(key, np.float32(1.5), (3,)),
    "random_ball": lambda key: functions.ball(key, 3, np.float32(1.5), (2,)),
    "random_poisson": lambda key: functions.poisson(key, np.float32(4), (3,)),
    "random_binomial": lambda key: functions.binomial(key, np.float32(9), np.float32(0.3), (3,)),
    "random_shuffle": lambda key: functions.permutation(key, np.arange(5.0, dtype=np.float32)),
}


def _recorded(name: str, function: Callable[..., object]) -> Sample:
    """How a public function applies the primitive. Draws in single precision: not differentiated numerically."""
    primitive: Primitive = P[name]
    operands, params = recorded(primitive, function)
    kinds = [is_key(value.aval) for value in operands]
    args = tuple([_numbers(value, key) for value, key in zip(operands, kinds)])
    impl = next((value.aval.dtype for value, key in zip(operands, kinds) if key), None)
    leave = _words if name in ("random_split", "random_clone", "random_fold_in") else _unchanged
    enter = partial(_enter, impl, *kinds)
    return Sample(primitive, args, params, derivatives=0, tolerance=NEAR, enter=enter, leave=leave)


def _enter(impl: object, *kinds_and_args: ArrayLike) -> tuple[ArrayLike, ...]:
    half = len(kinds_and_args) // 2
    kinds, args = kinds_and_args[:half], kinds_and_args[half:]
    return tuple([random_wrap_p(arg, impl=impl) if key else arg for arg, key in zip(args, kinds)])


def _words(keys: Value) -> Array:
    return random_unwrap_p.bind(keys)


def _unchanged(result: Value) -> Array | Literal:
    return result


def _numbers(value: Value, key: bool) -> np.ndarray:
    return np.asarray(random_unwrap_p.bind(value)) if key else np.asarray(value)
