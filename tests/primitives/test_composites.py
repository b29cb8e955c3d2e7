"""Primitives that consist of others: their decompositions against their lowerings and rules, at special values too."""

import functools
import itertools

import numpy as np
import pytest

import tangrad
from tangrad import enable_x64
from tangrad import use_backend as backend_setting
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.structure import primitives as structure
from tangrad.core.settings import SETTINGS
from tests.primitives.support import BACKENDS, assert_same, draw, narrow

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "uint8", "int32", "int64", "uint32")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 3.25, -3.25, 20.0, -20.0, 120.0, -120.0, 1e-20)
FINITE = (0.0, -0.0, 1.0, -1.0, 0.5, -3.25, 20.0)  # parts of complex numbers, of which all pairs are made
# Where sines and hyperbolic sines overflow the tangent does not: its limit is ±i.
FAR = (1.0 + 120j, -2.0 - 120j, 0.3 + 800j)

UNARY = {
    p.exp2_p: ({}, (*FLOATS, *COMPLEX)),
    p.logistic_p: ({}, (*FLOATS, *COMPLEX)),
    p.rsqrt_p: ({}, (*FLOATS, *COMPLEX)),
    p.square_p: ({}, (*FLOATS, *COMPLEX, *INTEGERS)),
    p.tan_p: ({}, (*FLOATS, *COMPLEX)),
    p.conj_p: ({}, ("float32", "float64", *COMPLEX)),
}
POWERS = (-3, -1, 0, 1, 2, 3, 6, 7)
CASES = [
    *[(primitive, params, dtype) for primitive, (params, dtypes) in UNARY.items() for dtype in dtypes],
    *[(p.integer_pow_p, {"y": y}, dtype) for y in POWERS for dtype in (*FLOATS, *COMPLEX)],
    *[(p.integer_pow_p, {"y": y}, dtype) for y in POWERS if y >= 0 for dtype in INTEGERS],
]


def special(primitive, dtype):
    """Values at which a formula may fail where the function does not."""
    kind = narrow(dtype)
    if dtype in INTEGERS:
        return np.array([0, 1, 2, 7, np.iinfo(kind).max, np.iinfo(kind).min], kind)
    if dtype not in COMPLEX:
        values = np.array(SPECIAL)
        if primitive is p.exp2_p and dtype == "bfloat16":  # of greater numbers XLA's lowering rounds x log 2 visibly
            values = values[~(np.isfinite(values) & (abs(values) > 4))]
        return values.astype(kind)
    values = [complex(*parts) for parts in itertools.product(FINITE, FINITE)]
    if primitive in (p.rsqrt_p, p.integer_pow_p):
        values = [value for value in values if value]  # division by 0 has an infinity of any direction
    if primitive is p.rsqrt_p:  # XLA's square root takes no notice of the sign of a zero
        values = [value for value in values if value.real > 0 or value.imag]
    return np.array([*values, *(FAR if primitive is p.tan_p else ())], kind)


def both(primitive, params):
    """The primitive, and its decomposition, as functions."""
    return functools.partial(primitive.bind, **params), functools.partial(primitive.decompose, **params)


@pytest.mark.parametrize("primitive, params, dtype", CASES, ids=lambda value: str(value))
def test_values(primitive, params, dtype):
    lowered, composed = both(primitive, params)
    numbers = np.concatenate([special(primitive, dtype), draw(dtype, 6)])
    for backend in BACKENDS:
        with backend_setting(backend), enable_x64(True), SETTINGS["check_jaxprs"](True):
            expected, jitted = tangrad.jit(lambda x: (lowered(x), composed(x)))(numbers)
            assert_same(jitted, expected, what=f"{backend}, jitted")
            assert jitted.aval == expected.aval
            if backend == "numpy":  # elsewhere an operation by itself is a compilation
                assert_same(composed(tangrad.numpy.asarray(numbers)), expected, what="eager")


DERIVATIVES = [case for case in CASES if case[2] in ("float32", "complex64", "float64")]


