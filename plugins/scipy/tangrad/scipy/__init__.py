"""The interface of SciPy. The names resolve through the entry points of `tangrad.api`."""

from tangrad._scipy import public_modules as _public_modules
from tangrad.core import public_package

__getattr__, __dir__ = public_package(__name__)

_public_modules(
    __name__,
    {
        "cluster": "Clusters as in `scipy.cluster`.",
        "cluster.vq": "Vector quantisation as in `scipy.cluster.vq`.",
        "fft": "Cosine transforms as in `scipy.fft`.",
        "integrate": "Integrals of samples as in `scipy.integrate`.",
        "interpolate": "Interpolation as in `scipy.interpolate`.",
        "linalg": "Linear algebra as in `scipy.linalg`.",
        "ndimage": "Images of any number of dimensions as in `scipy.ndimage`.",
        "optimize": "Minimisation as in `scipy.optimize`.",
        "signal": "Signal processing as in `scipy.signal`.",
        "sparse": "Matrices that are known by their products as in `scipy.sparse`.",
        "sparse.linalg": "Linear systems solved by iteration as in `scipy.sparse.linalg`.",
        "spatial": "Geometry as in `scipy.spatial`.",
        "spatial.transform": "Rotations as in `scipy.spatial.transform`.",
        "special": "Special functions as in `scipy.special`.",
        "stats": "Statistics as in `scipy.stats`.",
        "stats.bernoulli": "The distribution of Bernoulli: 1 with the probability p, else 0.",
        "stats.beta": "The beta distribution.",
        "stats.betabinom": "The beta-binomial distribution: binomial, its probability of a beta distribution.",
        "stats.binom": "The binomial distribution.",
        "stats.cauchy": "The distribution of Cauchy.",
        "stats.chi2": "The chi-squared distribution, which is the gamma distribution of half the degrees of freedom.",
        "stats.dirichlet": "The distribution of Dirichlet.",
        "stats.expon": "The exponential distribution.",
        "stats.gamma": "The gamma distribution.",
        "stats.gennorm": "The generalised normal distribution.",
        "stats.geom": "The geometric distribution: the number of trials up to the first success.",
        "stats.gumbel_l": "The distribution of Gumbel of the least of many.",
        "stats.gumbel_r": "The distribution of Gumbel of the greatest of many.",
        "stats.laplace": "The distribution of Laplace.",
        "stats.logistic": "The logistic distribution.",
        "stats.multinomial": "The multinomial distribution.",
        "stats.multivariate_normal": "The normal distribution of vectors.",
        "stats.nbinom": "The negative binomial distribution: the number of failures before n successes.",
        "stats.norm": "The normal distribution.",
        "stats.pareto": "The distribution of Pareto.",
        "stats.poisson": "The distribution of Poisson.",
        "stats.t": "The distribution of Student.",
        "stats.truncnorm": "The normal distribution between two bounds, loc + a scale and loc + b scale.",
        "stats.uniform": "The uniform distribution on the interval from loc to loc + scale.",
        "stats.vonmises": "The distribution of von Mises, of angles.",
        "stats.wrapcauchy": "The distribution of Cauchy wrapped around the circle.",
    },
)
