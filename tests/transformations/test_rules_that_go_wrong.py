"""Rules that return something else than they must: an error at once that names rule and primitive, no wrong result."""

import numpy
import pytest

import tangrad
from tangrad import lax
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, register

np = tangrad.numpy
X = numpy.array([1.0, 2.0, 3.0], "float32")


def doubled(kind, rule, decompose=None):
    """A primitive of one array with one rule, and what registers both."""
    family = PrimitiveSet("going_wrong", api=1)
    primitive = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="doubled", decompose=decompose)
    rules = RuleSet(kind, api=1)
    rules.rule(primitive)(rule)
    return primitive, family, rules


def wrong_with(kind, rule, error, words, program, decompose=lambda x: lax.mul(x, 2.0)):
    primitive, family, rules = doubled(kind, rule, decompose)
    with (
        register(family),
        register(rules),
        pytest.raises(error, match=f"(?s){kind} rule of 'going_wrong.doubled'.*{words}"),
    ):
        program(primitive)


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (lambda p, t: (p[0], t[0].sum()), ValueError, r"tangent of shape \(\) for a primal of shape \(3,\)"),
        (lambda p, t: (p[0].sum(), t[0]), ValueError, r"tangent of shape \(3,\) for a primal of shape \(\)"),
        (lambda p, t: (p[0], lax.convert_element_type(t[0], "int32")), TypeError, r"type i32\[3\].*f32\[3\]"),
        (lambda p, t: (p[0], None), TypeError, "as tangent, None"),
        (lambda p, t: ((p[0],), (t[0],)), TypeError, "as primal, .* of type tuple"),
        (lambda p, t: p[0], TypeError, "must return"),
    ],
)
def test_jvp_rules(rule, error, words):
    for program in (
        lambda f: tangrad.jvp(f, (X,), (X,)),
        lambda f: tangrad.grad(lambda x: f(x).sum())(X),
        lambda f: tangrad.jit(tangrad.grad(lambda x: f(x).sum()))(X),
    ):
        wrong_with("jvp", rule, error, words, program)


def test_a_jvp_rule_may_return_numpy_arrays():
    primitive, family, rules = doubled("jvp", lambda p, t: (numpy.full(3, 2.0, "float32"), t[0]), lambda x: x)
    with register(family), register(rules):
        assert tangrad.grad(lambda x: primitive(x).sum())(X).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (lambda ct, x: (ct.sum(),), ValueError, r"shape \(\) for an argument of shape \(3,\)"),
        (lambda ct, x: (lax.convert_element_type(ct, "int32"),), TypeError, r"type i32\[3\].*f32\[3\]"),
        (lambda ct, x: ("nothing",), TypeError, "'nothing' of type str"),
        (lambda ct, x: ct, TypeError, "must return"),
    ],
)
def test_transpose_rules(rule, error, words):
    wrong_with("transpose", rule, error, words, lambda f: tangrad.linear_transpose(f, X)(X), None)


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (lambda args, dims, *, axis_info: (np.ones((5, 3)), 0), ValueError, r"f32\[5,3\].*axis 0.*of size 2"),
        (lambda args, dims, *, axis_info: (args[0], 7), ValueError, "axis 7"),
        (lambda args, dims, *, axis_info: (args[0], -2), ValueError, "axis -2"),
        (lambda args, dims, *, axis_info: (args[0], "first"), TypeError, "'first' as the mapped axis"),
        (lambda args, dims, *, axis_info: ((args[0],), (0,)), TypeError, "of type tuple"),
        (lambda args, dims, *, axis_info: args[0], TypeError, "must return"),
    ],
)
def test_batch_rules(rule, error, words):
    for program in (tangrad.vmap, lambda f: tangrad.jit(tangrad.vmap(f))):
        wrong_with("batch", rule, error, words, lambda f, program=program: program(f)(np.ones((2, 3))))
