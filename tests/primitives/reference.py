"""The same program under Tangrad and JAX, leaf by leaf; see also support.py, which needs no JAX."""

import contextlib
import importlib

import numpy as np

import tangrad

settings = importlib.import_module("tangrad._core.settings.config")

BACKENDS = ("numpy", "xla")
WIDE = ("float64", "complex128", "int64", "uint64")

# Relative to the element, or to 1 where that is greater.
TOLERANCES = {
    "float64": 1e-11,
    "complex128": 1e-11,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 4e-3,
    "bfloat16": 2e-2,
}


@contextlib.contextmanager
def using(backend, x64=False):
    """Run with a backend, 64-bit dtypes on or off on both sides, and every jaxpr checked."""
    import jax

    with contextlib.ExitStack() as stack:
        stack.enter_context(settings.backend(backend))
        stack.enter_context(settings.enable_x64(x64))
        stack.enter_context(settings.check_jaxprs(True))
        stack.enter_context(jax.enable_x64(x64))
        yield


def close(ours, theirs, slack=1.0, where=""):
    """Equal trees of arrays: structure, shapes, dtypes, and values within tolerance; NaN is equal to NaN."""
    if isinstance(theirs, dict):
        assert sorted(ours) == sorted(theirs)
        for key in theirs:
            close(ours[key], theirs[key], slack, f"{where}/{key}")
        return
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), where
        for position, (one, other) in enumerate(zip(ours, theirs)):
            close(one, other, slack, f"{where}/{position}")
        return
    one, other = np.asarray(ours), np.asarray(theirs)
    assert one.dtype == other.dtype, f"{where}: dtype {one.dtype}, expected {other.dtype}"
    assert one.shape == other.shape, f"{where}: shape {one.shape}, expected {other.shape}"
    tolerance = TOLERANCES.get(one.dtype.name, 0.0) * slack
    if not tolerance:
        np.testing.assert_array_equal(one, other, err_msg=where)
        return
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol=tolerance, atol=tolerance, err_msg=where)


def normal(shape, dtype="float32", seed=0):
    """Random contents of any dtype."""
    rng = np.random.default_rng(seed)
    dtype = as_dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return np.asarray(rng.normal(size=shape)).astype(dtype)


def as_dtype(dtype):
    """A NumPy dtype, those of ml_dtypes included."""
    return tangrad.core.dtypes.as_dtype(dtype)


def is_inexact(array):
    """Whether an array has tangents."""
    return tangrad.core.dtypes.issubdtype(np.asarray(array).dtype, np.inexact)


def derivatives(function, args, seed=1):
    """A program of an API: the value of a function, its tangent and its cotangents, in random directions."""
    active = [i for i, arg in enumerate(args) if is_inexact(arg)]
    tangents = [normal(np.shape(args[i]), np.asarray(args[i]).dtype, seed + i) for i in active]

    def program(api):
        def of_active(*values):
            given = list(args)
            for i, value in zip(active, values):
                given[i] = value
            return function(api)(*given)

        def run(*values):
            out, tangent = api.jvp(of_active, values, tuple(tangents))
            _, pull = api.vjp(of_active, *values)
            cotangent = normal(out.shape, np.dtype(out.dtype), seed + 7)
            return {"value": out, "tangent": tangent, "cotangents": pull(cotangent)}

        return run

    return program, [args[i] for i in active]


def check_derivatives(function, args, slack=1.0):
    """Value, tangent and cotangents of `function(api)(*args)` are JAX's, on both backends, eagerly and jitted."""
    import jax

    program, values = derivatives(function, args)
    expected = jax.jit(program(jax))(*values)
    for backend in BACKENDS:
        with using(backend):
            close(tangrad.jit(program(tangrad))(*values), expected, slack, f"{backend}, jitted")
            if backend == "numpy":
                close(program(tangrad)(*values), expected, slack, "eager")


def check_dot_product(function, args, slack=1.0):
    """⟨ȳ, f'(x) t⟩ = ⟨f'(x)ᵀ ȳ, t⟩ for real floating arguments, in double precision sums."""
    tangents = tuple([normal(np.shape(arg), np.asarray(arg).dtype, 20 + i) for i, arg in enumerate(args)])
    out, moved = tangrad.jvp(function, tuple(args), tangents)
    cotangent = normal(out.shape, np.dtype(out.dtype), 30)
    pulled = tangrad.vjp(function, *args)[1](cotangent)
    left = np.sum(np.asarray(cotangent, np.float64) * np.asarray(moved, np.float64))
    right = sum([np.sum(np.asarray(p, np.float64) * np.asarray(t, np.float64)) for p, t in zip(pulled, tangents)])
    np.testing.assert_allclose(left, right, rtol=1e-4 * slack, atol=1e-4 * slack)


def check_finite_differences(function, args, step=1e-6, slack=1.0):
    """The tangent of a function of float64 arrays agrees with a central difference. Run with 64-bit dtypes."""
    tangents = [normal(np.shape(arg), "float64", 40 + i) for i, arg in enumerate(args)]
    _, tangent = tangrad.jvp(function, tuple(args), tuple(tangents))
    ahead = np.asarray(function(*[arg + step * t for arg, t in zip(args, tangents)]))
    behind = np.asarray(function(*[arg - step * t for arg, t in zip(args, tangents)]))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), rtol=1e-4 * slack, atol=1e-5 * slack)


def check_mapped(function, args, in_axes, size=3, slack=1.0, jit=True):
    """vmap agrees with a loop. Arguments are given without the mapped axis; copies are made that differ."""
    stacked = [
        arg
        if axis is None
        else np.stack([np.roll(arg, k) if np.ndim(arg) else arg + np.asarray(k, arg.dtype) for k in range(size)], axis)
        for arg, axis in zip(args, in_axes)
    ]
    loop = []
    for k in range(size):
        one = [arg if axis is None else np.take(arg, k, axis) for arg, axis in zip(stacked, in_axes)]
        loop.append(tangrad.tree.map(np.asarray, function(*one)))
    expected = tangrad.tree.map(lambda *parts: np.stack(parts), *loop)
    mapped = tangrad.vmap(function, in_axes)
    close(mapped(*stacked), expected, slack, "mapped")
    if jit:
        close(tangrad.jit(mapped)(*stacked), expected, slack, "mapped, jitted")
