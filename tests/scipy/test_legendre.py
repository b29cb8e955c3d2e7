"""`special.lpmn` and `lpmn_values`, against SciPy and spherical harmonics."""

import math

import numpy as onp
import pytest
import scipy.special

import tangrad
import tangrad.numpy as np
from tangrad.scipy import special

Z = onp.float32([0, 0.3, -0.5, 0.99, 1, -1])


def expected(order: int, degree: int, z: onp.ndarray) -> tuple[onp.ndarray, onp.ndarray]:
    """By SciPy, with the derivatives: for each order and degree."""
    if not hasattr(scipy.special, "assoc_legendre_p_all"):
        pytest.skip("SciPy before 1.15 has other functions")
    values, slopes = scipy.special.assoc_legendre_p_all(degree, order, z.astype(onp.float64), diff_n=1)
    return values.transpose(1, 0, 2)[: order + 1], slopes.transpose(1, 0, 2)[: order + 1]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(("order", "degree"), [(0, 0), (2, 2), (3, 5), (4, 2)])
def test_values_and_derivatives(order: int, degree: int, backend: str) -> None:
    values, slopes = expected(order, degree, Z)
    found, rising = tangrad.jit(lambda z: special.lpmn(order, degree, z), backend=backend)(Z)
    onp.testing.assert_allclose(found, values, rtol=2e-5, atol=2e-5)
    onp.testing.assert_allclose(rising, slopes, rtol=2e-5, atol=2e-5)


def test_normalised_functions_are_those_of_spherical_harmonics() -> None:
    polar = onp.float32([0.1, 1.0, 2.5])
    found = special.lpmn_values(3, 4, np.cos(polar), True)
    for order in range(4):
        for degree in range(order, 5):
            wanted = special.sph_harm_y(onp.array(degree), onp.array(order), polar, onp.zeros(3, onp.float32)).real
            onp.testing.assert_allclose(found[order, degree], wanted, rtol=1e-4, atol=1e-5)
    assert onp.isfinite(special.lpmn_values(80, 80, np.cos(polar), True)).all()
    factor = math.sqrt(5 / (4 * math.pi) / 24)
    both = [special.lpmn_values(2, 2, Z, normalized)[2, 2] for normalized in (False, True)]
    onp.testing.assert_allclose(both[0] * factor, both[1], rtol=1e-5)


def test_gradients_are_the_derivatives() -> None:
    z = Z[:4]
    for normalized in (False, True):
        jacobian = tangrad.jacfwd(lambda z, kind=normalized: special.lpmn_values(2, 3, z, kind))(z)
        onp.testing.assert_allclose(
            np.sum(jacobian, -1)[2, 2], special.lpmn(2, 3, z)[1][2, 2] * (math.sqrt(5 / (96 * math.pi)) ** normalized),
            rtol=1e-4,
        )  # fmt: skip
    assert tangrad.vmap(lambda z: special.lpmn_values(1, 2, z, True))(onp.stack([z, z])).shape == (2, 2, 3, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.5, 2, Z), TypeError, "m"),
        ((-1, 2, Z), ValueError, "must not be negative"),
        ((1, 2, onp.arange(3)), TypeError, "z must be of floats"),
        ((1, 2, onp.float32(0.3)), ValueError, "z must have one dimension"),
    ],
)
def test_refused(arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        special.lpmn(*arguments)
    with pytest.raises(error, match=message):
        special.lpmn_values(*arguments, True)
