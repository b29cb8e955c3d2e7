"""Symbolic dimensions: canonical forms, decisions, texts and solutions, against the integers that they stand for."""

import copy
import pickle

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tangrad
from tangrad._backend_numpy.size_text import size_names, size_text
from tangrad._lax.symbolic.polynomials import UnsolvableDimensionsError
from tangrad._lax.symbolic.scopes import LIMITS, parse_dimension
from tangrad._lax.symbolic.solving import evaluate, evaluate_shape, plan
from tangrad.core import ShapedArray
from tangrad.core.arguments import is_symbolic, max_size, min_size
from tangrad.export import InconclusiveDimensionOperation, SymbolicScope, symbolic_args_specs, symbolic_shape

NAMES = ("a", "b", "n")
OPERATIONS = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "//": lambda one, other: one // other,
    "%": lambda one, other: one % other,
    "max": max_size,
    "min": min_size,
}
numbers = st.integers(-6, 6)
leaves = st.one_of(numbers, st.sampled_from(NAMES))
trees = st.recursive(leaves, lambda parts: st.tuples(st.sampled_from(sorted(OPERATIONS)), parts, parts), max_leaves=7)
sizes = st.fixed_dictionaries({name: st.integers(1, 12) for name in NAMES})


def computed(tree, values):
    """What a tree of operations is where its names have these values: integers or dimensions."""
    if isinstance(tree, tuple):
        sign, one, other = tree
        return OPERATIONS[sign](computed(one, values), computed(other, values))
    return values[tree] if isinstance(tree, str) else tree


def dimensions(scope=None):
    return dict(zip(NAMES, symbolic_shape(", ".join(NAMES), scope=scope)))


def made(tree, scope=None):
    try:
        return computed(tree, dimensions(scope))
    except (ZeroDivisionError, InconclusiveDimensionOperation):
        return assume(False)


@given(trees, sizes)
def test_a_canonical_form_has_the_value_of_what_it_was_made_of(tree, at):
    size = made(tree)
    expected = computed(tree, at)
    assert evaluate(size, at) == expected
    assert eval(size_text(size), {size_names[name]: value for name, value in at.items()}) == expected


@given(trees, sizes)
def test_bounds_hold_and_texts_are_read_back(tree, at):
    size = made(tree)
    assume(is_symbolic(size))
    low, high = size.bounds()
    assert low <= evaluate(size, at) <= high
    again = parse_dimension(str(size), size.scope)
    assert again == size and hash(again) == hash(size) and str(again) == str(size)


@given(trees, trees, sizes)
def test_comparisons_that_are_decided_are_right(one, other, at):
    scope = SymbolicScope(["a >= b + 1", "n >= 3"])
    one, other = made(one, scope), made(other, scope)
    assume(at["a"] >= at["b"] + 1 and at["n"] >= 3)
    values = evaluate(one, at), evaluate(other, at)
    try:
        assert (one >= other) == (values[0] >= values[1])
        assert (one < other) == (values[0] < values[1])
    except InconclusiveDimensionOperation:
        pass
    if one == other:
        assert values[0] == values[1] and hash(one) == hash(other)


@given(trees, trees)
def test_what_is_always_equal_by_algebra_is_equal(one, other):
    scope = SymbolicScope()
    one, other = made(one, scope), made(other, scope)
    assert one + other == other + one
    assert one * other - other * one == 0
    assert (one + 2) * other == one * other + 2 * other


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2*n + n - 3*n + 4", "4"),
        ("(a + b)*(a - b)", "a^2 - b^2"),
        ("(4*a + 2)//4", "a"),
        ("(6*a + 3) % 6", "3"),
        ("(2*a + 2) // 4", "floordiv(a + 1, 2)"),
        ("(a*b + b)//b", "a + 1"),
        ("3*floordiv(a, 3) + a % 3", "a"),
        ("b*floordiv(a, b) + mod(a, b)", "a"),
        ("-a // 2", "-a + floordiv(a, 2)"),
        ("a // -2", "-a + floordiv(a, 2)"),
        ("max(a, a + 1, b)", "max(a + 1, b)"),
        ("max(max(a, b), n)", "max(a, b, n)"),
        ("min(a, 0)", "0"),
        ("max(a, 1)", "a"),
        ("n**2", "n^2"),
    ],
)
def test_canonical_forms(text, canonical):
    assert str(parse_dimension(text, SymbolicScope())) == canonical


