"""What is made of definitions and records of functions; bad input is named by function and argument."""

import doctest
import importlib
import inspect
import pickle
import pkgutil
import re
from typing import get_type_hints

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad._scipy import continuous_distributions, discrete_distributions, special_functions, vector_distributions
from tangrad._scipy.definitions import defined
from tangrad._scipy.distribution_records import (
    CHANCE,
    COUNT,
    FRACTION,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    Distribution,
    Parameter,
    Support,
    complement_of,
    location,
    scale,
)
from tangrad.conformance import check, samples_of
from tangrad.core import PrimitiveSet, dtypes, register
from tangrad.scipy import fft, interpolate, linalg, ndimage, signal, special, stats
from tangrad.scipy.cluster.vq import vq
from tangrad.scipy.spatial.transform import Rotation
from tangrad.typing import ArrayLike

# --- What is made of the definition of a special function: documentation, signature, promotion, errors ---


MODULES = [
    importlib.import_module(f"{special_functions.__name__}.{one.name}")
    for one in pkgutil.iter_modules(special_functions.__path__)
]
DEFINITIONS = {
    name: value.definition
    for module in MODULES
    for name, value in vars(module).items()
    if getattr(getattr(value, "definition", None), "module", "") == module.__name__
}
NAMES = sorted(DEFINITIONS)


def test_definitions_are_public_by_their_names():
    assert len(NAMES) > 30 and {"entr", "xlogy", "gammaln", "ndtr"} <= set(NAMES)
    for name, definition in DEFINITIONS.items():
        assert definition.name == name
        assert inspect.unwrap(getattr(special, name)).__module__ == definition.module


