"""`tangrad.image` on both backends, against JAX."""

import numpy as np
import pytest

import tangrad
from tangrad import image, use_backend
from tests.primitives import reference

jax_image = pytest.importorskip("jax.image")

PICTURE = reference.normal((5, 7, 2), "float32")
METHODS = [method.name for method in image.ResizeMethod]


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_images_are_resized(on, method, antialias):
    ours, theirs = [getattr(api.ResizeMethod, method) for api in (image, jax_image)]
    for shape in ((3, 4, 2), (11, 1, 2)):
        found = tangrad.jit(lambda x, shape=shape: image.resize(x, shape, ours, antialias))(PICTURE)
        expected = jax_image.resize(PICTURE, shape, theirs, antialias)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    if on == "numpy":
        with tangrad.enable_x64(True):
            resized = lambda x: image.resize(x, (3, 9, 2), ours, antialias)
            reference.check_finite_differences(resized, (PICTURE.astype("float64"),))


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5", "bicubic-pytorch"])
@pytest.mark.parametrize("antialias", [True, False])
def test_images_are_scaled_and_moved(on, method, antialias):
    scale, translation = np.float32([1.7, 0.6]), np.float32([-0.8, 1.25])
    arguments = (6, 8, 2), (0, 1), scale, translation, method, antialias
    found = image.scale_and_translate(PICTURE, *arguments)
    np.testing.assert_allclose(found, jax_image.scale_and_translate(PICTURE, *arguments), rtol=1e-4, atol=1e-5)
    if on == "numpy":
        with tangrad.enable_x64(True):
            moved = lambda x, s, t: image.scale_and_translate(x, (6, 8, 2), (0, 1), s, t, method, antialias)
            wide = [x.astype("float64") for x in (PICTURE, scale, translation)]
            reference.check_finite_differences(moved, wide)
            reference.check_mapped(lambda x: moved(x, scale, translation), (PICTURE,), (0,))


def test_kinds_of_elements_and_names():
    assert image.resize(np.arange(4), (2,), "nearest").dtype == "int32"
    assert image.resize(np.arange(4), (2,), "bilinear").dtype == "float32"
    assert image.ResizeMethod.from_string("tricubic") is image.ResizeMethod.CUBIC


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: image.resize(PICTURE, (2, 2), "linear"), ValueError, "shape must have 3 sizes"),
        (lambda: image.resize(PICTURE, (2, 2, 2), "no"), ValueError, "method must be one of"),
        (lambda: image.ResizeMethod.from_string("no"), ValueError, "method must be one of"),
        (
            lambda: image.scale_and_translate(PICTURE, (2, 2, 3), (0, 1), np.ones(2), np.ones(2), "linear"),
            *(ValueError, "dimension 2"),
        ),
        (
            lambda: image.scale_and_translate(PICTURE, (2, 2, 2), (0, 1), np.ones(3), np.ones(2), "linear"),
            *(ValueError, "scale must have"),
        ),
        (
            lambda: image.scale_and_translate(PICTURE, (2, 2, 2), (0,), np.ones(1), np.ones(1), "nearest"),
            *(NotImplementedError, "nearest"),
        ),
        (
            lambda: image.resize(np.zeros((0, 3)), (2, 3), "linear"),
            ValueError,
            "image has no elements",
        ),
        (lambda: image.resize(np.zeros((0, 3)), (2, 3), "nearest"), ValueError, "image has no elements"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic", "area"])
def test_an_image_of_no_elements(method):
    assert image.resize(PICTURE, (0, *PICTURE.shape[1:]), method).shape == (0, *PICTURE.shape[1:])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16"])
@pytest.mark.parametrize("sizes", [(16, 9), (4, 27), (12, 6), (8, 18), (8, 7), (1, 3), (24, 1)])
@pytest.mark.parametrize("method", ["linear", "cubic", "bicubic-pytorch", "area"])
def test_simple_proportions_are_as_a_matrix_of_weights(on, method, sizes, dtype):
    draw = np.random.default_rng(0)
    x = draw.normal(size=(2, 8, 9, 3)) + 1j * draw.normal(size=(2, 8, 9, 3))
    with tangrad.enable_x64(True):
        x = tangrad.numpy.asarray(x if dtype == "complex64" else x.real).astype(dtype)
        resize = tangrad.jit(lambda x: image.resize(x, (2, *sizes, 3), method))
        # What becomes of each element alone.
        rows, columns = [image.resize(np.eye(n), (n, size), method) for n, size in zip((8, 9), sizes, strict=True)]
        found, exact = resize(x), np.einsum("bhwc,hH,wW->bHWc", x.astype("complex128"), rows, columns)
        assert found.dtype == x.dtype
        tolerance = 0.02 if dtype == "bfloat16" else 1e-5
        np.testing.assert_allclose(found.astype("complex128"), exact, rtol=tolerance, atol=tolerance)


def test_derivatives_of_sums_of_shifted_images(on):
    with tangrad.enable_x64(True):
        for sizes in ((10, 14), (5, 21), (15, 1)):
            resized = lambda x, sizes=sizes: image.resize(x, (*sizes, 2), "cubic")
            reference.check_finite_differences(resized, (PICTURE.astype("float64"),))
            batch = np.stack([PICTURE, -PICTURE]).astype("float64")
            np.testing.assert_allclose(tangrad.vmap(resized)(batch)[1], resized(batch[1]), rtol=1e-12)
