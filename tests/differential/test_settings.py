"""Every public function under strict promotion, and under a transfer guard, beside JAX."""

import importlib
import itertools
import warnings

import numpy
import pytest

from tests.differential.guarded_calls import CALLS

jax = pytest.importorskip("jax", reason="the reference is not installed")
tangrad = pytest.importorskip("tangrad")

# --- Every public function under strict promotion of ranks and dtypes ---
# The functions are those that both have, called with whatever they take of a pool of arrays and numbers. What
# `PASSING` names may pass where JAX refuses.

pytestmark = pytest.mark.filterwarnings("ignore")

DRAWS = numpy.random.RandomState(0)
SQUARE = DRAWS.rand(3, 3).astype("float32")
POOL = {
    "a": DRAWS.rand(3).astype("float32"),
    "b": DRAWS.rand(2, 3).astype("float32"),
    "c": DRAWS.rand(2, 4, 3).astype("float32"),
    "m": SQUARE @ SQUARE.T + 3 * numpy.eye(3, dtype="float32"),
    "v": numpy.int32([2, 0, 1]),
    "w": numpy.int32([[2, 0, 1], [1, 1, 0]]),
    "t": numpy.array([True, False, True]),
    "x": DRAWS.rand(4, 3).astype("float32"),
    "0": numpy.float32(0.3),
    "1": 1,
    "2": 2,
    "3": 3,
    "f": 0.5,
}
STRICT_CALLS = (
    *("aa1", "a", "b", "m", "v", "w", "t", "x", "2", "f", "aa", "ab", "ba", "av", "va", "bw", "am", "mm", "mb", "a2"),
    *("2a", "v2", "vf", "0b", "m1", "x2", "xa", "cc", "aaa", "tab", "tba", "tav", "aba", "aab", "aav", "ava", "vaa"),
    *("baf", "vvv", "af2", "va2", "abf", "bab", "v12", "fff", "aaaa", "abaa", "aavv", "baaa", "aaff", "vaaa"),
)
MODULES = (
    *("numpy", "numpy.linalg", "numpy.fft", "nn", "nn.initializers", "lax", "lax.linalg"),
    *("scipy.special", "scipy.linalg", "scipy.signal", "scipy.fft", "scipy.integrate"),
    *("scipy.cluster.vq", "scipy.stats", *[f"scipy.stats.{name}" for name in ("norm", "gamma", "beta", "t", "chi2")]),
    *[f"scipy.stats.{name}" for name in ("poisson", "nbinom", "binom", "logistic", "pareto", "laplace", "uniform")],
    *[f"scipy.stats.{name}" for name in ("betabinom", "cauchy", "expon", "gennorm", "vonmises", "wrapcauchy")],
    *[f"scipy.stats.{name}" for name in ("bernoulli", "geom", "gumbel_l", "gumbel_r", "truncnorm")],
)
INTEGERS_OF_NN = (
    *("celu", "elu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "log1mexp", "log_softmax", "mish", "relu"),
    *("relu6", "selu", "soft_sign", "softplus", "sparse_plus", "sparse_sigmoid", "squareplus", "standardize"),
)
SETTINGS = (("numpy_rank_promotion", "raise"), ("numpy_dtype_promotion", "strict"))


_INTEGERS = "JAX refuses integers or booleans alone, beside the constants of its formula"
_OWN = "JAX refuses operands of one rank, or alone, for what it broadcasts inside"
PASSING = {
    **{("numpy_dtype_promotion", f"nn.{name}"): _INTEGERS for name in INTEGERS_OF_NN},
    **{
        ("numpy_dtype_promotion", name): _INTEGERS
        for name in ("numpy.polyint", "numpy.unwrap", "scipy.special.log_softmax", "nn.dot_product_attention")
    },
    **{
        ("numpy_rank_promotion", name): _OWN
        for name in ("numpy.geomspace", "scipy.special.owens_t", "scipy.stats.poisson.entropy")
    },
    ("numpy_rank_promotion", "numpy.trapezoid"): "places of one dimension are the documented use",
    ("numpy_rank_promotion", "scipy.integrate.trapezoid"): "places of one dimension are the documented use",
    ("numpy_rank_promotion", "scipy.linalg.toeplitz"): "a column beside batches of rows is the documented use",
    ("numpy_dtype_promotion", "numpy.histogram"): "weights are added to counts, not mixed with values",
    ("numpy_dtype_promotion", "numpy.interp"): "what stands beyond the ends takes the dtype of the values",
    ("numpy_dtype_promotion", "numpy.linalg.matrix_rank"): "a limit is compared, and makes nothing of its dtype",
    ("numpy_dtype_promotion", "numpy.select"): "JAX refuses choices of one dtype beside its own default",
    ("numpy_dtype_promotion", "scipy.special.hyp1f1"): "JAX refuses floats alone, beside its own counters",
}


def functions(name):
    """The functions of a module that both have."""
    theirs, ours = [importlib.import_module(f"{root}.{name}") for root in ("jax", "tangrad")]
    for one in sorted(vars(theirs)):
        if one.startswith("_") or one in ("save", "savez", "load", "fromfile", "frompyfunc"):
            continue
        pair = getattr(theirs, one), getattr(ours, one, None)
        if all(callable(found) and not isinstance(found, type) for found in pair):
            yield one, *pair


def computes(root, function, letters):
    """Whether a call has a result, as far as types say: the arrays are traced, the numbers are not."""
    values = [POOL[letter] for letter in letters]
    places = [place for place, value in enumerate(values) if isinstance(value, numpy.ndarray | numpy.generic)]

    def call(*arrays):
        given = dict(zip(places, arrays, strict=True))
        return function(*[given.get(place, value) for place, value in enumerate(values)])

    try:
        root.eval_shape(call, *[values[place] for place in places])
    except Exception:
        return False
    return True


def compared(theirs, ours, calls=STRICT_CALLS):
    """How many calls that both compute were tried under a setting; those that only JAX computes; only Tangrad."""
    tried, refused, passing = 0, [], []
    for letters in calls:
        if not computes(jax, theirs, letters) or not computes(tangrad, ours, letters):
            continue
        for setting, value in SETTINGS:
            tried += 1
            with getattr(jax, setting)(value):
                expected = computes(jax, theirs, letters)
            with getattr(tangrad, setting)(value):
                found = computes(tangrad, ours, letters)
            if found is not expected:
                (refused if expected else passing).append((letters, setting))
    return tried, refused, passing


@pytest.mark.sweep
@pytest.mark.parametrize("module", MODULES)
def test_every_function(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = {name: compared(theirs, ours) for name, theirs, ours in functions(module)}
    assert sum(tried for tried, _, _ in outcomes.values())
    assert {name: found for name, (_, found, _) in outcomes.items() if found} == {}
    more = {(setting, f"{module}.{name}") for name, (_, _, found) in outcomes.items() for _, setting in found}
    assert more == {key for key in PASSING if key[1].rpartition(".")[0] == module}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *itertools.product(["numpy"], ["where", "polyfit", "vander", "convolve", "nan_to_num", "cov", "vecdot"]),
        *itertools.product(["scipy.stats.chi2", "scipy.stats.norm"], ["logpdf", "pdf"]),
        *itertools.product(["nn"], ["softmax", "leaky_relu"]),
    ],
)
def test_some_functions(module, name):
    found = {one: pair for one, *pair in functions(module)}[name]
    tried, refused, passing = compared(*found, STRICT_CALLS[::2])
    assert tried and not refused and not passing


