"""Control flow against JAX: values, derivatives of first and second order, mapped, eager and jitted, on both backends.

All that is asked of a program is one function, so that JAX and XLA compile once for each program.
"""

import functools

import numpy as np
import pytest

import tangrad
from tangrad import disable_jit
from tangrad import use_backend as backend_setting
from tangrad.core.settings import SETTINGS
from tests.primitives.control_flow_programs import PROGRAMS
from tests.unoptimized_jax import jit_unoptimized

jax = pytest.importorskip("jax")


def same(ours, theirs, what):
    """Structure, dtypes, and values within single precision."""
    assert set(ours) == set(theirs)
    for key in theirs:
        mine, other = tangrad.tree.leaves(ours[key]), jax.tree.leaves(theirs[key])
        assert len(mine) == len(other), what
        for x, y in zip(mine, other):
            x, y = np.asarray(x), np.asarray(y)
            assert x.dtype == y.dtype and x.shape == y.shape, f"{what}, {key}"
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5, err_msg=f"{what}, {key}")


def second(api, function):
    """The gradient of a function of the gradient."""

    def run(x, *rest):
        return api.grad(lambda y: api.numpy.sum(api.numpy.sin(api.grad(function)(y, *rest))))(x)

    return run


def stacked(args, count=3):
    """Each argument several times, and different where it has fractions."""
    return [
        np.stack([arg + np.asarray(k, arg.dtype) / 2 if arg.dtype.kind == "f" else arg for k in range(count)])
        for arg in args
    ]


def everything(api, name):
    """The value of a program, and what transformations make of it, as a function of arguments and stacked ones."""
    make, inputs, has_gradient, is_mapped = PROGRAMS[name]
    function = make(api)

    def run(args, many):
        out = {"value": function(*args)}
        x, rest = args[0], args[1:]
        if inputs[0].dtype.kind == "f":
            out["jvp"] = api.jvp(lambda y: function(y, *rest), (x,), (api.numpy.ones_like(x),))
        if has_gradient:
            out["gradient"] = api.grad(function)(*args)
            out["second"] = second(api, function)(*args)
        if is_mapped:
            out["mapped"] = api.vmap(function)(*many)
            if rest:
                out["one mapped"] = api.vmap(function, (0, *[None] * len(rest)))(many[0], *rest)
        if is_mapped and has_gradient:
            out["gradient of mapped"] = api.grad(lambda *a: api.numpy.sum(api.vmap(function)(*a)))(*many)
            out["mapped gradient"] = api.vmap(api.grad(function))(*many)
        return out

    return run


@functools.cache
def as_in_jax(name):
    """Arguments of a program, the same stacked, and what JAX makes of them."""
    args = tuple(PROGRAMS[name][1])
    many = stacked(args)
    return args, many, jit_unoptimized(jax, everything(jax, name))(args, many)


def agrees_jitted(name, backend):
    args, many, expected = as_in_jax(name)
    with backend_setting(backend), SETTINGS["check_jaxprs"](True):
        same(tangrad.jit(everything(tangrad, name))(args, many), expected, f"{backend}, jitted")


# XLA compiles second derivatives of loops for seconds. The programs come in groups of like ones.
SOME = list(PROGRAMS)[::3]


@pytest.mark.parametrize("name", SOME)
def test_as_in_jax_on_xla(name):
    agrees_jitted(name, "xla")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in SOME])
def test_further_ones_as_in_jax_on_xla(name):
    agrees_jitted(name, "xla")


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_as_in_jax(name):
    agrees_jitted(name, "numpy")
    args, many, expected = as_in_jax(name)
    run = everything(tangrad, name)
    with backend_setting("numpy"), SETTINGS["check_jaxprs"](True):
        same(run(args, many), expected, "numpy, eager")
    with backend_setting("numpy"), disable_jit(True):
        same({"value": PROGRAMS[name][0](tangrad)(*args)}, {"value": expected["value"]}, "without jit")
        if PROGRAMS[name][2]:
            gradient = tangrad.grad(PROGRAMS[name][0](tangrad))(*args)
            same({"gradient": gradient}, {"gradient": expected["gradient"]}, "without jit")


@pytest.mark.parametrize(
    "name",
    [
        "cond_of_operand",
        "switch_beyond_the_end",
        "while_counting",
        "fori_indexing",
        "fori_dynamic",
        "scan_product",
        "scan_unrolled_reverse",
        "cond_in_scan",
    ],
)
def test_eager_on_xla(name):
    make, args, has_gradient, _ = PROGRAMS[name]
    with backend_setting("xla"):
        same({"value": make(tangrad)(*args)}, {"value": make(jax)(*args)}, "value")
        if has_gradient:
            gradient = tangrad.grad(make(tangrad))(*args)
            same({"gradient": gradient}, {"gradient": jax.jit(jax.grad(make(jax)))(*args)}, "gradient")


def test_the_carry_of_a_while_loop_without_jit_is_an_array():
    with disable_jit(True):
        counted = tangrad.lax.while_loop(lambda n: n.astype("int32") < 3, lambda n: n + 1, 0)
    assert counted.weak_type and int(counted) == 3


def test_a_mapped_update_of_a_whole_number_has_the_type_of_what_it_updates():
    found = tangrad.vmap(lambda x: tangrad.lax.dynamic_update_slice(x, 7, []))(tangrad.numpy.arange(3))
    assert found.tolist() == [7, 7, 7] and not found.weak_type
