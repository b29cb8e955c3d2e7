"""Convolutions and pooling."""

import numpy

from ..corpus import normal, program


@program(lambda r: (normal(r, 2, 8, 3), normal(r, 3, 3, 4)), grad=(0, 1))
def convolution_1d(api, x, kernel):
    """Along time, with explicit padding and stride."""
    return api.lax.conv_general_dilated(x, kernel, (2,), [(1, 0)], dimension_numbers=("NWC", "WIO", "NWC"))


@program(lambda r: (normal(r, 1, 6, 7, 2), normal(r, 3, 3, 2, 3)), grad=(0, 1))
def convolution_2d(api, x, kernel):
    """Images, SAME and VALID, strides that differ by axis."""
    numbers = ("NHWC", "HWIO", "NHWC")
    convolve = api.lax.conv_general_dilated
    same = convolve(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    return same, convolve(x, kernel, (2, 1), "VALID", dimension_numbers=numbers)


@program(lambda r: (normal(r, 1, 2, 7, 7), normal(r, 3, 2, 3, 3)), grad=(0, 1))
def dilated_convolution(api, x, kernel):
    """Kernel dilation and input dilation, channels first."""
    convolve = api.lax.conv_general_dilated
    return convolve(x, kernel, (1, 1), "SAME", rhs_dilation=(2, 2)), convolve(
        x, kernel, (1, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 2)
    )


@program(lambda r: (normal(r, 2, 5, 5, 4), normal(r, 3, 3, 1, 4), normal(r, 1, 1, 2, 6)), grad=(0, 1, 2))
def grouped_convolution(api, x, depthwise, grouped):
    """Depthwise and grouped convolutions."""
    numbers = ("NHWC", "HWIO", "NHWC")
    convolve = api.lax.conv_general_dilated
    one = convolve(x, depthwise, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=4)
    return one, convolve(x, grouped, (2, 2), "VALID", dimension_numbers=numbers, feature_group_count=2)


@program(lambda r: (normal(r, 2, 6, 6, 3),), grad=(0,))
def max_pooling(api, x):
    """Maxima over windows, overlapping ones included."""
    lax = api.lax
    plain = lax.reduce_window(x, -numpy.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return plain, lax.reduce_window(x, -numpy.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


@program(lambda r: (normal(r, 2, 6, 5, 3),), grad=(0,))
def average_pooling(api, x):
    """Means over windows, with the counts at the border."""
    lax, np = api.lax, api.numpy
    window = (1, 3, 3, 1), (1, 2, 2, 1), "SAME"
    return lax.reduce_window(x, 0.0, lax.add, *window) / lax.reduce_window(np.ones_like(x), 0.0, lax.add, *window)


@program(lambda r: (normal(r, 9),), grad=(0,))
def moving_minimum(api, x):
    """A minimum over a sliding window, and a sum."""
    lax = api.lax
    return lax.reduce_window(x, numpy.inf, lax.min, (3,), (1,), "VALID"), lax.reduce_window(
        x, 0.0, lax.add, (4,), (1,), ((3, 0),)
    )
