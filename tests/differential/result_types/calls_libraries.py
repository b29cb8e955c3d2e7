"""Calls of every function of `nn`, `scipy`, `random`, `ops`, `image`. The operands: see `calls_numpy`; `key`: a random key."""

from .calls_numpy import families

ACTIVATIONS = """
    celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log1mexp log_sigmoid mish relu relu6 selu sigmoid
    silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh
"""
NORMALISED = "glu log_softmax logmeanexp logsumexp softmax standardize"
NN = [
    *families("nn.{}(x)", ACTIVATIONS),
    *families("nn.{}(m)", NORMALISED.replace("glu", "")),
    *("nn.glu(t)", "nn.celu(x, y)", "nn.elu(x, y)", "nn.leaky_relu(x, y)", "nn.gelu(x, False)", "nn.squareplus(x, y)", "nn.softmax(m, where=B)", "nn.logsumexp(v, b=w)", "nn.logsumexp(v, b=k, return_sign=True)"),
    *("nn.logsumexp(x)", "nn.logmeanexp(v, where=B)", "nn.standardize(m, epsilon=.5)", "nn.standardize(v, mean=0., variance=1.)", "nn.one_hot(k, 3)", "nn.one_hot(k, 3, dtype=v.dtype)", "nn.one_hot(x, 3)", "nn.relu(v) * np.ones(3, 'bfloat16')"),
    *("nn.dot_product_attention(t[None], t[None], t[None])", "nn.dot_product_attention(t, t, t, bias=np.ones((1, 1, 2, 2), v.dtype)) if False else nn.dot_product_attention(t, t, t)", "nn.dot_product_attention(t, t, t, scale=.5)"),
]  # fmt: skip
INITIALIZERS = """
    glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal lecun_uniform normal orthogonal
    truncated_normal uniform xavier_normal xavier_uniform
"""
MADE_BY_INITIALIZERS = [
    *families("nn.initializers.{}()(key, (3, 3), v.dtype)", INITIALIZERS),
    *families("nn.initializers.{}()(key, (3, 3))", INITIALIZERS),
    *("nn.initializers.constant(2)(key, (3,))", "nn.initializers.constant(x)(key, (3,), v.dtype)", "nn.initializers.constant(2., v.dtype)(key, (3,))", "nn.initializers.delta_orthogonal()(key, (3, 2, 2), v.dtype)"),
    *("nn.initializers.ones(key, (2,), v.dtype)", "nn.initializers.zeros(key, (2,), v.dtype)", "nn.initializers.ones(key, (2,))", "nn.initializers.zeros(key, (2,))", "nn.initializers.variance_scaling(1., 'fan_in', 'normal')(key, (3, 3), v.dtype)"),
]  # fmt: skip
SPECIAL_1 = """
    bernoulli_ dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit expm1_ factorial fresnel gamma gammaln gammasgn i0 i0e i1 i1e
    log_ndtr loggamma logit logsumexp ndtr ndtri sici softmax log_softmax spence wofz
"""
SPECIAL_2 = (
    "beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch polygamma rel_entr xlog1py xlogy zeta"
)
SPECIAL = [
    *families("sp.special.{}(x)", SPECIAL_1.replace("bernoulli_", "").replace("expm1_", "")),
    *families("sp.special.{}(x, y)", SPECIAL_2),
    *("sp.special.bernoulli(3)", "sp.special.bessel_jn(v, v=3)", "sp.special.betainc(x, y, .5)", "sp.special.betainc(1, 2, x)", "sp.special.expn(2, x)", "sp.special.hyp1f1(1, y, x)", "sp.special.hyp2f1(1, 1, y, x)"),
    *("sp.special.multigammaln(x, 2)", "sp.special.sph_harm_y(k, k, v, w, n_max=3)", "sp.special.factorial(x, exact=False)", "sp.special.zeta(x)", "sp.special.comb(x, y)", "sp.special.logsumexp(v, b=w)", "sp.special.polygamma(1, x)", "sp.special.zeta(x, 1)"),
]  # fmt: skip
LINALG = [
    *("sp.linalg.block_diag(x, y)", "sp.linalg.block_diag(m, v)", "sp.linalg.cho_factor(m)", "sp.linalg.cho_solve((m, True), v)", "sp.linalg.cholesky(m)", "sp.linalg.circulant(v)", "sp.linalg.companion(v)", "sp.linalg.convolution_matrix(v, 3)"),
    *("sp.linalg.det(m)", "sp.linalg.dft(3)", "sp.linalg.eigh(m)", "sp.linalg.eigh(m, eigvals_only=True)", "sp.linalg.eigh_tridiagonal(v, v[:2], eigvals_only=True)", "sp.linalg.expm(m)", "sp.linalg.expm_frechet(m, m)", "sp.linalg.fiedler(v)", "sp.linalg.fiedler_companion(v)"),
    *("sp.linalg.funm(m, np.exp)", "sp.linalg.hadamard(4)", "sp.linalg.hadamard(4, v.dtype)", "sp.linalg.hankel(v)", "sp.linalg.hankel(v, k)", "sp.linalg.helmert(3)", "sp.linalg.hessenberg(m)", "sp.linalg.hilbert(3)", "sp.linalg.inv(m)", "sp.linalg.invhilbert(3)"),
    *("sp.linalg.invpascal(3)", "sp.linalg.leslie(v, w[:2])", "sp.linalg.lu(m)", "sp.linalg.lu_factor(m)", "sp.linalg.lu_solve(sp.linalg.lu_factor(m), v)", "sp.linalg.pascal(3)", "sp.linalg.polar(m)", "sp.linalg.qr(m)", "sp.linalg.qr_multiply(m, m)", "sp.linalg.rsf2csf(m, m)"),
    *("sp.linalg.schur(m)", "sp.linalg.solve(m, v)", "sp.linalg.solve_sylvester(m, m, m)", "sp.linalg.solve_triangular(m, v)", "sp.linalg.sqrtm(m)", "sp.linalg.svd(m)", "sp.linalg.toeplitz(v)", "sp.linalg.toeplitz(v, k)", "sp.linalg.solve(m, k)", "sp.linalg.solve_triangular(m, k)"),
]  # fmt: skip
SCIPY = [
    *families("sp.fft.{}(m)", "dct dctn idct idctn"),
    *families("sp.signal.{}(v, w)", "convolve correlate fftconvolve"),
    *families("sp.signal.{}(v, k)", "convolve correlate fftconvolve"),
    *families("sp.signal.{}(m, m)", "convolve2d correlate2d"),
    *("sp.signal.csd(v, w, nperseg=3)", "sp.signal.detrend(v)", "sp.signal.stft(v, nperseg=2)", "sp.signal.istft(m, nperseg=4)", "sp.signal.welch(v, nperseg=3)", "sp.ndimage.map_coordinates(m, [v, v], 1)", "sp.ndimage.map_coordinates(m, [k, k], 0)"),
    *("sp.optimize.minimize(lambda a: (a ** 2).sum(), v, method='BFGS').x", "sp.integrate.trapezoid(v)", "sp.integrate.trapezoid(v, w)", "sp.integrate.trapezoid(v, dx=x)", "sp.interpolate.RegularGridInterpolator((v, v), m)(m[:, :2])"),
    *("sp.cluster.vq.vq(m, m)", "sp.sparse.linalg.cg(m, v)[0]", "sp.sparse.linalg.gmres(m, v)[0]", "sp.sparse.linalg.bicgstab(m, v)[0]", "sp.sparse.linalg.cg(lambda a: a, v)[0]"),
    *("sp.spatial.transform.Rotation.from_rotvec(v).as_matrix()", "sp.spatial.transform.Rotation.from_euler('x', x).as_quat()", "sp.spatial.transform.Slerp.init(np.arange(3.), sp.spatial.transform.Rotation.from_rotvec(m))(.5).as_quat()"),
    *("sp.stats.gaussian_kde(v).evaluate(v)", "sp.stats.mode(v)", "sp.stats.mode(m, None)", "sp.stats.rankdata(v)", "sp.stats.rankdata(v, 'min')", "sp.stats.sem(v)", "sp.stats.sem(m, 1)"),
]  # fmt: skip
# Each distribution: its functions, and what parameters its calls need and may have, beside loc and scale.
DISTRIBUTIONS = {
    "bernoulli": ("cdf logpmf pmf ppf", "y"),
    "beta": ("cdf logcdf logpdf logsf pdf sf", "y, 2"),
    "betabinom": ("logpmf pmf", "3, y, 2"),
    "binom": ("logpmf pmf", "3, y"),
    "cauchy": ("cdf isf logcdf logpdf logsf pdf ppf sf", ""),
    "chi2": ("cdf logcdf logpdf logsf pdf sf", "y"),
    "expon": ("cdf logcdf logpdf logsf pdf ppf sf", ""),
    "gamma": ("cdf logcdf logpdf logsf pdf sf", "y"),
    "gennorm": ("cdf logpdf pdf", "y"),
    "geom": ("logpmf pmf", "y"),
    "gumbel_l": ("cdf logcdf logpdf logsf pdf ppf sf", ""),
    "gumbel_r": ("cdf logcdf logpdf logsf pdf ppf sf", ""),
    "laplace": ("cdf logpdf pdf", ""),
    "logistic": ("cdf isf logpdf pdf ppf sf", ""),
    "nbinom": ("logpmf pmf", "2, y"),
    "norm": ("cdf isf logcdf logpdf logsf pdf ppf sf", ""),
    "pareto": ("cdf logcdf logpdf logsf pdf ppf sf", "y"),
    "poisson": ("cdf logpmf pmf", "y"),
    "t": ("logpdf pdf", "y"),
    "truncnorm": ("cdf logcdf logpdf logsf pdf sf", "y, 2"),
    "uniform": ("cdf logpdf pdf ppf", ""),
    "vonmises": ("logpdf pdf", "y"),
    "wrapcauchy": ("logpdf pdf", "y"),
}
WITHOUT_SCALE = ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson", "vonmises", "wrapcauchy", "gennorm")


