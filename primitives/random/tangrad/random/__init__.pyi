# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.random.distributions.bits import bits as bits
from tangrad.random.distributions.counts import binomial as binomial
from tangrad.random.distributions.counts import multinomial as multinomial
from tangrad.random.distributions.counts import poisson as poisson
from tangrad.random.distributions.gamma import ball as ball
from tangrad.random.distributions.gamma import beta as beta
from tangrad.random.distributions.gamma import chisquare as chisquare
from tangrad.random.distributions.gamma import dirichlet as dirichlet
from tangrad.random.distributions.gamma import f as f
from tangrad.random.distributions.gamma import gamma as gamma
from tangrad.random.distributions.gamma import generalized_normal as generalized_normal
from tangrad.random.distributions.gamma import loggamma as loggamma
from tangrad.random.distributions.gamma import t as t
from tangrad.random.distributions.integers import randint as randint
from tangrad.random.distributions.inversion import cauchy as cauchy
from tangrad.random.distributions.inversion import exponential as exponential
from tangrad.random.distributions.inversion import gumbel as gumbel
from tangrad.random.distributions.inversion import laplace as laplace
from tangrad.random.distributions.inversion import logistic as logistic
from tangrad.random.distributions.normal import double_sided_maxwell as double_sided_maxwell
from tangrad.random.distributions.normal import lognormal as lognormal
from tangrad.random.distributions.normal import maxwell as maxwell
from tangrad.random.distributions.normal import multivariate_normal as multivariate_normal
from tangrad.random.distributions.normal import normal as normal
from tangrad.random.distributions.normal import truncated_normal as truncated_normal
from tangrad.random.distributions.rotations import orthogonal as orthogonal
from tangrad.random.distributions.selection import categorical as categorical
from tangrad.random.distributions.selection import choice as choice
from tangrad.random.distributions.selection import permutation as permutation
from tangrad.random.distributions.shaped import geometric as geometric
from tangrad.random.distributions.shaped import pareto as pareto
from tangrad.random.distributions.shaped import rayleigh as rayleigh
from tangrad.random.distributions.shaped import triangular as triangular
from tangrad.random.distributions.shaped import wald as wald
from tangrad.random.distributions.shaped import weibull_min as weibull_min
from tangrad.random.distributions.uniform import bernoulli as bernoulli
from tangrad.random.distributions.uniform import rademacher as rademacher
from tangrad.random.distributions.uniform import uniform as uniform
from tangrad.random.functions import PRNGKey as PRNGKey
from tangrad.random.functions import clone as clone
from tangrad.random.functions import fold_in as fold_in
from tangrad.random.functions import key as key
from tangrad.random.functions import key_data as key_data
from tangrad.random.functions import key_dtype as key_dtype
from tangrad.random.functions import key_impl as key_impl
from tangrad.random.functions import split as split
from tangrad.random.functions import wrap_key_data as wrap_key_data
from tangrad.random.named_shapes import NamedShape as NamedShape

__all__ = [
    "NamedShape",
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
