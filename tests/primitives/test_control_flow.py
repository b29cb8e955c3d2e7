"""Control flow against JAX: values, derivatives of first and second order, mapped, eager and jitted, on both backends.

All that is asked of a program is one function, so that JAX and XLA compile once for each program.
"""

import functools
import re

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import disable_jit, lax
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


ONE = np.float32(1)
THREE = np.ones(3, np.float32)


def bad(error, words, run):
    """`run` raises `error` with all of `words` in the message."""
    with pytest.raises(error) as caught:
        run()
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


CASES = {
    "cond: types": (
        TypeError,
        ["true_fun", "false_fun", "(f32[], i32[])", "(f32[], f32[3])", "[1]", "the dtypes differ"],
        lambda: lax.cond(True, lambda x: (x, 1), lambda x: (x, THREE), ONE),
    ),
    "cond: trees": (
        TypeError,
        ["true_fun", "false_fun", "tuple", "list", "['a']"],
        lambda: lax.cond(True, lambda x: {"a": (x,)}, lambda x: {"a": [x]}, ONE),
    ),
    "cond: keys": (
        TypeError,
        ["the keys differ", "'b'"],
        lambda: lax.cond(True, lambda x: {"a": x}, lambda x: {"b": x}, ONE),
    ),
    "cond: shape of predicate": (TypeError, ["pred", "scalar", "f32[3]"], lambda: lax.cond(THREE, abs, abs, ONE)),
    "cond: predicate": (TypeError, ["pred", "'yes'", "str"], lambda: lax.cond("yes", abs, abs, ONE)),
    "cond: no function": (TypeError, ["true_fun", "3", "int"], lambda: lax.cond(True, 3, abs, ONE)),
    "cond: result": (
        TypeError,
        ["['x']", "'text'", "str"],
        lambda: lax.cond(True, lambda: {"x": "text"}, lambda: {"x": "text"}),
    ),
    "cond: operand": (TypeError, ["operands[0]", "'text'"], lambda: lax.cond(True, lambda x: x, lambda x: x, "text")),
    "switch: float": (TypeError, ["index", "integer", "f32[]"], lambda: lax.switch(1.0, [abs, abs], ONE)),
    "switch: vector": (TypeError, ["scalar", "i32[2]"], lambda: lax.switch(np.int32([0, 1]), [abs, abs], ONE)),
    "switch: empty": (ValueError, ["at least one"], lambda: lax.switch(0, [], ONE)),
    "switch: types": (
        TypeError,
        ["branch 0", "branch 2", "f32[]", "i32[]"],
        lambda: lax.switch(0, [lambda x: x, lambda x: x, lambda x: 1], ONE),
    ),
    "while: condition": (
        TypeError,
        ["cond_fun", "boolean scalar", "f32[]"],
        lambda: lax.while_loop(lambda x: x, lambda x: x, ONE),
    ),
    "while: tree of condition": (
        TypeError,
        ["cond_fun", "boolean scalar", "(*,)"],
        lambda: lax.while_loop(lambda x: (x < 1,), lambda x: x, ONE),
    ),
    "while: types": (
        TypeError,
        ["(f32[], i32[])", "(f32[], f32[3])", "[1]"],
        lambda: lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0], THREE), (ONE, np.int32(2))),
    ),
    "while: trees": (
        TypeError,
        ["tuple", "array"],
        lambda: lax.while_loop(lambda s: s[0] < 1, lambda s: s[0], (ONE, ONE)),
    ),
    "while: no function": (TypeError, ["body_fun", "int"], lambda: lax.while_loop(lambda x: x < 1, 3, ONE)),
    "fori: bounds": (TypeError, ["lower", "upper", "i32[]", "f32[]"], lambda: lax.fori_loop(0, 5.0, max, ONE)),
    "fori: carry": (
        TypeError,
        ["f32[]", "f32[3]", "['x']"],
        lambda: lax.fori_loop(0, 5, lambda i, y: {"x": THREE}, {"x": ONE}),
    ),
    "fori: unroll": (
        ValueError,
        ["unroll"],
        lambda: tangrad.jit(lambda n: lax.fori_loop(0, n, lambda i, y: y, ONE, unroll=2))(3),
    ),
    "scan: types": (
        TypeError,
        ["{'a': f32[], 'b': f32[]}", "{'a': f32[], 'b': f32[3]}", "['b']", "the shapes differ"],
        lambda: lax.scan(lambda c, x: ({"a": c["a"], "b": THREE}, x), {"a": ONE, "b": ONE}, THREE),
    ),
    "scan: trees": (TypeError, ["tuple", "array"], lambda: lax.scan(lambda c, x: ((c, c), x), ONE, THREE)),
    "scan: no pair": (TypeError, ["pair", "(carry, result)"], lambda: lax.scan(lambda c, x: c, ONE, THREE)),
    "scan: strong integers stay": (
        TypeError,
        ["i32[]", "f32[]"],
        lambda: lax.scan(lambda c, x: (c * 1.5, x), np.int32(1), THREE),
    ),
    "scan: sizes": (
        ValueError,
        ["3, 4"],
        lambda: lax.scan(lambda c, x: (c, x), ONE, (THREE, np.ones(4, np.float32))),
    ),
    "scan: length": (ValueError, ["length is 4", "3"], lambda: lax.scan(lambda c, x: (c, x), ONE, THREE, length=4)),
    "scan: no length": (ValueError, ["length"], lambda: lax.scan(lambda c, x: (c, x), ONE)),
    "scan: number": (ValueError, ["xs['a']", "f32[]"], lambda: lax.scan(lambda c, x: (c, x), ONE, {"a": ONE})),
    "scan: unroll": (ValueError, ["unroll", "-1"], lambda: lax.scan(lambda c, x: (c, x), ONE, THREE, unroll=-1)),
    "scan: no function": (TypeError, ["f must be a function", "int"], lambda: lax.scan(3, ONE, THREE)),
    "map: no function": (TypeError, ["f must be a function"], lambda: lax.map(3, THREE)),
    "map: batch_size": (ValueError, ["batch_size", "-1"], lambda: lax.map(lambda x: x, THREE, batch_size=-1)),
    "associative_scan: axis": (ValueError, ["axis 3"], lambda: lax.associative_scan(lax.add, THREE, axis=3)),
    "associative_scan: sizes": (
        ValueError,
        ["f32[3]", "f32[4]"],
        lambda: lax.associative_scan(lambda a, b: a, (THREE, np.ones(4, np.float32))),
    ),
    "grad of while": (
        ValueError,
        ["while_loop", "scan"],
        lambda: tangrad.grad(lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * 2, x))(1.0),
    ),
    "grad of while, jitted": (
        ValueError,
        ["while_loop", "scan"],
        lambda: tangrad.jit(tangrad.grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 2, x)))(1.0, 3),
    ),
}


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("backend", ["numpy"])
def test_bad_input(case, backend):
    bad(*CASES[case])
    assert lax.cond(True, lambda x: x + 1, lambda x: x, 1) == 2


def test_errors_of_users_pass_through():
    def body(c, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lax.scan(body, ONE, THREE)
    assert lax.scan(lambda c, x: (c + x, None), ONE, THREE)[0] == 4


def test_error_names_functions_and_lines():
    with pytest.raises(TypeError) as caught:
        lax.cond(True, lambda x: x, lambda x: 1, ONE)
    assert re.search(r"true_fun is '.*lambda.*' \(line \d+ of ", str(caught.value))


def test_truth_value_of_a_tracer_inside():
    with pytest.raises(tangrad.errors.TracerBoolConversionError if hasattr(tangrad, "errors") else Exception):
        lax.scan(lambda c, x: (c if x > 0 else -c, None), ONE, THREE)


def test_leaked_tracer_is_named():
    kept = []
    lax.scan(lambda c, x: (kept.append(c) or c, None), ONE, THREE)
    with pytest.raises(Exception, match="trace"):
        tnp.sin(kept[0])
