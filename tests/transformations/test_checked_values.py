"""`debug_nans` and `debug_infs`: what is selected away is no error; what reaches a result or a taken branch is."""

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield


X = (-1.0, 0.0, 1.0, 4.0)


def positive(x):
    return lax.cond(x > 0, np.log, lambda y: y, x)


def halved(x):
    """A square root as long as it is worth it: never of a negative number."""
    return lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, np.sqrt(c[1])), (np.where(x < 0, 2, 0), x))


def switched(x):
    return lax.switch((x > 0).astype(int) + (x > 2), [lambda y: y, np.log, lambda y: np.log(y - 2)], x)


ruled = tangrad.custom_jvp(positive)
ruled.defjvps(lambda tangent, answer, x: tangent)


SELECTED_AWAY = {
    "cond": lambda x: tangrad.vmap(positive)(x),
    "quotient": lambda x: tangrad.vmap(lambda y: lax.cond(y != 0, lambda z: 1 / z, lambda z: z, y))(x),
    "switch": lambda x: tangrad.vmap(switched)(x),
    "while": lambda x: tangrad.vmap(halved)(x),
    "count of turns": lambda x: tangrad.vmap(lambda n, y: lax.fori_loop(0, n, lambda _, c: np.log(c), y))(
        np.array([0, 0, 1, 1]), x
    ),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [np.log, lambda y: 3 * y]),
    "cond in a scan": lambda x: tangrad.vmap(lambda y: lax.scan(lambda c, _: (c, positive(y)), 0.0, None, length=2))(x),
    "cond in cond": lambda x: tangrad.vmap(lambda y: lax.cond(y > 0, positive, lambda z: z, y))(x),
    "mapped twice": lambda x: tangrad.vmap(tangrad.vmap(positive))(x[None]),
    "inner program": lambda x: tangrad.vmap(tangrad.jit(positive))(x),
    "recomputed": lambda x: tangrad.vmap(tangrad.checkpoint(positive))(x),
    "rule of its own": lambda x: tangrad.vmap(ruled)(x),
    "taken one by one": lambda x: lax.map(positive, x),
    "loop": lambda x: lax.scan(lambda c, y: (c, np.where(y > 0, np.log(y), y)), 0.0, x),
    "forward": lambda x: tangrad.jvp(tangrad.vmap(positive), (x,), (x,)),
    "reverse": lambda x: tangrad.grad(lambda y: tangrad.vmap(positive)(y).sum())(x),
    "each gradient": lambda x: tangrad.vmap(tangrad.grad(positive))(x),
}
REACHES = {
    "operation": lambda x: np.log(x - 2),
    "chosen row": lambda x: tangrad.vmap(lambda y: lax.cond(y < 1, lambda z: np.log(z - 1), lambda z: z, y))(x),
    "row of a switch": lambda x: tangrad.vmap(lambda y: lax.switch(0, [lambda z: np.log(z - 5), np.exp], y))(x),
    "turn": lambda x: tangrad.vmap(lambda y: lax.fori_loop(0, 2, lambda _, c: np.log(c), y))(x),
    "piece": lambda x: np.piecewise(x, [x < 0], [np.log, lambda y: y]),
    "taken branch": lambda x: lax.cond(x[0] < 0, lambda y: np.log(y), lambda y: y, x),
    "slice": lambda x: lax.scan(lambda c, y: (c, np.log(y)), 0.0, x),
    "inner program": lambda x: tangrad.jit(lambda y: np.log(y))(x),
    "gradient": lambda x: tangrad.grad(lambda y: np.sqrt(y * 0.0).sum())(x),
}
UNDER = {"eager": lambda f: f, "jit": tangrad.jit}


@pytest.mark.parametrize("setting", [tangrad.debug_nans, tangrad.debug_infs], ids=["nans", "infs"])
@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("name", SELECTED_AWAY)
def test_what_is_selected_away(name, under, setting):
    x = np.array(X)
    program = UNDER[under](SELECTED_AWAY[name])
    expected = tangrad.tree.map(lambda leaf: leaf.tolist(), program(x))
    with setting(True):
        found = program(x)
    assert str(tangrad.tree.map(lambda leaf: leaf.tolist(), found)) == str(expected)
    assert "nan" not in str(expected) and "inf" not in str(expected)


@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("name", REACHES)
def test_what_reaches_a_result(name, under):
    program = UNDER[under](REACHES[name])
    with tangrad.debug_nans(True), tangrad.debug_infs(True), pytest.raises(FloatingPointError, match="invalid value"):
        program(np.array(X))
    program(np.array(X))


def test_the_operation_is_named():
    x = np.array(X)
    with tangrad.debug_nans(True):
        for program in (lambda: lax.scan(lambda c, y: (c, np.log(y)), 0.0, x), lambda: tangrad.jit(np.log)(x)):
            with pytest.raises(FloatingPointError, match=r"made by primitive 'log'"):
                program()


def test_after_an_error_everything_is_looked_at_again():
    x = np.array(X)

    def broken(y):
        raise KeyError(y.shape)

    with tangrad.debug_nans(True):
        with pytest.raises(KeyError):
            np.piecewise(x, [x > 0], [broken])
        with pytest.raises(FloatingPointError):
            np.log(x)
