"""What the tests of families share: both backends, and the checks that every primitive has to pass."""

import itertools

import numpy as np

import tangrad
from tangrad import enable_x64
from tangrad import use_backend as backend_setting
from tangrad.core.settings import SETTINGS

BACKENDS = ("numpy", "xla")
TOLERANCES = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float64": 1e-10,
    "complex128": 1e-10,
}


def narrow(name):
    """A dtype by name, those of ml_dtypes included."""
    return tangrad.core.dtypes.as_dtype(name)


def draw(dtype, *shape, seed=0):
    """Small random elements of any dtype."""
    rng, dtype = np.random.default_rng(seed), narrow(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if tangrad.core.dtypes.issubdtype(dtype, np.integer):
        low = 0 if tangrad.core.dtypes.issubdtype(dtype, np.unsignedinteger) else -4
        return rng.integers(low, 6, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def leaves(tree):
    """The leaves as NumPy arrays."""
    return [np.asarray(leaf) for leaf in tangrad.tree.leaves(tree)]


def assert_same(found, expected, tolerance=None, what=""):
    """Equal structure, shapes and dtypes; integers equal, floats within the tolerance of their dtype."""
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected), what
    for x, y in zip(found, expected):
        assert x.dtype == y.dtype and x.shape == y.shape, f"{what}: {x.dtype}{x.shape} but {y.dtype}{y.shape}"
        near = TOLERANCES.get(x.dtype.name, 0) if tolerance is None else tolerance
        if x.dtype.kind not in "biufc":  # ml_dtypes
            x, y = x.astype(np.float32), y.astype(np.float32)
        np.testing.assert_allclose(x, y, rtol=near, atol=near, err_msg=what)


def agree_everywhere(function, expected, *args, tolerance=None):
    """`function(*args)` is as expected on both backends, eager and jitted."""
    for backend in BACKENDS:
        with backend_setting(backend), SETTINGS["check_jaxprs"](True):
            assert_same(function(*args), expected, tolerance, f"{backend}, eager")
            assert_same(tangrad.jit(function)(*args), expected, tolerance, f"{backend}, jitted")


def check_derivative(function, *args, step=1e-6, tolerance=1e-5):
    """jvp against finite differences in float64; vjp against jvp; the second derivative, a jvp of a jvp, likewise."""
    with enable_x64(True), backend_setting("numpy"), SETTINGS["check_jaxprs"](True):
        args = tuple([np.asarray(arg, np.float64) for arg in args])
        rng = np.random.default_rng(1)
        tangents = tuple([rng.normal(size=arg.shape) for arg in args])

        def moved(t):
            return function(*[arg + t * tangent for arg, tangent in zip(args, tangents)])

        _, found = tangrad.jvp(function, args, tangents)
        differences = [(x - y) / (2 * step) for x, y in zip(leaves(moved(step)), leaves(moved(-step)))]
        for x, y in zip(leaves(found), differences):
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
        check_dot_product(function, args, tangents)

        def slope(*primals):
            return tangrad.jvp(function, primals, tangents)[1]

        _, second = tangrad.jvp(slope, args, tangents)
        wider = 1e-4
        around = [slope(*[a + s * wider * t for a, t in zip(args, tangents)]) for s in (1, -1)]
        for x, y, z in zip(leaves(second), leaves(around[0]), leaves(around[1])):
            np.testing.assert_allclose(x, (y - z) / (2 * wider), rtol=1e-3, atol=1e-3)


def check_dot_product(function, args, tangents):
    """The vjp is the transpose of the jvp: <J t, c> = <t, Jᵀ c>."""
    outs, pullback = tangrad.vjp(function, *args)
    rng = np.random.default_rng(2)
    cotangents = tangrad.tree.map(lambda out: rng.normal(size=np.shape(out)), outs)
    _, forward = tangrad.jvp(function, args, tangents)
    left = sum([np.vdot(x, y) for x, y in zip(leaves(forward), leaves(cotangents))])
    right = sum([np.vdot(x, y) for x, y in zip(tangents, leaves(pullback(cotangents)))])
    np.testing.assert_allclose(left, right, rtol=1e-8)


def check_batching(function, *args, size=3):
    """vmap against a loop, for every choice of mapped arguments, with the mapped axis first and last; and nested."""
    stacked = [np.stack([np.roll(arg, i) if np.ndim(arg) else arg for i in range(size)]) for arg in args]
    with backend_setting("numpy"):
        for mapped in itertools.product((False, True), repeat=len(args)):
            if not any(mapped):
                continue
            for last in (False, True):
                axes = tuple([(-1 if last else 0) if m else None for m in mapped])
                batched = [
                    arg if not m else np.moveaxis(many, 0, axis) if m else arg
                    for arg, many, m, axis in zip(args, stacked, mapped, axes)
                ]
                found = tangrad.vmap(function, in_axes=axes)(*batched)
                rows = [
                    function(*[many[i] if m else arg for arg, many, m in zip(args, stacked, mapped)])
                    for i in range(size)
                ]
                expected = [np.stack(parts) for parts in zip(*[leaves(row) for row in rows])]
                assert_same(leaves(found), expected, what=f"in_axes {axes}")
        twice = [np.stack([many, many[::-1]]) for many in stacked]
        found = tangrad.vmap(tangrad.vmap(function))(*twice)
        once = [tangrad.vmap(function)(*[many[i] for many in twice]) for i in range(2)]
        assert_same(leaves(found), [np.stack(parts) for parts in zip(*[leaves(one) for one in once])], what="nested")