@pytest.mark.parametrize(
    "question",
    [
        "a + b > a",
        "a*b >= b",
        "a*b*n >= n",
        "a // 2 <= a",
        "a % 3 < 3",
        "a % b < b",
        "a % b <= a",
        "max(a, b) >= a",
        "min(a, b) <= b",
        "max(a, b) + min(a, b) >= 2",
        "2*((a + 1)//2) >= a",
        "a + b >= max(a, b)",
        "3*(a // 3) <= a",
    ],
)
def test_what_is_provable_is_proved(question):
    values = {**dimensions(), "max": max_size, "min": min_size}
    assert eval(question, {}, values) is True


@pytest.mark.parametrize(
    ("constraints", "question"),
    [
        (["a >= b"], "a + 1 > b"),
        (["a >= b", "b >= n"], "a >= n"),
        (["a >= b", "b >= n"], "2*a >= b + n"),
        (["a >= 2*b + 3"], "a*n >= b*n"),
        (["mod(a, 4) == 0"], "a % 2 == 0 and 4*(a//4) == a"),
        (["a == 2*b"], "a // 2 == b"),
        (["a == b - 5"], "b >= 6"),
        (["a <= 8"], "a < 9"),
        (["a*b == n"], "n % a == 0"),
        (["max(a, b) == n"], "n >= a"),
    ],
)
def test_constraints_decide(constraints, question):
    values = {**dimensions(SymbolicScope(constraints)), "max": max_size}
    assert eval(question, {}, values) is True


def test_what_depends_on_the_sizes_is_refused_with_the_constraint_that_decides_it():
    a, b = symbolic_shape("a, b")
    for ask, always, never in [
        (lambda x, y: x >= y, "a >= b", "b >= a + 1"),
        (lambda x, y: x > y, "a >= b + 1", "b >= a"),
        (lambda x, y: x < y, "b >= a + 1", "a >= b"),
        (lambda x, y: x <= y, "b >= a", "a >= b + 1"),
    ]:
        with pytest.raises(InconclusiveDimensionOperation) as error:
            ask(a, b)
        assert f'("{always}",)' in str(error.value) and f'("{never}",)' in str(error.value)
        assert ask(*symbolic_shape("a, b", constraints=[always])) is True
        assert ask(*symbolic_shape("a, b", constraints=[never])) is False
    with pytest.raises(InconclusiveDimensionOperation, match=r'is 0 depends.*"a - 1 >= 1"'):
        bool(a - 1)
    with pytest.raises(InconclusiveDimensionOperation, match=r'may be 0.*"b - 1 >= 1"'):
        a // (b - 1)
    for convert in (int, float, range):
        with pytest.raises(InconclusiveDimensionOperation, match="the dimension a is no number yet"):
            convert(a)
    assert bool(a) and not bool(a - a)


