# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.kernel_density import gaussian_kde as gaussian_kde
from tangrad._scipy.order_statistics import (
    mode as mode,
    rankdata as rankdata,
    sem as sem,
)
from tangrad.scipy.stats import bernoulli as bernoulli
from tangrad.scipy.stats import beta as beta
from tangrad.scipy.stats import betabinom as betabinom
from tangrad.scipy.stats import binom as binom
from tangrad.scipy.stats import cauchy as cauchy
from tangrad.scipy.stats import chi2 as chi2
from tangrad.scipy.stats import dirichlet as dirichlet
from tangrad.scipy.stats import expon as expon
from tangrad.scipy.stats import gamma as gamma
from tangrad.scipy.stats import gennorm as gennorm
from tangrad.scipy.stats import geom as geom
from tangrad.scipy.stats import gumbel_l as gumbel_l
from tangrad.scipy.stats import gumbel_r as gumbel_r
from tangrad.scipy.stats import laplace as laplace
from tangrad.scipy.stats import logistic as logistic
from tangrad.scipy.stats import multinomial as multinomial
from tangrad.scipy.stats import multivariate_normal as multivariate_normal
from tangrad.scipy.stats import nbinom as nbinom
from tangrad.scipy.stats import norm as norm
from tangrad.scipy.stats import pareto as pareto
from tangrad.scipy.stats import poisson as poisson
from tangrad.scipy.stats import t as t
from tangrad.scipy.stats import truncnorm as truncnorm
from tangrad.scipy.stats import uniform as uniform
from tangrad.scipy.stats import vonmises as vonmises
from tangrad.scipy.stats import wrapcauchy as wrapcauchy

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]
