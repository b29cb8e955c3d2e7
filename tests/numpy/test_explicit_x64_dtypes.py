"""64-bit dtypes that are asked for by name while they are off: narrowed with a warning, refused, or made."""

import warnings

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, random
from tangrad._core.settings.config import explicit_x64_dtypes

KEY = random.key(0)

ASKING = {  # what is made, and the dtype that is asked for
    "array": (lambda: np.array([1.0], numpy.float64), "float64"),
    "asarray": (lambda: np.asarray([1], "int64"), "int64"),
    "zeros": (lambda: np.zeros(2, "float64"), "float64"),
    "full": (lambda: np.full(2, 1, "uint64"), "uint64"),
    "ones_like": (lambda: np.ones_like(np.ones(2), dtype="complex128"), "complex128"),
    "eye": (lambda: np.eye(2, dtype="float64"), "float64"),
    "arange": (lambda: np.arange(3, dtype="int64"), "int64"),
    "linspace": (lambda: np.linspace(0, 1, 3, dtype="float64"), "float64"),
    "astype": (lambda: np.ones(2).astype("float64"), "float64"),
    "view": (lambda: np.zeros(2, "float32").view("float64"), "float64"),
    "scalar": (lambda: np.float64(1), "float64"),
    "sum": (lambda: np.ones(2).sum(dtype="float64"), "float64"),
    "mean": (lambda: np.ones(2).mean(dtype="float64"), "float64"),
    "cumsum": (lambda: np.cumsum(np.arange(3), dtype="int64"), "int64"),
    "dot": (lambda: np.dot(np.ones(2), np.ones(2), preferred_element_type="float64"), "float64"),
    "convert_element_type": (lambda: lax.convert_element_type(np.ones(2), numpy.float64), "float64"),
    "lax.full": (lambda: lax.full((2,), 1, "float64"), "float64"),
    "uniform": (lambda: random.uniform(KEY, (2,), "float64"), "float64"),
    "randint": (lambda: random.randint(KEY, (2,), 0, 5, "int64"), "int64"),
    "one_hot": (lambda: tangrad.nn.one_hot(np.arange(3), 3, dtype="float64"), "float64"),
    "jit": (lambda: tangrad.jit(lambda x: x.astype("float64") * 2)(np.ones(2)), "float64"),
    "vmap": (lambda: tangrad.vmap(lambda x: x.astype("float64"))(np.ones(2)), "float64"),
}
SAID_ONCE = ("linspace", "sum")  # what runs as a program that is kept warns when it is made
NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


@pytest.mark.parametrize("name", ASKING)
def test_each_way(name):
    """In an order in which one way's result, if it were remembered, would be another's."""
    make, dtype = ASKING[name]
    for _ in range(2):
        with explicit_x64_dtypes("allow"):
            assert make().dtype == dtype
        with explicit_x64_dtypes("error"), pytest.raises(ValueError, match=f"{dtype} was asked for.*is 'error'"):
            make()
        with explicit_x64_dtypes("warn"), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert make().dtype == NARROW[dtype]
        assert name in SAID_ONCE or f"{dtype} was asked for" in str(said[0].message)
        with tangrad.enable_x64(True), explicit_x64_dtypes("error"):
            assert make().dtype == dtype


@pytest.mark.parametrize("way", ["warn", "error", "allow"])
def test_what_asks_for_no_width_becomes_32_bit(way):
    with explicit_x64_dtypes(way):
        made = [np.zeros(2, float), np.array(numpy.ones(2)), np.arange(3), np.ones(2).astype(int), np.array([1j])]
        assert [str(x.dtype) for x in made] == ["float32", "float32", "int32", "int32", "complex64"]


def test_what_was_made_stays_as_wide():
    with explicit_x64_dtypes("allow"):
        wide = np.array([1.0, 1e-12], "float64")
        assert (wide + 1).dtype == (wide + np.ones(2)).dtype == (np.ones(2) * wide).dtype == "float64"
        assert float((wide + np.ones(2))[1]) == 1 + 1e-12
        gradient = tangrad.grad(lambda x: (x.astype("float64") ** 2).sum())(np.ones(2))
        assert gradient.dtype == "float32" and gradient.tolist() == [2, 2]


def test_other_values_are_refused():
    with pytest.raises(ValueError, match="explicit_x64_dtypes"):
        tangrad.config.update("explicit_x64_dtypes", "never")


def test_the_name_in_jax():
    tangrad.config.update("jax_explicit_x64_dtypes", "allow")
    try:
        assert tangrad.config.explicit_x64_dtypes == "allow"
    finally:
        tangrad.config.update("jax_explicit_x64_dtypes", "warn")