def _densities() -> list[str]:
    found = []
    for name, (functions, parameters) in DISTRIBUTIONS.items():
        for function in functions.split():
            given = f"x, {parameters}" if parameters else "x"
            found.append(f"sp.stats.{name}.{function}({given})")
            if name not in WITHOUT_SCALE:
                found.append(f"sp.stats.{name}.{function}({given.replace('y', '1')}, y, 2)")
    return found


STATS = [
    *_densities(),
    *("sp.stats.poisson.entropy(x)", "sp.stats.multinomial.logpmf(v, 3, np.abs(w))", "sp.stats.multinomial.pmf(v, x, w)", "sp.stats.dirichlet.logpdf(v, w)", "sp.stats.dirichlet.pdf(v, w)"),
    *("sp.stats.multivariate_normal.logpdf(v, w, m)", "sp.stats.multivariate_normal.pdf(v, w, m)", "sp.stats.multivariate_normal.logpdf(x, 0., 1.)", "sp.stats.multivariate_normal.pdf(v, 0, y)"),
]  # fmt: skip
RANDOM = [
    *[f"random.{name}(key, (3,), v.dtype)" for name in "cauchy exponential gumbel laplace logistic maxwell normal rademacher rayleigh_ uniform".replace("rayleigh_", "").split()],
    *[f"random.{name}(key)" for name in ["cauchy", "exponential", "gumbel", "laplace", "logistic", "maxwell", "normal", "uniform", "bernoulli", "bits", "rademacher"]],
    *("random.ball(key, 2)", "random.ball(key, 2, x)", "random.bernoulli(key, x)", "random.bernoulli(key, v, (3,))", "random.beta(key, x, y)", "random.beta(key, v, w, dtype='float32')", "random.binomial(key, 3, x)", "random.binomial(key, x, y)", "random.bits(key, (2,), 'uint8')"),
    *("random.categorical(key, v)", "random.categorical(key, m, axis=0)", "random.chisquare(key, x)", "random.choice(key, v)", "random.choice(key, 3, (2,))", "random.choice(key, v, (2,), p=np.abs(w))", "random.dirichlet(key, v)", "random.double_sided_maxwell(key, x, y)"),
    *("random.f(key, x, y)", "random.gamma(key, x)", "random.gamma(key, v, dtype='float32')", "random.generalized_normal(key, x)", "random.geometric(key, x)", "random.loggamma(key, x)", "random.lognormal(key, x)", "random.multinomial(key, 3, v)", "random.multinomial(key, x, v)"),
    *("random.multivariate_normal(key, v, m)", "random.orthogonal(key, 2)", "random.orthogonal(key, 2, dtype=v.dtype)", "random.pareto(key, x)", "random.permutation(key, v)", "random.permutation(key, 4)", "random.poisson(key, x)", "random.randint(key, (2,), x, y)", "random.randint(key, (2,), 0, 9, v.dtype)"),
    *("random.rayleigh(key, x)", "random.t(key, x)", "random.triangular(key, x, y, 2)", "random.truncated_normal(key, x, y)", "random.uniform(key, (2,), minval=x, maxval=y)", "random.wald(key, x)", "random.weibull_min(key, x, y)", "random.normal(key, (2,), complex)", "random.split(key)", "random.fold_in(key, 3)"),
    *("random.key_data(key)", "random.clone(key)", "random.wrap_key_data(np.zeros(2, 'uint32'))", "random.key(3)", "random.PRNGKey(3)", "random.fold_in(key, k[0])", "random.split(key, (2, 2))"),
]  # fmt: skip
OPS = [
    *[f"ops.segment_{name}(v, k, 3)" for name in ["max", "min", "prod", "sum"]],
    *[f"ops.segment_{name}(m, k, 2)" for name in ["max", "min", "prod", "sum"]],
    *("image.resize(m, (2, 4), 'linear')", "image.resize(m, (2, 4), 'nearest')", "image.resize(m, (5, 4), 'cubic')", "image.scale_and_translate(m, (2, 2), (0, 1), np.ones(2), np.zeros(2), 'linear')"),
    *("image.scale_and_translate(m, (2, 2), (0, 1), v[:2], v[:2], 'linear')", "image.resize(m, (2, 2), 'lanczos3', antialias=False)"),
]  # fmt: skip
CALLS = [*NN, *MADE_BY_INITIALIZERS, *SPECIAL, *LINALG, *SCIPY, *STATS, *RANDOM, *OPS]
WITHOUT = {
    "nn": {"scaled_matmul": "needs dtypes that NumPy does not compute with"},
    "nn.initializers": {"Initializer": "a class"},
    "random": {"key_dtype key_impl": "about keys, not numbers"},
    "image": {"ResizeMethod": "a class"},
    "sp.optimize": {"OptimizeResults": "a class"},
    "sp.special": {"lpmn lpmn_values": "compared with SciPy, in tests of their own"},
}
