"""`experimental.random.stateful_rng`: what it draws is what JAX 0.12 draws; under jit, vmap, loops and gradients."""

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.experimental.random import StatefulPRNG, stateful_rng


def test_draws_are_those_of_jax() -> None:
    rng = stateful_rng(42)
    assert rng.integers(10, size=3).tolist() == [4, 1, 9]
    onp.testing.assert_array_equal(rng.uniform(size=(2,)), onp.float32([0.72766423, 0.78786755]))
    onp.testing.assert_allclose(rng.normal(2, np.ones(3)), [2.4323065, 2.5872638, 0.8583257], rtol=1e-6)
    assert rng.random() == onp.float32(0.3890121)
    onp.testing.assert_allclose(rng.uniform(3, np.arange(4.0, 6.0)), [3.7437396, 4.137704], rtol=1e-6)
    assert tangrad.random.key_data(rng.key()).tolist() == [2765691542, 824333390]
    assert tangrad.random.key_data(rng.key(2)).tolist() == [[2494647183, 4076531018], [3204329507, 4228560771]]
    children = rng.split(3)
    assert isinstance(children, StatefulPRNG)
    with pytest.raises(ValueError, match="was split"):
        children.random()


def test_what_functions_draw_is_drawn_once() -> None:
    rng, again = stateful_rng(0), stateful_rng(0)
    draw = tangrad.jit(lambda rng: rng.random((2,)))
    found = [draw(rng).tolist(), draw(rng).tolist(), rng.random((2,)).tolist()]
    assert found == [again.random((2,)).tolist() for _ in range(3)]


def test_mapped_generators_draw_each_for_itself() -> None:
    rng, again = stateful_rng(1), stateful_rng(1)
    found = tangrad.vmap(lambda one, x: x + one.uniform())(rng.split(3), np.zeros(3))
    assert found.tolist() == [one.uniform().tolist() for one in again.spawn(3)]


def test_in_loops_and_gradients() -> None:
    rng, again = stateful_rng(5), stateful_rng(5)
    _, drawn = tangrad.lax.scan(lambda carry, _: (carry, rng.random()), 0.0, None, length=3)
    assert drawn.tolist() == [again.random().tolist() for _ in range(3)]
    slope = tangrad.grad(lambda x: (x * rng.normal(size=3)).sum())(2.0)
    onp.testing.assert_allclose(slope, again.normal(size=3).sum(), rtol=1e-6)


def test_shapes_and_dtypes() -> None:
    rng = stateful_rng(onp.int32(3), impl="rbg")
    assert rng.integers(3, 7, dtype="int8").dtype == onp.int8
    assert rng.integers(3, onp.array([5, 6])).shape == (2,)
    assert rng.normal(size=(), dtype="float16").dtype == onp.float16
    assert rng.key((2, 3)).shape == (2, 3)
    assert stateful_rng().random() != stateful_rng().random()


@pytest.mark.parametrize("seed", ["x", 1.5, onp.arange(2)])
def test_seeds_that_are_none(seed: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        stateful_rng(seed)  # type: ignore[arg-type]


def test_a_program_needs_a_seed() -> None:
    with pytest.raises(TypeError, match="seed must be given"):
        tangrad.jit(lambda: stateful_rng().random())()
    assert tangrad.jit(lambda: stateful_rng(3).random())() == onp.float32(0.008695364)


def test_parts_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="_base_key must be a typed key"):
        StatefulPRNG(np.zeros(2), tangrad.new_ref(0))
    with pytest.raises(ValueError, match="_counter must be a reference"):
        StatefulPRNG(tangrad.random.key(0), np.zeros((), int))  # type: ignore[arg-type]
