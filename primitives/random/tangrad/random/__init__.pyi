# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._random.distributions.bits import bits as bits
from tangrad._random.distributions.counts import (
    binomial as binomial,
    multinomial as multinomial,
    poisson as poisson,
)
from tangrad._random.distributions.gamma import (
    ball as ball,
    beta as beta,
    chisquare as chisquare,
    dirichlet as dirichlet,
    f as f,
    gamma as gamma,
    generalized_normal as generalized_normal,
    loggamma as loggamma,
    t as t,
)
from tangrad._random.distributions.integers import randint as randint
from tangrad._random.distributions.inversion import (
    cauchy as cauchy,
    exponential as exponential,
    gumbel as gumbel,
    laplace as laplace,
    logistic as logistic,
)
from tangrad._random.distributions.normal import (
    double_sided_maxwell as double_sided_maxwell,
    lognormal as lognormal,
    maxwell as maxwell,
    multivariate_normal as multivariate_normal,
    normal as normal,
    truncated_normal as truncated_normal,
)
from tangrad._random.distributions.rotations import orthogonal as orthogonal
from tangrad._random.distributions.selection import (
    categorical as categorical,
    choice as choice,
    permutation as permutation,
)
from tangrad._random.distributions.shaped import (
    geometric as geometric,
    pareto as pareto,
    rayleigh as rayleigh,
    triangular as triangular,
    wald as wald,
    weibull_min as weibull_min,
)
from tangrad._random.distributions.uniform import (
    bernoulli as bernoulli,
    rademacher as rademacher,
    uniform as uniform,
)
from tangrad._random.functions import (
    PRNGKey as PRNGKey,
    clone as clone,
    fold_in as fold_in,
    key as key,
    key_data as key_data,
    key_dtype as key_dtype,
    key_impl as key_impl,
    split as split,
    wrap_key_data as wrap_key_data,
)
from tangrad._random.named_shapes import NamedShape as NamedShape

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