# --- Calls under a transfer guard that refuses implicit copies ---


TABLE_OF_JAX = pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the table is of JAX 0.10")

DIFFERING = {
    **dict.fromkeys(
        ["T.scipy.stats.norm.pdf(x)", "T.scipy.stats.norm.pdf(x,s,s)"],
        "JAX's densities are not compiled: the constants of their formulas count",
    ),
    "lax.reduce(x,0.0,lax.add,(0,))": "JAX only looks whether the number is what sums begin with, and drops it",
}
VALUES = {
    "x": numpy.float32([1, 2, 3]),
    "m": numpy.eye(3, dtype="float32"),
    "i": numpy.int32([2, 0, 1]),
    "b": numpy.array([True, False, True]),
    "s": numpy.float32(2),
    "j": numpy.int32(1),
}


def names(root):
    """What the calls name, of one of the two packages."""
    for name in ("image", "ops", "scipy.linalg", "scipy.special", "scipy.stats"):
        importlib.import_module(f"{root.__name__}.{name}")
    arrays = {name: root.device_put(value) for name, value in VALUES.items()}
    keys = {"key": root.random.key(0), "old_key": root.random.PRNGKey(0)}
    return {"T": root, "np": root.numpy, "lax": root.lax, "numpy": numpy, "H": VALUES["x"], **arrays, **keys}


def is_refused(root, call, given):
    """Whether a guard refuses a call that has a result without one."""
    eval(call, given)
    with root.transfer_guard("disallow"):
        try:
            eval(call, given)
        except RuntimeError as error:  # that of XLA is one
            if "isallowed" not in str(error):
                raise
            return True
    return False


def differing(calls):
    theirs, ours = names(jax), names(tangrad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {one for one in calls if is_refused(jax, one, theirs) is not is_refused(tangrad, one, ours)}


@TABLE_OF_JAX
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_some_calls(backend):
    with tangrad.use_backend(backend):
        assert differing(CALLS[3::25]) == set()


@TABLE_OF_JAX
@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_every_call(backend):
    with tangrad.use_backend(backend):
        assert differing(CALLS) == set(DIFFERING)