def test_dimensions_are_values():
    a, b = symbolic_shape("a, b")
    assert a + b == b + a and hash(a + b) == hash(b + a) and a != b and a != "a" and a != 1.0
    assert a + numpy.int64(2) == a + 2 and 2 - a == -(a - 2) and type(a - a + 3) is int
    assert copy.deepcopy(a) is a and divmod(2 * a + 1, 2) == (a, 1) and divmod(7, a) == (7 // a, 7 % a)
    assert ShapedArray((a, 2), "float32") is ShapedArray((a, 2), "float32")
    assert ShapedArray((a, 2), "float32").size == 2 * a
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(a)
    with pytest.raises(TypeError):
        a + "b"
    other = symbolic_shape("a")[0]
    assert a != other
    with pytest.raises(ValueError, match="another scope"):
        a + other


def test_shapes_are_filled_from_examples():
    assert symbolic_shape("", like=()) == () and symbolic_shape("(3, 4)") == (3, 4) and symbolic_shape("3,") == (3,)
    assert str(symbolic_shape("b, _, 2*b", like=(7, 3, 14))) == "(b, 3, 2*b)"
    assert str(symbolic_shape("..., c", like=(7, 3, 14))) == "(7, 3, c)"
    assert str(symbolic_shape("b, ..., c", like=(7, 14))) == "(b, c)"
    assert symbolic_shape(None, like=(2, 3)) == (2, 3)
    assert str(symbolic_shape("(a + b)*2, 1")) == "(2*a + 2*b, 1)"


@pytest.mark.parametrize(
    ("spec", "like", "message"),
    [
        ("a b", None, r"expected the end, found 'b' at letter 2"),
        ("a +", None, "expected a dimension, found the end"),
        ("a, ?", None, r"found '\?' at letter 3"),
        ("max(a)", None, "max does not take 1 operands"),
        ("mod(a, b, c)", None, "mod does not take 3"),
        ("log(a)", None, "log is no operation"),
        ("max", None, "expected the operands of max"),
        ("a // 0", None, "divided by 0"),
        ("a^99", None, "exponent"),
        ("1.5", None, "found '.'"),
        ("..., ...", (1,), "several"),
        ("_", None, "needs a shape like"),
        ("a, ...", (), "of at least 1 dimensions"),
        ("a, b", (1,), "has 2 dimensions"),
        ("4", (3,), "has 4 for dimension 0"),
        ("-4", None, "negative"),
        ("(" * 60 + "a" + ")" * 60, None, "nested too deeply"),
        ("9" * 30, None, "30 digits"),
        ("a+" * LIMITS["letters"], None, "letters"),
    ],
)
def test_texts_that_are_refused(spec, like, message):
    with pytest.raises(ValueError, match=message):
        symbolic_shape(spec, like=like)


def test_constraints_that_are_refused():
    with pytest.raises(ValueError, match="expected >=, <= or =="):
        SymbolicScope(["a > b"])
    with pytest.raises(UnsolvableDimensionsError, match="can never hold together with a >= 5"):
        SymbolicScope(["a >= 5", "a <= 4"])
    with pytest.raises(ValueError, match="can never hold"):
        SymbolicScope(["a == 0"])
    with pytest.raises(ValueError, match="constraints belong to a scope"):
        symbolic_shape("a", scope=SymbolicScope(), constraints=["a >= 2"])
    with pytest.raises(TypeError, match="written as a string"):
        symbolic_shape(3)


def test_the_types_of_arguments_from_examples():
    args = {"x": numpy.ones((4, 3), "float32"), "y": [numpy.ones(3, "int32"), 1.0]}
    specs = symbolic_args_specs(args, {"x": "b, _", "y": [None, ""]})
    assert str(specs["x"]) == "float32[b,3]" and str(specs["y"][0]) == "int32[3]" and specs["y"][1].shape == ()
    assert isinstance(symbolic_args_specs(tangrad.ShapeDtypeStruct((2,), "float32"), "n"), tangrad.ShapeDtypeStruct)
    one, other = symbolic_args_specs((args["x"], args["x"]), "b, ...", constraints=["b >= 4"])
    assert one is other and one.shape[0] >= 4
    with pytest.raises(ValueError):
        symbolic_args_specs(args, {"x": "b, _"})


# --- sizes from shapes ----------------------------------------------------------------------------------------------


@given(sizes)
def test_variables_are_found_from_shapes(at):
    scope = SymbolicScope()
    shapes = [symbolic_shape("2*a + b, b", scope=scope), symbolic_shape("a*b, 3*n + a - 1, 5", scope=scope)]
    found = plan(shapes).sizes([evaluate_shape(shape, at) for shape in shapes])
    assert found == at


def test_shapes_that_do_not_fit_are_named():
    scope = SymbolicScope(["n >= 2", "m >= n + 1"])
    shapes = [symbolic_shape("n, 2*m + 1", scope=scope), symbolic_shape("m, 3", scope=scope)]
    made = plan(shapes, ["x", "y"])
    assert made.sizes([(2, 7), (3, 3)]) == {"n": 2, "m": 3}
    for actual, message in [
        ([(2, 7, 1), (3, 3)], r"x, which is of shape \(n, 2\*m \+ 1\) with 2 dimensions: got one of shape \(2, 7, 1\)"),
        ([(2, 8), (3, 3)], r"x .* dimension 1 has size 8, which 2\*m \+ 1 is for no m of at least 1"),
        ([(2, 7), (4, 3)], r"y .* dimension 0 has size 4, where m is 3 \(m = 3 by dimension 1 of x\)"),
        ([(2, 7), (3, 4)], r"y .* dimension 1 has size 4, not 3"),
        ([(1, 7), (3, 3)], r"n is 1; its constraints .* say that it is at least 2"),
        ([(3, 7), (3, 3)], r"m >= n \+ 1 does not hold for m = 3, n = 3: its sides are 3 and 4"),
    ]:
        with pytest.raises(ValueError, match=message):
            made.sizes(actual)
    with pytest.raises(UnsolvableDimensionsError, match="do not determine a, b"):
        plan([symbolic_shape("a*b")])
    with pytest.raises(ValueError, match="2 scopes"):
        plan([symbolic_shape("a"), symbolic_shape("a")])
