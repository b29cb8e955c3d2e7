"""What the Array API standard asks for beside the functions."""

import numpy
import pytest


def test_namespace_and_version(numpy_side):
    np, array = numpy_side.np, numpy_side.names["f"]
    assert array.__array_namespace__() is np
    assert array.__array_namespace__(api_version="2024.12") is np
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
