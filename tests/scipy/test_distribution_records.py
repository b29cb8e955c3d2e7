"""What is made of the record of a distribution: the functions, their signatures, documentation and errors."""

import doctest
import importlib
import inspect
import pickle
from typing import get_type_hints

import numpy as np
import pytest

import tangrad
from tangrad._scipy.distributions import continuous, discrete, vectors
from tangrad._scipy.distributions.records import (
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
from tangrad.scipy import stats
from tangrad.typing import ArrayLike

MODULES = (continuous, discrete, vectors)
distributions = {
    record.name: record for module in MODULES for record in vars(module).values() if isinstance(record, Distribution)
}
NAMES = [(name, part) for name, record in distributions.items() for part in record.results]
OF_NUMBERS = [(name, part) for name, part in NAMES if type(distributions[name]) is Distribution]


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
    assert {record.module for record in distributions.values()} == {module.__name__ for module in MODULES}
    assert all(
        getattr(importlib.import_module(record.module), name) is record for name, record in distributions.items()
    )


@pytest.mark.parametrize(("name", "part"), NAMES)
def test_examples_of_the_documentation_run(name, part):
    found = doctest.DocTestParser().get_doctest(function(name, part).__doc__, {}, f"{name}.{part}", None, 0)
    assert found.examples
    results = doctest.DocTestRunner(verbose=False).run(found, out=lambda text: None)
    assert results.failed == 0


@pytest.mark.parametrize(("name", "part"), NAMES)
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
def test_bad_arguments_are_named(name, part):
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