@pytest.mark.parametrize("name", NAMES)
def test_documentation_signature_and_source(name):
    public, definition = getattr(special, name), DEFINITIONS[name]
    found = doctest.DocTestParser().get_doctest(public.__doc__, {}, name, None, 0)
    assert found.examples
    assert doctest.DocTestRunner(verbose=False).run(found, out=lambda text: None).failed == 0
    parameters = inspect.signature(public).parameters
    assert tuple(parameters) == definition.arguments
    hints = get_type_hints(inspect.unwrap(public))
    assert hints.pop("return") is tangrad.Array and set(map(str, hints.values())) == {str(ArrayLike)}
    assert f"def {name}(" in inspect.getsource(public)
    assert pickle.loads(pickle.dumps(public)) is public


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_shapes_and_batches(name):
    public, at = getattr(special, name), DEFINITIONS[name].at
    single = public(*[np.float32(value) for value in at])
    for dtype in ("float16", "bfloat16", "float32"):
        found = public(*[tangrad.numpy.full((2, 3), value, dtype) for value in at])
        assert found.dtype == dtype and found.shape == (2, 3)
        eps = float(dtypes.finfo(found.dtype).eps)
        np.testing.assert_allclose(np.asarray(found, "float64"), np.full((2, 3), float(single)), 30 * eps, 4 * eps)
    for dtype in ("bool", "int8", "int32"):
        assert public(*[np.ones(2, dtype) for _ in at]).dtype == "float32"
    if DEFINITIONS[name].complex_too:
        assert public(*[np.complex64(0.4 + 0.1j) for _ in at]).dtype == "complex64"
    mapped = tangrad.jit(tangrad.vmap(public))(*[np.full(3, value, "float32") for value in at])
    np.testing.assert_allclose(mapped, np.full(3, float(single)), 1e-5, 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_bad_arguments_are_named(name):
    public, definition = getattr(special, name), DEFINITIONS[name]
    for place in range(len(definition.at)):
        for wrong in ["a", [1.0], *([] if definition.complex_too else [1j])]:
            with pytest.raises(TypeError, match=rf"^{name} "):
                public(*definition.at[:place], wrong, *definition.at[place + 1 :])
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'nothing'"):
        public(*definition.at, nothing=1)
    with pytest.raises(TypeError, match=rf"^{name}\(\) missing {len(definition.at)} required positional argument"):
        public()
    if len(definition.at) > 1:
        with pytest.raises(ValueError, match=rf"^{name} got shapes"):
            public(np.ones(2), *[np.ones(3)] * (len(definition.at) - 1))


def test_a_definition_makes_a_function():
    @defined(2.0, 3.0, gives="7.00", weak="never", returns="as it should be", y="what is added")
    def plus_one(x: ArrayLike, y: ArrayLike) -> tangrad.Array:
        """2x + y."""
        return 2 * tangrad.numpy.asarray(x) + y

    assert plus_one(1, y=np.float16([1.0, 2.0])).dtype == "float16"
    assert not plus_one(1.0, 2.0).aval.weak_type
    np.testing.assert_allclose(plus_one(np.arange(2), 1.0), [1.0, 3.0])
    text = inspect.getdoc(plus_one)
    for line in ("2x + y.", "    x: an array or number, real; ", "    y: what is added.", "shape; as it should be."):
        assert line in text
    assert text.rstrip().endswith(">>> f\"{plus_one(2.0, 3.0):.2f}\"\n'7.00'")


def test_a_definition_of_a_family_makes_a_primitive():
    """With samples of its own, by which the conformance kit checks it on both backends and under transformations."""
    family = PrimitiveSet("stated_once", api=1)

    @defined(1.0, 0.0, gives="0.000", family=family, reference=lambda m, x, y: x * m.tanh(y))
    def bounded(x: ArrayLike, y: ArrayLike) -> tangrad.Array:
        """x tanh(y)."""
        return x * tnp.tanh(y)

    primitive = bounded.definition.primitive
    assert primitive is family.primitives["bounded"] and bounded.definition.module == __name__
    with register(family):
        assert [eqn.primitive for eqn in tangrad.make_jaxpr(bounded)(1.0, 2.0).eqns if eqn.primitive is primitive]
        np.testing.assert_allclose(bounded(2, np.array([0.0, 4.0])), [0.0, 2 * np.tanh(4.0)], 1e-6)
        np.testing.assert_allclose(tangrad.grad(bounded)(2.0, 1.0), np.tanh(1.0), 1e-6)
        with pytest.raises(TypeError, match=r"^bounded "):
            bounded(1.0, "a")
        with pytest.raises(TypeError, match=r"bounded does not accept dtype int32 for x; expected floating"):
            primitive.bind(np.arange(2, dtype="int32"), np.arange(2, dtype="int32"))
        samples = samples_of(bounded.definition)
        assert len(samples) == 3 and [len(sample.args) for sample in samples] == [2] * 3
        report = check(primitive, samples)
    assert report.cells and not report.failures, report.text()
    with pytest.raises(ValueError, match="gamma is no primitive"):
        samples_of(tangrad.scipy.special.gamma.definition)


def test_a_formula_that_is_not_the_primitive_fails_the_kit():
    family = PrimitiveSet("stated_wrongly", api=1)

    @defined(1.0, gives="2.0", family=family, reference=lambda m, x: m.exp(x))
    def wrong(x: ArrayLike) -> tangrad.Array:
        """x + 1."""
        return x + 1

    with register(family):
        assert check(wrong.definition.primitive, samples_of(wrong.definition)).failures


# --- What is made of the record of a distribution ---


MODULES_OF_RECORDS = (continuous_distributions, discrete_distributions, vector_distributions)
distributions = {
    record.name: record
    for module in MODULES_OF_RECORDS
    for record in vars(module).values()
    if isinstance(record, Distribution)
}
RECORD_NAMES = [(name, part) for name, record in distributions.items() for part in record.results]
OF_NUMBERS = [(name, part) for name, part in RECORD_NAMES if type(distributions[name]) is Distribution]


def function(name, part):
    return getattr(getattr(stats, name), part)


def ordinary(name, part):
    """The example's arguments, as arrays."""
    record = distributions[name]
    shapes = dict(zip([one.name for one in record.shapes], record.at[1:]))
    given = [one.name for one in record.arguments(part) if one.name not in ("loc", "scale")]
    first = {"ppf": 0.25, "isf": 0.25}.get(part, record.at[0])
    return [np.float32(shapes.get(one, first)) for one in given]


def test_public_names_are_those_of_the_records():
    public = {name: set(dir(getattr(stats, name))) for name in distributions}
    assert public == {name: set(record.results) for name, record in distributions.items()}
    assert {record.module for record in distributions.values()} == {module.__name__ for module in MODULES_OF_RECORDS}
    assert all(
        getattr(importlib.import_module(record.module), name) is record for name, record in distributions.items()
    )


@pytest.mark.parametrize(("name", "part"), RECORD_NAMES)
def test_examples_of_the_documentation_run(name, part):
    found = doctest.DocTestParser().get_doctest(function(name, part).__doc__, {}, f"{name}.{part}", None, 0)
    assert found.examples
    results = doctest.DocTestRunner(verbose=False).run(found, out=lambda text: None)
    assert results.failed == 0


@pytest.mark.parametrize(("name", "part"), RECORD_NAMES)
def test_signature_documentation_and_source_are_those_of_a_written_function(name, part):
    public, record = function(name, part), distributions[name]
    parameters = inspect.signature(public).parameters
    assert list(parameters) == [one.name for one in record.arguments(part)]
    assert all(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters.values())
    hints = get_type_hints(inspect.unwrap(public))
    assert hints.pop("return") is tangrad.Array
    assert set(map(str, hints.values())) <= {str(ArrayLike), str(type(None))}
    text = inspect.getdoc(public)
    assert all(f"    {one}: " in text for one in parameters) and record.source in text and "Raises:" in text
    assert (public.__name__, public.__module__) == (part, f"tangrad.scipy.stats.{name}")
    assert pickle.loads(pickle.dumps(public)) is public
    assert "def of_" not in (source := inspect.getsource(public)) and ("lambda" in source or "def " in source)


@pytest.mark.parametrize(("name", "part"), OF_NUMBERS)
def test_record_bad_arguments_are_named(name, part):
    public, given = function(name, part), ordinary(name, part)
    for place in range(len(given)):
        for wrong, error in ((1j, TypeError), ("a", TypeError), ([1.0], TypeError)):
            with pytest.raises(error, match=rf"{name}\.{part}\b"):
                public(*given[:place], wrong, *given[place + 1 :])
    with pytest.raises(TypeError, match=rf"{part}\(\) got an unexpected keyword argument 'nothing'"):
        public(*given, nothing=1)
    with pytest.raises(TypeError, match=rf"{part}\(\) missing {len(given)} required positional argument"):
        public()
    if len(inspect.signature(public).parameters) > 1:
        with pytest.raises(ValueError, match=rf"{name}\.{part} got shapes"):
            public(np.ones(2), *[np.ones(3)] * (len(inspect.signature(public).parameters) - 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "int32", "bool"])
@pytest.mark.parametrize("name", [name for name, record in distributions.items() if type(record) is Distribution])
def test_results_have_the_dtype_in_which_arguments_meet(name, dtype):
    for part in distributions[name].results:
        with tangrad.use_backend("numpy"):  # the dtype is that of the trace: nothing needs to be compiled for it
            first, *shapes = [tangrad.numpy.asarray(value) for value in ordinary(name, part)]
            found = function(name, part)(first.astype(dtype), *[value.astype("float16") for value in shapes])
        inexact = dtype if "float" in dtype else "float16" if shapes else "float32"
        assert found.dtype == np.result_type(inexact) if dtype != "bfloat16" else found.dtype in ("bfloat16", "float32")


@pytest.mark.parametrize("domain", [POSITIVE, NOT_NEGATIVE, COUNT, PROBABILITY, CHANCE, FRACTION])
def test_domains_contain_their_samples_and_no_nan(domain):
    samples = tangrad.numpy.asarray([*domain.samples, np.nan, -1.0])
    assert list(domain.contains(samples)) == [True] * len(domain.samples) + [False, False]


def test_a_record_makes_functions():
    triangle = Distribution(
        "triangle",
        "The distribution of density 2z / scale",
        location("the lower end"),
        scale("the width"),
        support=Support("from loc to loc + scale", lambda z: (z >= 0) & (z <= 1), 0.5),
        logpdf=lambda z: tangrad.numpy.log(2 * z),
        logcdf=lambda z: 2 * tangrad.numpy.log(tangrad.numpy.clip(z, 0, 1)),
        sf=complement_of("logcdf"),
        ppf=tangrad.numpy.sqrt,
        at=(0.5,),
        results={"logpdf": 0.0, "pdf": 1.0, "logcdf": -1.3863, "sf": 0.75, "ppf": 0.5},
        source="none",
    )
    x = np.float32([-1.0, 1.5, 2.0, 4.0, np.nan])
    np.testing.assert_allclose(triangle.pdf(x, 1, 2), [0, 0.25, 0.5, 0, np.nan])
    np.testing.assert_allclose(triangle.sf(x, loc=1, scale=2), [1, 1 - 0.0625, 0.75, 0, np.nan])
    np.testing.assert_allclose(triangle.ppf(np.float32([-0.1, 0.25, 1.0]), 1, 2), [np.nan, 2, 3])
    np.testing.assert_allclose(triangle.pdf(0.5, 0, -1.0), np.nan)
    slope = tangrad.vmap(tangrad.grad(triangle.logpdf))(x[:4])
    np.testing.assert_allclose(slope, [0, 0, 0, 0])
    assert triangle.made_functions()["sf"] == (
        "(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array",
        "The probability of values above x.",
    )
    with pytest.raises(AttributeError, match="triangle has no function 'isf'"):
        _ = triangle.isf


@pytest.mark.parametrize("results", [{"logpdf": 0.0}, {"logpdf": 0.0, "pdf": 1.0, "cdf": 1.0}])
def test_functions_without_a_formula_or_a_result_are_named(results):
    with pytest.raises(ValueError, match=r"bad: functions with a formula or a result, not both: (pdf|cdf)"):
        Distribution("bad", "", Parameter("a", "", POSITIVE), logpdf=abs, at=(1.0,), results=results, source="")


# --- Bad input of `tangrad.scipy` is named by function and argument ---


V = np.array([1.0, 2.0, 3.0], "float32")
R = np.arange(6.0, dtype="float32").reshape(2, 3)
A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]], "float32")
NOTHING = np.zeros(0, "float32")
SPECTRA = np.ones((3, 4), "float32")
TURNS = np.ones((2, 3), "float32")

