"""Masked functions against the same functions of arrays that are not padded; the padding is NaN, and worse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, mask, shapecheck, tree, use_backend
from tangrad._masking import ShapeError
from tangrad._symbolic.solving import evaluate_shape
from tangrad.core import backend_names
from tangrad.errors import MissingRuleError
from tangrad.export import SymbolicScope, symbolic_shape
from tests.masking.programs import PROGRAMS, W

PADDINGS = (np.nan, np.inf, -np.inf, 0.0, 1e30, -7.0)


def arguments(program, sizes, padded, draw):
    """The arguments at their logical sizes, and padded with what must not matter."""
    scope = SymbolicScope()
    plain, filled = [], []
    for spec in program.specs:
        shape = symbolic_shape(spec.strip("()"), scope=scope)
        x = draw.uniform(0.2, 3.0, evaluate_shape(shape, sizes)).astype("float32")
        large = draw.choice(PADDINGS, evaluate_shape(shape, padded)).astype("float32")
        large[tuple(slice(size) for size in x.shape)] = x
        plain.append(tnp.asarray(x))
        filled.append(tnp.asarray(large))
    return plain, filled


def names(program):
    return sorted({letter for spec in program.specs for letter in spec if letter.isalpha()})


def check_equal(masked, plain, what):
    """The part that counts is what the unpadded computation gives; the rest is 0."""
    for one, other in zip(tree.leaves(masked), tree.leaves(plain), strict=True):
        one, other = np.array(one), np.asarray(other)
        part = tuple(slice(size) for size in other.shape)
        np.testing.assert_allclose(one[part], other, rtol=2e-4, atol=2e-5, err_msg=what)
        one[part] = 0
        assert not one.any(), f"{what}: beyond what counts there is {one}"


def total(results):
    """A number that depends on every element of the results differently."""
    leaves = [leaf for leaf in tree.leaves(results) if tnp.issubdtype(leaf.dtype, tnp.floating)]
    return sum([tnp.sum(tnp.sin(leaf) * (1.5 + position)) for position, leaf in enumerate(leaves)])


def check(name, sizes, padded, seed, gradients=True):
    program = PROGRAMS[name]
    plain, filled = arguments(program, sizes, padded, np.random.default_rng(seed))
    weights = tnp.asarray(W)

    def run(w, args):
        function = mask(
            lambda *values: program.function(w, *values),
            list(program.specs),
            program.out,
            constraints=program.constraints,
        )
        return function(list(args), sizes)

    check_equal(run(weights, filled), program.function(weights, *plain), name)
    if program.differentiable and gradients:
        found = tangrad.grad(lambda w, args: total(run(w, args)), argnums=(0, 1))(weights, filled)
        expected = tangrad.grad(lambda w, args: total(program.function(w, *args)), argnums=(0, 1))(weights, plain)
        check_equal(found, expected, f"the gradient of {name}")


def cases():
    """A program, logical sizes, padded ones, and a seed."""

    @st.composite
    def drawn(draw):
        name = draw(st.sampled_from(sorted(PROGRAMS)))
        sizes, padded = {}, {}
        for variable in names(PROGRAMS[name]):
            sizes[variable] = draw(st.integers(PROGRAMS[name].least, 5))
            padded[variable] = sizes[variable] + draw(st.integers(0, 4))
        return name, sizes, padded, draw(st.integers(0, 2**16))

    return drawn()


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_as_if_it_were_not_padded(name):
    variables = names(PROGRAMS[name])
    with use_backend("numpy"):
        check(name, dict(zip(variables, (3, 4))), dict(zip(variables, (5, 6))), 0)


@given(cases())
def test_programs_of_any_size(case):
    with use_backend("numpy"):
        check(*case)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(cases())
def test_a_thousand_programs_of_any_size(case):
    with use_backend("numpy"):
        check(*case)


@pytest.mark.sweep
@settings(max_examples=4000, deadline=None)
@given(cases())
def test_programs_of_any_size_at_length(case):
    with use_backend("numpy"):
        check(*case)


# --- Masked functions under jit, grad and vmap, with sizes that are traced, on every backend ---


TRACED = ["sum of logs", "slices", "reversed", "joined", "flattened", "softmax", "sorted", "matrix by vector", "taken"]
TRACED += [
    "running product from the end",
    "scan",
    "scan from the end",
    "cond",
    "a rule in jit",
    "attention",
    "variance",
]


@pytest.fixture(params=backend_names())
def on(request):
    with use_backend(request.param):
        yield request.param


def masked(name):
    """A function of weights, padded arguments and sizes."""
    program = PROGRAMS[name]

    def run(w, args, dims):
        function = mask(
            lambda *values: program.function(w, *values), program.specs, program.out, constraints=program.constraints
        )
        return function(args, dims)

    return run


def differentiated(function):
    """The function's results, and the gradients of a number made of them."""

    def run(w, args, *rest):
        value = function(w, args, *rest)
        return value, tangrad.grad(lambda w, args: total(function(w, args, *rest)), argnums=(0, 1))(w, args)

    return run


