"""Masked functions against the same functions of arrays that are not padded; the padding is NaN, and worse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as tnp
from tangrad import mask, tree, use_backend
from tangrad._symbolic.evaluation import evaluate_shape
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
