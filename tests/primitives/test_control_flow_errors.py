"""What control flow says to bad input: both sides, and the leaf that differs by its path; and the next call works."""

import re

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax

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