@pytest.mark.parametrize("name", TRACED)
def test_one_compilation_serves_all_sizes(name):
    program = PROGRAMS[name]
    traces = []
    function = differentiated(masked(name))
    jitted = tangrad.jit(lambda *args: traces.append(args) or function(*args))
    with use_backend("numpy"):
        for seed, size in enumerate((4, 5)):
            sizes = {letter: size + place for place, letter in enumerate(names(program))}
            padded = {letter: 7 + place for place, letter in enumerate(sizes)}
            plain, filled = arguments(program, sizes, padded, np.random.default_rng(seed))
            expected = differentiated(lambda w, args: program.function(w, *args))(tnp.asarray(W), plain)
            check_equal(jitted(tnp.asarray(W), filled, sizes), expected, name)
    assert len(traces) == 1


@pytest.mark.parametrize("name", TRACED)
def test_examples_of_different_sizes_make_a_batch(name):
    program = PROGRAMS[name]
    with use_backend("numpy"):
        examples = []
        for seed, size in enumerate((4, 6)):
            sizes = {letter: size + place for place, letter in enumerate(names(program))}
            padded = {letter: 7 + place for place, letter in enumerate(sizes)}
            examples.append((sizes, *arguments(program, sizes, padded, np.random.default_rng(seed))))
        stacked = [tnp.stack(parts) for parts in zip(*[filled for _, _, filled in examples])]
        sizes = {letter: tnp.array([example[0][letter] for example in examples]) for letter in examples[0][0]}
        function = differentiated(masked(name))
        found = tangrad.vmap(function, in_axes=(None, 0, 0))(tnp.asarray(W), stacked, sizes)
        for place, (_, plain, _) in enumerate(examples):
            expected = differentiated(lambda w, args: program.function(w, *args))(tnp.asarray(W), plain)
            check_equal(tangrad.tree.map(lambda x, place=place: x[place], found), expected, name)


@pytest.mark.parametrize("name", ["scan", "attention", "joined", "flattened", "sorted", "a rule in jit"])
def test_on_each_backend(on, name):
    program = PROGRAMS[name]
    sizes = {letter: 3 + place for place, letter in enumerate(names(program))}
    padded = {letter: 5 + place for place, letter in enumerate(sizes)}
    plain, filled = arguments(program, sizes, padded, np.random.default_rng(0))
    expected = differentiated(lambda w, args: program.function(w, *args))(tnp.asarray(W), plain)
    check_equal(tangrad.jit(differentiated(masked(name)))(tnp.asarray(W), filled, sizes), expected, name)


def test_as_users_wrote_it():
    total_of = mask(lambda x: tnp.sum(x), in_shapes=["n"], out_shape="")
    assert total_of([tnp.array([5, 2, 9, 1])], {"n": 3}) == 16
    two = mask(lambda x, y: (x + y, {"y": tnp.sum(y)}), ["n", "n"], ("n", {"y": ""}))
    found = two([tnp.arange(4), tnp.arange(4)], {"n": 2})
    np.testing.assert_array_equal(found[0], [0, 2, 0, 0])
    assert found[1]["y"] == 1
    kept = mask(lambda x: tnp.sum(x, axis=1), ["(n, _)"], "n")
    np.testing.assert_array_equal(kept([tnp.ones((3, 4))], {"n": 2}), [4, 4, 0])
    trees = mask(lambda p: p["a"] @ p["b"], [{"a": "(n, m)", "b": "m"}], "n")
    np.testing.assert_array_equal(trees([{"a": tnp.ones((2, 3)), "b": tnp.ones(3)}], {"n": 2, "m": 2}), [2, 2])


def test_a_mask_within_a_mask():
    inner = mask(lambda x: tnp.sum(x), ["m"], "")
    outer = mask(lambda x, k: inner([x], {"m": k}) + x.shape[0], ["(n)", ""], None)
    with pytest.raises((TypeError, ValueError)):  # the inner one needs numbers for its padded sizes
        outer([tnp.arange(4.0), 2], {"n": 3})


