"""What the Array API standard asks for beside the functions."""

import importlib.util
import inspect

import numpy
import pytest

from tools.array_api import BACKENDS, SUBJECTS, VERSIONS, as_table, main, reasons, run, suite_folder


def test_namespace_and_version(numpy_side):
    np, array = numpy_side.np, numpy_side.names["f"]
    assert array.__array_namespace__() is np
    assert array.__array_namespace__(api_version="2024.12") is np
    assert array.__array_namespace__(api_version="2025.12") is np
    with pytest.raises(ValueError, match=r"not '2031\.12'"):
        array.__array_namespace__(api_version="2031.12")
    assert np.__array_api_version__ == "2024.12"


def test_info(numpy_side):
    info = numpy_side.np.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.default_dtypes()["real floating"] == "float32"
    assert "float64" not in info.dtypes()
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32"}
    with pytest.raises(ValueError, match="unknown kind"):
        info.dtypes(kind="strings")
    with numpy_side.chosen():
        assert info.default_device() in info.devices()
    with numpy_side.api.enable_x64(True):
        assert "float64" in info.dtypes(kind="numeric")


def test_traced_arrays_have_the_namespace(numpy_side):
    np = numpy_side.np
    with numpy_side.chosen():
        got = numpy_side.api.jit(lambda x: x.__array_namespace__().sin(x))(np.ones(2))
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.sin(numpy.ones(2)), rtol=1e-6)


# Every function of the standard (2024.12) outside of its extensions.
STANDARD = """
    __array_namespace_info__ abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype
    atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    broadcast_arrays broadcast_to can_cast ceil clip concat conj copysign cos cosh count_nonzero
    cumulative_prod cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip
    floor floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag inf isdtype isfinite
    isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or
    logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative
    newaxis nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal
    remainder repeat reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square
    squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc unique_all
    unique_counts unique_inverse unique_values unstack var vecdot where zeros zeros_like bool complex64
    complex128 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64
"""


@pytest.mark.parametrize("name", STANDARD.split())
def test_the_standard_is_covered(name, numpy_side):
    assert hasattr(numpy_side.np, name)


def test_methods_and_properties_are_listed_for_completion(numpy_side):
    listed = dir(numpy_side.names["f"])
    assert {"at", "reshape", "sum", "T", "dtype", "shape"} <= set(listed)
    assert all(hasattr(numpy_side.names["f"], name) for name in ("reshape", "sum", "T"))


# --- values that the standard lists one by one ---------------------------------------------------------------------

