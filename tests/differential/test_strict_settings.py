"""Every public function under strict promotion of ranks and dtypes: where JAX computes, Tangrad does.

The functions are those that both have, called with whatever they take of a pool of arrays and numbers. What JAX refuses
may pass: its functions hand some of the user's operands on to others, which name themselves in the error.
"""

import importlib
import itertools
import warnings

import numpy
import pytest

jax = pytest.importorskip("jax", reason="the reference is not installed")
tangrad = pytest.importorskip("tangrad")
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
CALLS = (
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
)
SETTINGS = (("numpy_rank_promotion", "raise"), ("numpy_dtype_promotion", "strict"))


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
    """Whether a call has a result, as far as types tell: the arrays are traced, the numbers are not."""
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


def refused(theirs, ours, calls=CALLS):
    """Calls that JAX computes under a setting, and Tangrad does not though it does without; and how many were tried."""
    tried, found = 0, []
    for letters in calls:
        if not computes(jax, theirs, letters) or not computes(tangrad, ours, letters):
            continue
        for setting, value in SETTINGS:
            tried += 1
            with getattr(jax, setting)(value):
                expected = computes(jax, theirs, letters)
            with getattr(tangrad, setting)(value):
                if expected and not computes(tangrad, ours, letters):
                    found.append((letters, value))
    return tried, found


@pytest.mark.sweep
@pytest.mark.parametrize("module", MODULES)
def test_every_function(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = {name: refused(theirs, ours) for name, theirs, ours in functions(module)}
    assert sum(tried for tried, _ in outcomes.values())
    assert {name: found for name, (_, found) in outcomes.items() if found} == {}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *itertools.product(["numpy"], ["where", "polyfit", "vander", "convolve", "nan_to_num", "trapezoid", "cov"]),
        *itertools.product(["scipy.stats.chi2", "scipy.stats.norm"], ["logpdf", "cdf"]),
        *itertools.product(["nn"], ["softmax", "standardize"]),
    ],
)
def test_some_functions(module, name):
    found = {one: pair for one, *pair in functions(module)}[name]
    tried, bad = refused(*found, CALLS[::2])
    assert tried and not bad
