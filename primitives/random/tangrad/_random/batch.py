"""How the random primitives are mapped: over keys. Samples that depend on parameters too follow their programs."""

from __future__ import annotations

from typing import Any

from tangrad._random.cipher import random_unwrap_p, random_wrap_p, threefry2x32_p
from tangrad._random.distributions import gamma, inversion, normal, stream, uniform
from tangrad._random.generators import rng_bit_generator_p
from tangrad._random.primitives import random_bits_p, random_fold_in_p, random_seed_p, random_split_p
from tangrad.batching import elementwise_batch, place_axis, to_front
from tangrad.core import Primitive, RuleSet

batch = RuleSet("batch", api=1)
elementwise_batch(batch, threefry2x32_p, random_seed_p, random_fold_in_p, uniform.random_between_p)


def _leading(primitive: Primitive) -> None:
    """The dimensions of the operand come first in the result."""

    @batch.rule(primitive)
    def _(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
        return primitive.bind(to_front(args[0], dims[0]), **params), 0


for _primitive in (
    random_bits_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
    stream.random_uniform_p,
    normal.random_normal_p,
    normal.random_maxwell_p,
    inversion.random_exponential_p,
    inversion.random_gumbel_p,
    inversion.random_laplace_p,
    inversion.random_logistic_p,
    inversion.random_cauchy_p,
):
    _leading(_primitive)


@batch.rule(gamma.random_gamma_p)
def _gamma(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
    keys, a = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args, dims)]
    return gamma.random_gamma_p.bind(keys, a, **params), 0


@batch.rule(rng_bit_generator_p)
def _generator(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
    return rng_bit_generator_p.bind(to_front(args[0], dims[0]), **params), (0, 0)
