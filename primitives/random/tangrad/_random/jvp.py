"""Random numbers have no tangents: keys, bits and ciphers are not numbers that vary. Parameters of distributions do.

Where a sample depends on parameters, its derivative is that of its program, the bits being what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._random import ciphers, generators, primitives
from tangrad._random.distributions import counts, gamma, inversion, normal, shaped, stream, uniform
from tangrad.autodiff import elementwise_jvp, zero_jvp
from tangrad.core import Array, RuleSet
from tangrad.dtypes import finfo
from tangrad.extend.lax import convert_element_type, div, eq, exp, full_like, gt, mul, random_gamma_grad, select, sub
from tangrad.typing import Value

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike

jvp = RuleSet("jvp", api=1)

zero_jvp(
    jvp,
    ciphers.threefry2x32_p,
    ciphers.random_wrap_p,
    generators.rng_bit_generator_p,
    ciphers.random_unwrap_p,
    primitives.random_seed_p,
    primitives.random_split_p,
    primitives.random_fold_in_p,
    primitives.random_bits_p,
    stream.random_uniform_p,
    normal.random_normal_p,
    normal.random_maxwell_p,
    uniform.random_bernoulli_p,
    uniform.random_fine_bernoulli_p,
    uniform.random_integers_p,
    inversion.random_exponential_p,
    inversion.random_gumbel_p,
    inversion.random_laplace_p,
    inversion.random_logistic_p,
    inversion.random_cauchy_p,
    shaped.random_geometric_p,
    counts.random_poisson_p,
    counts.random_binomial_p,
)


def _moves(answer: Value, low: Value) -> Array:
    """1 for samples above the lower bound, 0 for those at the bound itself, which only move with it."""
    return convert_element_type(gt(answer, low), answer.aval.dtype)


elementwise_jvp(
    jvp,
    uniform.random_between_p,
    lambda t, answer, unit, low, high: mul(t, mul(sub(high, low), _moves(answer, low))),
    lambda t, answer, unit, low, high: mul(t, sub(1.0, mul(unit, _moves(answer, low)))),
    lambda t, answer, unit, low, high: mul(t, mul(unit, _moves(answer, low))),
)


def _gamma(
    t: ArrayLike, answer: ArrayLike, keys: object, a: ArrayLike, *, log_space: bool, partitionable: bool
) -> Array:
    """How a sample moves with the parameter, its rank held fixed."""
    if not log_space:
        return mul(t, random_gamma_grad(a, answer))
    sample = exp(answer)
    tiny = full_like(sample, float(finfo(sample.aval.dtype).tiny))
    sample = select(eq(sample, 0), tiny, sample)
    return mul(t, div(random_gamma_grad(a, sample), sample))


elementwise_jvp(jvp, gamma.random_gamma_p, None, _gamma)