INF, NAN = float("inf"), float("nan")
# x, y, x // y: the floor of the quotient where it is no number of its own, with its sign if it is zero.
QUOTIENTS = [
    *[(0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0), (0.0, 0.0, NAN), (-0.0, 0.0, NAN)],
    *[(3.0, 0.0, INF), (3.0, -0.0, -INF), (-3.0, 0.0, -INF), (-3.0, -0.0, INF), (NAN, 2.0, NAN), (2.0, NAN, NAN)],
    *[(INF, 2.0, INF), (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF), (INF, INF, NAN), (-INF, INF, NAN)],
    *[(INF, 0.0, INF), (INF, -0.0, -INF), (-INF, 0.0, -INF)],
    # A small quotient is rounded down, by infinity too, as in Python.
    *[(3.0, INF, 0.0), (-3.0, -INF, 0.0), (3.0, -INF, -1.0), (-3.0, INF, -1.0), (-1.0, -2.0, 0.0), (-1.0, 2.0, -1.0)],
    *[(7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (1e-30, -1e30, -1.0), (1e30, 1e-30, INF)],
]
# x, y, x % y: with the sign of y, if it is zero too.
REMAINDERS = [
    *[(0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, -0.0), (0.0, 0.0, NAN), (3.0, 0.0, NAN)],
    *[(4.0, 2.0, 0.0), (-4.0, 2.0, 0.0), (4.0, -2.0, -0.0), (-4.0, -2.0, -0.0), (INF, 2.0, NAN), (INF, INF, NAN)],
    *[(3.0, INF, 3.0), (3.0, -INF, -INF), (-3.0, INF, INF), (-3.0, -INF, -3.0), (NAN, 2.0, NAN), (7.0, -4.0, -1.0)],
]


def check_exactly(got, expected):
    """Equal, signs of zeros included."""
    got, expected = numpy.asarray(got), numpy.asarray(expected, "float32")
    numpy.testing.assert_array_equal(got, expected)
    numbers = ~numpy.isnan(expected)
    numpy.testing.assert_array_equal(numpy.signbit(got)[numbers], numpy.signbit(expected)[numbers])


@pytest.mark.parametrize("name, rows", [("floor_divide", QUOTIENTS), ("remainder", REMAINDERS)])
def test_division_of_zeros_and_infinities(name, rows, subject):
    x, y, expected = numpy.asarray(rows, "float32").T
    function = getattr(subject.np, name)
    with subject.chosen():
        check_exactly(function(x, y), expected)
        check_exactly(subject.api.jit(function)(x, y), expected)


def test_remainders_keep_their_derivatives_where_they_are_zero(subject):
    x, y = numpy.asarray([4, -4, 4, 0, 5], "float32"), numpy.asarray([2, 2, -2, 2, 2], "float32")
    with subject.chosen():
        by_x, by_y = subject.api.grad(lambda x, y: subject.np.remainder(x, y).sum(), (0, 1))(x, y)
    check_exactly(by_x, numpy.ones(5))
    numpy.testing.assert_array_equal(numpy.asarray(by_y), -numpy.trunc(x / y))


def test_quotients_that_are_rounded_do_not_change(subject):
    with subject.chosen():
        slope = subject.api.grad(lambda x: subject.np.floor_divide(x, 2.0).sum())
        check_exactly(slope(numpy.asarray([0, 3, INF], "float32")), numpy.zeros(3))


# Parts of z, and of exp(z) - 1.
EXPONENTIALS = [
    *[(0.0, 0.0, 0.0, 0.0), (-0.0, 0.0, 0.0, 0.0), (INF, 0.0, INF, 0.0), (-INF, INF, -1.0, 0.0)],
    *[(INF, INF, INF, NAN), (INF, NAN, INF, NAN), (2.0, INF, NAN, NAN), (-INF, 1.0, -1.0, 0.0)],
    *[(-INF, NAN, -1.0, 0.0), (NAN, 0.0, NAN, 0.0), (NAN, 1.0, NAN, NAN), (NAN, NAN, NAN, NAN)],
]


def test_complex_exponentials_less_one_of_infinities(numpy_side):
    parts = numpy.asarray(EXPONENTIALS, "float32")
    z = numpy.ascontiguousarray(parts[:, :2]).view("complex64")[:, 0]
    with numpy_side.chosen():
        got = numpy.asarray(numpy_side.np.expm1(z))
    check_exactly(got.real, parts[:, 2])
    numpy.testing.assert_array_equal(got.imag, parts[:, 3])  # the standard leaves the signs of these zeros open


def test_complex_exponentials_less_one_keep_their_digits(numpy_side):
    numbers = [1e-9 + 1e-9j, -1e-7 + 2e-6j, 0.3 - 0.2j, -0.49 + 3j, 0.51 - 2j, -30 + 1j, 80 + 1j]
    near = numpy.asarray(numbers, "complex64")
    wide = near.astype("complex128")
    expected = numpy.expm1(wide.real) * numpy.cos(wide.imag) - 2 * numpy.sin(wide.imag / 2) ** 2
    with numpy_side.chosen():
        got = numpy.asarray(numpy_side.np.expm1(near))
    numpy.testing.assert_allclose(got.real, expected, rtol=1e-5)
    numpy.testing.assert_allclose(got.imag, numpy.exp(wide).imag, rtol=1e-6)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_totals_of_narrow_integers_are_wide(name, numpy_side):
    with numpy_side.chosen():
        function = getattr(numpy_side.np, name)
        assert function(numpy.asarray([16, 16, 16], "uint8")).dtype == "uint32"
        assert function(numpy.asarray([True, False]), include_initial=True).dtype == "int32"
        assert function(numpy.asarray([16, 16], "int8"), dtype="int8").dtype == "int8"
        assert function(numpy.asarray([1.5], "float16")).dtype == "float16"
        assert numpy_side.np.cumulative_prod(numpy.asarray([16, 16, 16], "uint8")).tolist() == [16, 256, 4096]


def test_masks_with_a_dimension_of_size_0_select_nothing(subject):
    with subject.chosen():
        x = subject.np.ones((3, 2))
        assert x[subject.np.ones((0,), bool)].shape == (0, 2)
        assert x[subject.np.ones((3, 0), bool)].shape == (0,)
        assert subject.np.ones((0, 2))[subject.np.ones((0, 2), bool)].shape == (0,)


def test_the_namespace_shows_its_signature(subject):
    with subject.chosen():
        parameters = inspect.signature(subject.np.ones(2).__array_namespace__).parameters
    assert parameters.keys() == {"api_version"}
    assert parameters["api_version"].kind is inspect.Parameter.KEYWORD_ONLY


# --- The public suite of the array API standard on both backends, where a checkout of it is named ---
# `make array-api ARRAY_API_TESTS=folder` runs it beside NumPy; `make test-all` runs it where the variable is set.


@pytest.mark.sweep
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["tangrad-numpy", "tangrad-xla"])
def test_what_fails_has_a_reason(name, version):
    subject = SUBJECTS[name]
    if importlib.util.find_spec(f"tangrad._backend_{subject.backend}.backend") is None:
        pytest.skip(f"the backend {subject.backend} is not installed")
    try:
        suite_folder()
    except LookupError as error:
        pytest.skip(str(error))
    outcome = run(subject, version, examples=20)
    expected = subject.expected_failures(version)
    assert outcome.failed <= expected, outcome.log
    assert subject.expected_failures(version, certain=True) <= outcome.failed, "tests pass that are listed as failing"
    assert outcome.count("passed") > 1300