@pytest.mark.parametrize("primitive, params, dtype", DERIVATIVES, ids=lambda value: str(value))
def test_derivatives(primitive, params, dtype):
    """Also far out, where the value is a limit and a careless formula has NaN for a derivative."""
    lowered, composed = both(primitive, params)
    x = draw(dtype, 5)
    if primitive is p.logistic_p and dtype not in COMPLEX:
        x = np.concatenate([x, np.array([0, 100, -100, 1000, -1000, np.inf, -np.inf], dtype)])
    if primitive is p.rsqrt_p and dtype not in COMPLEX:
        x = abs(x)
    tangent = np.ones_like(x)
    for backend in BACKENDS:
        with backend_setting(backend), enable_x64(True), SETTINGS["check_jaxprs"](True):
            assert_same(
                tangrad.jvp(composed, (x,), (tangent,)), tangrad.jvp(lowered, (x,), (tangent,)), 1e-4, f"{backend}, jvp"
            )
            (expected,) = tangrad.vjp(lowered, x)[1](lowered(tangrad.numpy.asarray(tangent)))
            (found,) = tangrad.vjp(composed, x)[1](lowered(tangrad.numpy.asarray(tangent)))
            assert_same(found, expected, 1e-4, f"{backend}, vjp")


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS))
def test_clamp(dtype):
    kind = narrow(dtype)
    for backend in BACKENDS:
        with backend_setting(backend), enable_x64(True), SETTINGS["check_jaxprs"](True):
            x = tangrad.numpy.asarray(special(p.clamp_p, dtype))
            for low, high in ((1, 3), (3, 1)):
                bounds = [tangrad.numpy.asarray(np.array(bound, kind)) for bound in (low, high)]
                full = [tangrad.numpy.full_like(x, bound) for bound in bounds]
                for least, most in itertools.product((bounds[0], full[0]), (bounds[1], full[1])):
                    assert_same(p.clamp_p.decompose(least, x, most), p.clamp_p.bind(least, x, most), 0)


STRUCTURE = {
    "squeeze": (structure.squeeze_p, (1, 3, 1, 2), {"dimensions": (0, 2)}),
    "squeeze nothing": (structure.squeeze_p, (1, 3), {"dimensions": ()}),
    "split": (structure.split_p, (2, 7), {"sizes": (3, 0, 4), "axis": 1}),
    "split in one": (structure.split_p, (4,), {"sizes": (4,), "axis": 0}),
}


def total(function):
    """Of the squares of all that a function returns."""
    return lambda x: sum([(part**2).sum() for part in tangrad.tree.leaves(function(x))])


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name):
    primitive, shape, params = STRUCTURE[name]
    lowered, composed = both(primitive, params)
    for backend in BACKENDS:
        with backend_setting(backend), SETTINGS["check_jaxprs"](True):
            x = tangrad.numpy.asarray(draw("float32", *shape))
            assert_same(composed(x), lowered(x), 0)
            assert_same(tangrad.vmap(composed)(x[None]), tangrad.vmap(lowered)(x[None]), 0)
            assert_same(tangrad.grad(total(composed))(x), tangrad.grad(total(lowered))(x), 0)


def test_a_decomposition_serves_where_there_is_no_rule():
    """A rule kind that knows only sums, products, quotients and exponentials knows what consists of them."""
    from tangrad.core import decomposition_jaxpr

    basic = {"add", "mul", "div", "exp", "neg", "min", "max", "sqrt", "pow"}
    aval = tangrad.core.ShapedArray((3,), np.float32)
    for primitive, params in (
        (p.exp2_p, {}),
        (p.logistic_p, {}),
        (p.rsqrt_p, {}),
        (p.square_p, {}),
        (p.integer_pow_p, {"y": -5}),
    ):
        jaxpr = decomposition_jaxpr(primitive, [aval], params).jaxpr
        assert {equation.primitive.name for equation in jaxpr.eqns} <= basic, primitive