ERRORS = [
    # linear algebra
    (lambda: linalg.cho_solve(A, V), ValueError, "cho_solve: c_and_lower must be a pair, the result of cho_factor"),
    (lambda: linalg.lu_solve(A, V), ValueError, "lu_solve: lu_and_piv must be a pair, the result of lu_factor"),
    (lambda: linalg.lu_solve((A, np.array([0, 1])), V), ValueError, "lu_solve: piv must have as many elements as lu"),
    (lambda: linalg.expm(A, max_squarings=1.5), TypeError, "expm: max_squarings must be an integer, got 1.5"),
    (lambda: linalg.expm_frechet(A, A, method="foo"), ValueError, "expm_frechet: method must be 'SPS'"),
    (lambda: linalg.solve_sylvester(A, A, A, method="foo"), ValueError, "solve_sylvester: method must be 'schur'"),
    (lambda: linalg.funm(A, lambda x: x[0]), ValueError, "funm: func must return an array of the shape (3,), got ()"),
    (lambda: linalg.toeplitz(R, A), ValueError, "toeplitz got shapes that do not broadcast together: (2,), (3,)"),
    (lambda: linalg.convolution_matrix(NOTHING, 2), ValueError, "convolution_matrix: a must have elements"),
    # signals
    (lambda: signal.detrend(V, bp=[1.5]), TypeError, "detrend: bp must be integers, got [1.5]"),
    (lambda: signal.stft(V, fs=0.0, nperseg=2), ValueError, "stft: fs must not be 0"),
    (lambda: signal.istft(SPECTRA, fs=0), ValueError, "istft: fs must not be 0"),
    (
        lambda: signal.istft(SPECTRA, nperseg=4, nfft=2),
        ValueError,
        "nfft must not be less than nperseg, 4, got 2",
    ),
    (lambda: signal.istft(SPECTRA, nperseg=7), ValueError, "istft: nfft must not be less than nperseg, 7, got 4"),
    (lambda: ndimage.map_coordinates(R[:0], [V, V], 1), ValueError, "map_coordinates: input has no elements"),
    # between samples
    (
        lambda: interpolate.RegularGridInterpolator((NOTHING,), NOTHING),
        *(ValueError, "points[0] must not be empty"),
    ),
    (
        lambda: interpolate.RegularGridInterpolator((V,), V, fill_value=1j),
        *(ValueError, "fill_value must be real, as values are, got 1j"),
    ),
    (
        lambda: interpolate.RegularGridInterpolator((V, V), A)(V),
        *(ValueError, "places must have 2 coordinates along the last axis, got shape (3,)"),
    ),
    # others
    (lambda: vq(R, R[:0]), ValueError, "vq: code_book must have a vector at least"),
    (lambda: stats.gaussian_kde(V).integrate_kde(V), TypeError, "integrate_kde takes another estimate"),
    (lambda: Rotation.concatenate([1]), TypeError, "Rotation.concatenate takes rotations, got 1"),
    (lambda: Rotation.from_rotvec(TURNS).apply(A), ValueError, "Rotation.apply: 2 rotations do not fit 3 vectors"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS, ids=[message for *_, message in ERRORS])
def test_message(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


# What the call is, and what SciPy has for it, or JAX where SciPy raises.
RESULTS = {
    "erfcx": (lambda: special.erfcx(np.array([np.inf, -np.inf, np.nan])), [0, np.inf, np.nan]),
    "dawsn": (lambda: special.dawsn(np.array([np.inf, -np.inf, np.nan])), [0, 0, np.nan]),
    "wofz": (lambda: special.wofz(np.array([np.inf, -np.inf])), [0, 0]),
    "vq of complex vectors": (lambda: vq(R * 1j, R)[1], np.sqrt([5 + 5, 50 + 5])),
    "sqrtm": (lambda: linalg.sqrtm(np.zeros((0, 0))), np.zeros((0, 0))),
    "funm": (lambda: linalg.funm(np.zeros((0, 0)), tnp.exp), np.zeros((0, 0))),
    "toeplitz": (lambda: linalg.toeplitz(V[:2], R), [[[1, 1, 2], [2, 1, 1]], [[1, 4, 5], [2, 1, 4]]]),
    "hankel": (lambda: linalg.hankel(V[:2], R), [[[1, 2, 1], [2, 1, 2]], [[1, 2, 4], [2, 4, 5]]]),
    "toeplitz of a number": (lambda: linalg.toeplitz(2.0), [[2]]),
    "circulant of a number": (lambda: linalg.circulant(2.0), [[2]]),
    "fiedler of a number": (lambda: linalg.fiedler(2.0), [[0]]),
    "companion": (lambda: linalg.companion(np.array([[0.0, 0.0, 0.0]])), [[[np.nan] * 2, [1, 0]]]),
    "leslie": (lambda: linalg.leslie(V, np.array([np.nan, 1.0])), [[1, 2, 3], [np.nan, 0, 0], [0, 1, 0]]),
    "fiedler_companion": (lambda: linalg.fiedler_companion(A[:1, :2]), [[[-0.25]]]),
    "fiedler_companion of a constant": (lambda: linalg.fiedler_companion(np.ones((2, 1))), np.zeros((2, 0, 0))),
    "fiedler_companion of several": (
        lambda: linalg.fiedler_companion(np.stack([V, 2 * V])),
        [[[-2, -3], [1, 0]]] * 2,
    ),
    "convolution_matrix": (
        lambda: linalg.convolution_matrix(np.stack([V, 2 * V]), 2, "valid"),
        [[[2, 1], [3, 2]], [[4, 2], [6, 4]]],
    ),
    "fftconvolve": (lambda: signal.fftconvolve(R, R, axes=()), R * R),
    "dct of complex numbers": (lambda: fft.dct(np.array([1, 1j]), norm="ortho"), np.array([1 + 1j, 1 - 1j]) / 2**0.5),
    "idct of complex numbers": (lambda: fft.idctn(np.array([2 + 2j, 0])), [0.5 + 0.5j] * 2),
    "dctn along one axis": (lambda: fft.dctn(R, axes=0), [[6, 10, 14], [-4.242641] * 3]),
    "empty welch": (lambda: signal.welch(NOTHING)[1], []),
    "empty csd": (lambda: signal.csd(V, NOTHING)[1], []),
    "empty stft": (lambda: signal.stft(NOTHING)[2], []),
    "one place": (lambda: interpolate.RegularGridInterpolator((V, V), A)(np.array([1.5, 1.0])), [2.5]),
    "a list of places": (lambda: interpolate.RegularGridInterpolator((V,), V)(np.array([1.5, 2.5])), [1.5, 2.5]),
    "places one after another": (
        lambda: interpolate.RegularGridInterpolator((V, V), A)(np.array([1.0, 1.0, 3.0, 3.0])),
        [4, 5],
    ),
    "a tuple of numbers": (lambda: interpolate.RegularGridInterpolator((V, V), A)((1.5, 1.0)), 2.5),
}


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("name", RESULTS)
def test_result(name, backend):
    call, expected = RESULTS[name]
    with tangrad.use_backend(backend):
        found = np.asarray(call())
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_dtypes_are_those_of_jax(backend):
    with tangrad.use_backend(backend):
        _, times, spectra = signal.stft(V, nperseg=2)
        assert times.dtype == "float32" and isinstance(times, tangrad.Array)
        assert signal.istft(spectra, nperseg=2)[0].dtype == "float32"
        assert signal.csd(V, None, nperseg=2)[1].dtype == "float32"
        assert signal.csd(V, V, nperseg=2)[1].dtype == "complex64"
        for found in linalg.hessenberg(np.zeros((0, 0), "int8"), calc_q=True):
            assert found.dtype == "int8" and found.shape == (0, 0)
