"""The rules of random numbers that take a line. How they are differentiated is in `jvp`, and sharded in `sharding`."""

from __future__ import annotations

from tangrad._random.ciphers import random_unwrap_p, random_wrap_p, threefry2x32_p
from tangrad._random.distributions import gamma, inversion, normal, stream, uniform
from tangrad._random.family import random
from tangrad._random.generators import rng_bit_generator_p
from tangrad._random.primitives import random_bits_p, random_clone_p, random_fold_in_p, random_seed_p, random_split_p
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("not linear", *random.primitives.values())

# The cipher and the wrapping of keys: each position by itself.
mask = RuleSet("mask", api=1)
mask.form("whole", random_wrap_p, random_unwrap_p, threefry2x32_p)

# Mapped over keys. Samples that depend on parameters too follow their programs.
batch = RuleSet("batch", api=1)
batch.form("elementwise", threefry2x32_p, random_clone_p, random_seed_p, random_fold_in_p, uniform.random_between_p)
batch.form(
    "front",
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
    gamma.random_gamma_p,
    rng_bit_generator_p,
)