def test_each_test_has_one_reason():
    for version in VERSIONS:
        for backend in BACKENDS:
            named = [
                test
                for reason in reasons()
                if version in reason.versions and backend in reason.backends
                for test in reason.tests
            ]
            assert len(named) == len(set(named))


@pytest.mark.parametrize("folder, message", [(None, "names no checkout"), ("empty", "has no folder array_api_tests")])
def test_where_there_is_no_suite_it_says_so(folder, message, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ARRAY_API_TESTS", raising=False)
    if folder is not None:
        monkeypatch.setenv("ARRAY_API_TESTS", str(tmp_path))
    with pytest.raises(SystemExit, match=message):
        main(["numpy"])
    with pytest.raises(SystemExit):
        main(["cupy"])
    assert "unknown subjects cupy; there are numpy, tangrad-numpy, tangrad-xla" in capsys.readouterr().err


def test_the_suite_runs_in_a_process_of_its_own(tmp_path, monkeypatch):
    """A suite of three tests in place of the public one, which looks at what it is given."""
    (tmp_path / "array-api" / "src").mkdir(parents=True)
    (tmp_path / "array_api_tests").mkdir()
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--max-examples', type=int)\n"
        "    for name in ('--disable-deadline', '--derandomize'):\n"
        "        parser.addoption(name, action='store_true')\n"
    )
    (tmp_path / "array_api_tests" / "test_it.py").write_text(
        "import importlib, os, pytest\n"
        "def test_module(request):\n"
        "    xp = importlib.import_module(os.environ['ARRAY_API_TESTS_MODULE'])\n"
        "    assert xp.ones(2).dtype == 'float64'\n"
        "    assert os.environ['ARRAY_API_TESTS_VERSION'] == '2025.12'\n"
        "    assert request.config.getoption('--max-examples') == 7\n"
        "class TestOthers:\n"
        "    def test_failing(self):\n"
        "        assert False\n"
        "    @pytest.mark.skip\n"
        "    def test_skipped(self):\n"
        "        pass\n"
    )
    monkeypatch.setenv("ARRAY_API_TESTS", str(tmp_path))
    monkeypatch.setattr("tools.array_api.REQUIRED", ())
    outcome = run(SUBJECTS["tangrad-numpy"], "2025.12", examples=7)
    assert outcome.tests == {
        "test_it::test_module": "passed",
        "test_it.TestOthers::test_failing": "failed",
        "test_it.TestOthers::test_skipped": "skipped",
    }
    assert outcome.failed == {"test_it.TestOthers::test_failing"}
    assert as_table([("it", "2025.12", outcome)]).endswith("| it | 2025.12 | 1 | 1 | 1 |")
