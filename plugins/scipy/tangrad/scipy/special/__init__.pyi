# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.nn.normalization import logsumexp as logsumexp
from tangrad.scipy.special_functions.bessel_functions import bessel_jn as bessel_jn
from tangrad.scipy.special_functions.bessel_functions import i0 as i0
from tangrad.scipy.special_functions.bessel_functions import i0e as i0e
from tangrad.scipy.special_functions.bessel_functions import i1 as i1
from tangrad.scipy.special_functions.bessel_functions import i1e as i1e
from tangrad.scipy.special_functions.bessel_functions import sph_harm_y as sph_harm_y
from tangrad.scipy.special_functions.entropies import boxcox as boxcox
from tangrad.scipy.special_functions.entropies import boxcox1p as boxcox1p
from tangrad.scipy.special_functions.entropies import entr as entr
from tangrad.scipy.special_functions.entropies import expit as expit
from tangrad.scipy.special_functions.entropies import kl_div as kl_div
from tangrad.scipy.special_functions.entropies import log_softmax as log_softmax
from tangrad.scipy.special_functions.entropies import logit as logit
from tangrad.scipy.special_functions.entropies import rel_entr as rel_entr
from tangrad.scipy.special_functions.entropies import softmax as softmax
from tangrad.scipy.special_functions.entropies import xlog1py as xlog1py
from tangrad.scipy.special_functions.entropies import xlogy as xlogy
from tangrad.scipy.special_functions.error_functions import dawsn as dawsn
from tangrad.scipy.special_functions.error_functions import erf as erf
from tangrad.scipy.special_functions.error_functions import erfc as erfc
from tangrad.scipy.special_functions.error_functions import erfcx as erfcx
from tangrad.scipy.special_functions.error_functions import erfinv as erfinv
from tangrad.scipy.special_functions.error_functions import fresnel as fresnel
from tangrad.scipy.special_functions.error_functions import log_ndtr as log_ndtr
from tangrad.scipy.special_functions.error_functions import ndtr as ndtr
from tangrad.scipy.special_functions.error_functions import ndtri as ndtri
from tangrad.scipy.special_functions.error_functions import owens_t as owens_t
from tangrad.scipy.special_functions.error_functions import wofz as wofz
from tangrad.scipy.special_functions.exponential_integrals import exp1 as exp1
from tangrad.scipy.special_functions.exponential_integrals import expi as expi
from tangrad.scipy.special_functions.exponential_integrals import expn as expn
from tangrad.scipy.special_functions.exponential_integrals import sici as sici
from tangrad.scipy.special_functions.exponential_integrals import spence as spence
from tangrad.scipy.special_functions.gamma_functions import bernoulli as bernoulli
from tangrad.scipy.special_functions.gamma_functions import beta as beta
from tangrad.scipy.special_functions.gamma_functions import betainc as betainc
from tangrad.scipy.special_functions.gamma_functions import betaln as betaln
from tangrad.scipy.special_functions.gamma_functions import comb as comb
from tangrad.scipy.special_functions.gamma_functions import digamma as digamma
from tangrad.scipy.special_functions.gamma_functions import factorial as factorial
from tangrad.scipy.special_functions.gamma_functions import gamma as gamma
from tangrad.scipy.special_functions.gamma_functions import gammainc as gammainc
from tangrad.scipy.special_functions.gamma_functions import gammaincc as gammaincc
from tangrad.scipy.special_functions.gamma_functions import gammaln as gammaln
from tangrad.scipy.special_functions.gamma_functions import gammasgn as gammasgn
from tangrad.scipy.special_functions.gamma_functions import loggamma as loggamma
from tangrad.scipy.special_functions.gamma_functions import multigammaln as multigammaln
from tangrad.scipy.special_functions.gamma_functions import poch as poch
from tangrad.scipy.special_functions.gamma_functions import polygamma as polygamma
from tangrad.scipy.special_functions.hypergeometric import hyp1f1 as hyp1f1
from tangrad.scipy.special_functions.hypergeometric import hyp2f1 as hyp2f1
from tangrad.scipy.special_functions.zeta_function import zeta as zeta

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]
