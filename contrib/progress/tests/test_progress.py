"""What the bar shows, and that loops compute what they compute without it, under transformations, on both backends."""

import io

import numpy as onp
import pytest
import tangrad_progress
from tangrad_progress import fori_loop, scan

import tangrad
import tangrad.numpy as np
from tangrad import lax


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    with tangrad.use_backend(request.param):
        yield request.param


@pytest.fixture(autouse=True)
def moves(monkeypatch):
    """The updates of bars, a list for each: how far they are after each move; and that they were closed."""
    bars = []

    class Recorder(tangrad_progress.tqdm.tqdm):
        def __init__(self, *args, **options):
            super().__init__(*args, **{"file": io.StringIO(), **options})
            self.moves = []
            bars.append(self.moves)

        def update(self, n=1):
            super().update(n)
            self.moves.append(self.n)

        def close(self):
            if not self.disable and (not hasattr(self, "moves") or self.moves[-1:] != ["closed"]):
                self.moves.append("closed")
            super().close()

    monkeypatch.setattr(tangrad_progress.tqdm, "tqdm", Recorder)
    return bars


def shown(bars):
    tangrad.effects_barrier()
    return bars


def step(carry, x):
    return carry * 0.9 + np.sin(x), carry


X = onp.linspace(0.0, 1.0, 5, dtype="float32")


def test_a_jitted_scan(moves):
    run = tangrad.jit(lambda x: scan(step, 1.0, x, desc="steps"))
    for got, expected in zip(run(X), lax.scan(step, 1.0, X), strict=True):
        onp.testing.assert_allclose(got, expected, rtol=1e-6)
    assert shown(moves) == [[1, 2, 3, 4, 5, "closed"]]
    run(X)  # the same program again: a bar of its own
    assert shown(moves) == [[1, 2, 3, 4, 5, "closed"]] * 2


def test_an_eager_loop_and_how_often(moves):
    assert float(fori_loop(3, 10, lambda i, x: x + i, 0.0, every=3)) == sum(range(3, 10))
    assert shown(moves) == [[3, 6, 7, "closed"]]


def test_long_loops_move_it_a_hundred_times(moves):
    tangrad.jit(lambda: fori_loop(0, 1000, lambda i, x: x + 1, 0))()
    assert shown(moves) == [[*range(10, 1001, 10), "closed"]]


def test_mapped_examples_step_together(moves):
    mapped = tangrad.jit(tangrad.vmap(lambda x: scan(step, 1.0, x)[0]))
    expected = tangrad.vmap(lambda x: lax.scan(step, 1.0, x)[0])(onp.stack([X, X + 1]))
    onp.testing.assert_allclose(mapped(onp.stack([X, X + 1])), expected, rtol=1e-6)
    assert shown(moves) == [[1, 2, 3, 4, 5, "closed"]]


def test_a_gradient_shows_the_forward_loop(moves):
    gradient = tangrad.jit(tangrad.grad(lambda x: scan(step, 1.0, x)[0]))
    expected = tangrad.grad(lambda x: lax.scan(step, 1.0, x)[0])(X)
    onp.testing.assert_allclose(gradient(X), expected, rtol=1e-5)
    assert shown(moves) == [[1, 2, 3, 4, 5, "closed"]]


def test_reversed_and_with_trees(moves):
    f = lambda carry, x: ({"sum": carry["sum"] + x[0] * x[1]}, carry["sum"])
    got = scan(f, {"sum": 0.0}, (X, X), reverse=True)
    expected = lax.scan(f, {"sum": 0.0}, (X, X), reverse=True)
    onp.testing.assert_allclose(got[0]["sum"], expected[0]["sum"], rtol=1e-6)
    onp.testing.assert_allclose(got[1], expected[1], rtol=1e-6)
    assert shown(moves) == [[1, 2, 3, 4, 5, "closed"]]


def test_no_steps_no_bar(moves):
    assert float(scan(step, 1.0, X[:0])[0]) == 1.0
    assert float(fori_loop(5, 5, lambda i, x: x, 2.0)) == 2.0
    assert shown(moves) == []


def test_a_run_that_fails_leaves_no_bar_in_the_way(moves):
    limit = [0.4]

    @tangrad.jit
    def run(x):
        def checked(carry, x):
            tangrad.debug.callback(lambda x: 1 / int(x < limit[0]), x)
            return step(carry, x)

        return scan(checked, 1.0, x)[0]

    with pytest.raises(Exception, match="division by zero"):
        run(X).block_until_ready()
        tangrad.effects_barrier()
    limit[0] = 2.0
    onp.testing.assert_allclose(run(X), lax.scan(step, 1.0, X)[0], rtol=1e-6)
    failed, whole = shown(moves)
    assert failed[-1] == "closed" and failed[-2] < 5 and whole == [1, 2, 3, 4, 5, "closed"]


def test_bad_input():
    with pytest.raises(ValueError, match="every must be a positive number of steps, got 0"):
        scan(step, 1.0, X, every=0)
    with pytest.raises(TypeError, match="int"):
        tangrad.jit(lambda n: fori_loop(0, n, lambda i, x: x, 0.0))(3)
    with pytest.raises(TypeError, match=r"float.* integer"):
        fori_loop(0, 2.5, lambda i, x: x, 0.0)
    with pytest.raises(TypeError, match=r"float.* integer"):
        scan(step, 1.0, X, every=1.5)
    for xs in (None, 3, (X, X[:2])):
        with pytest.raises((TypeError, ValueError), match="scan"):
            scan(step, 1.0, xs)
    with pytest.raises(Exception, match="colr"):
        scan(step, 1.0, X, colr="red")
        tangrad.effects_barrier()
    onp.testing.assert_allclose(scan(step, 1.0, X)[0], lax.scan(step, 1.0, X)[0], rtol=1e-6)