def test_sizes_are_values_where_a_function_computes_with_them():
    seen = mask(lambda x: tnp.array([x.shape[0], x.shape[0] * 2 + 1, (x.shape[0] - 5) // 2]), ["n"], "3")
    np.testing.assert_array_equal(seen([tnp.zeros(7)], {"n": 4}), [4, 9, -1])
    np.testing.assert_array_equal(tangrad.jit(seen)([tnp.zeros(7)], {"n": 4}), [4, 9, -1])


@pytest.mark.parametrize(
    ("specs", "shapes", "dims", "error", "message"),
    [
        (["n", "n"], [(3,), (4,)], {"n": 2}, ValueError, r"args\[1\] is of shape \(n,\); its dimension 0 has size 4"),
        (["2*n+1"], [(4,)], {"n": 1}, ValueError, r"its dimension 0 has size 4, which 2\*n \+ 1 is for no n"),
        (["(n, m)"], [(4,)], {"n": 1, "m": 1}, ValueError, r"the spec '\(n, m\)' of args\[0\] does not fit"),
        (["n"], [(4,)], {"n": 5}, ValueError, "the size n is 5; it must be from 0 to the padded size, 4"),
        (["n"], [(4,)], {"n": -1}, ValueError, "the size n is -1"),
        (["n"], [(4,)], {}, ValueError, r"the specs have the sizes \['n'\], the call gives \[\]"),
        (["n"], [(4,)], {"n": 2, "m": 3}, ValueError, r"the call gives \['m', 'n'\]"),
        (["n"], [(4,)], {"n": 2.0}, TypeError, "the size n must be an integer without dimensions, got f32"),
        (["n"], [(4,)], {"n": np.ones(2, int)}, TypeError, "an integer without dimensions, got i"),
        (["n +"], [(4,)], {"n": 2}, ValueError, "the spec 'n \\+' of args"),
        ([3], [(4,)], {"n": 2}, TypeError, r"the spec of args\[0\] must be a string"),
        (["3"], [(4,)], {}, ValueError, "says 3 for dimension 0"),
    ],
)
def test_masks_that_do_not_fit(specs, shapes, dims, error, message):
    function = mask(lambda *args: sum([tnp.sum(arg) for arg in args]), specs, "")
    with pytest.raises(error, match=message):
        function([tnp.ones(shape) for shape in shapes], dims)


def test_results_of_another_shape():
    with pytest.raises(ShapeError, match=r"the result is of shape \(n,\), but its spec 'm' says \(m,\)"):
        mask(lambda x, y: x, ["n", "m"], "m")([tnp.ones(3), tnp.ones(3)], {"n": 2, "m": 2})
    with pytest.raises(ShapeError, match=r"the result\[1\] is of shape \(n - 1,\), but its spec 'n' says"):
        mask(lambda x: (x, x[1:]), ["n"], ["n", "n"], constraints=["n >= 2"])([tnp.ones(3)], {"n": 2})
    with pytest.raises(ValueError, match="the constraint n >= 2 does not hold for the logical sizes"):
        mask(lambda x: x[1:], ["n"], "n-1", constraints=["n >= 2"])([tnp.ones(3)], {"n": 1})


def test_what_is_no_function_and_no_sequence():
    with pytest.raises(TypeError, match="mask expects a function"):
        mask(3, ["n"], "n")
    with pytest.raises(TypeError, match="the arguments must be a tuple or a list"):
        mask(lambda x: x, ["n"], "n")(tnp.ones(3), {"n": 2})
    with pytest.raises(TypeError, match="the logical sizes must be a dict"):
        mask(lambda x: x, ["n"], "n")([tnp.ones(3)], 2)


def test_a_primitive_without_a_rule_is_named():
    with pytest.raises(MissingRuleError, match="would see the padding"):
        mask(lambda x: tangrad.debug.print("{}", x), ["n"], None)([tnp.ones(3)], {"n": 2})


def test_matrices_of_masked_sizes_are_refused():
    with pytest.raises(NotImplementedError, match=r"'linalg\.cholesky' over a dimension whose size is masked"):
        mask(lambda x: tnp.linalg.cholesky(x), ["(n, n)"], "(n, n)")([tnp.eye(3)], {"n": 2})


def test_paddings_by_a_size_are_refused():
    with pytest.raises(NotImplementedError, match="padding before or between elements by a size that is masked"):
        mask(lambda x: lax.pad(x, 0.0, [(x.shape[0], 0, 0)]), ["n"], "2*n")([tnp.ones(3)], {"n": 2})


# --- shapecheck -----------------------------------------------------------------------------------------------------


def test_shapecheck():
    @shapecheck(["(m, n)", "n"], "m")
    def matvec(a, b):
        return tnp.dot(a, b)

    np.testing.assert_array_equal(matvec(tnp.ones((2, 3)), tnp.ones(3)), [3, 3])
    assert shapecheck(["n", "m"], "n+m")(lambda x, y: tnp.concatenate([x, y]))(tnp.ones(1), tnp.ones(2)).shape == (3,)
    assert shapecheck(["(a, b)"], ["b", "(_, b)"])(lambda x: (x[0], x))
    for out in ("n", "m+1", "(m, n)", ""):
        with pytest.raises(ShapeError, match=r"the result is of shape \(m,\), but its spec"):
            shapecheck(["(m, n)", "n"], out)(matvec)
    with pytest.raises(ValueError, match="dot: "):
        shapecheck(["(m, n)", "m"], "m")(matvec)
    with pytest.raises(TypeError, match="shapecheck expects a function"):
        shapecheck(["n"], "n")(3)
