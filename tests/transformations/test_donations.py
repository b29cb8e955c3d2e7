"""Donated arguments: those whose place a result takes are deleted, on both backends; the caller keeps the others."""

import warnings

import pytest

import tangrad
import tangrad.numpy as np


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield


def floats(*shape):
    return np.ones(shape, "float32") + 1


def outcome(function, *args, **kwargs):
    """Which leaves of the arguments are deleted, and whether a warning said that some could not be used."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    assert all("Some donated buffers were not usable" in str(one.message) for one in said)
    return [leaf.is_deleted() for leaf in tangrad.tree.leaves((args, kwargs))], bool(said)


FIRST, BOTH, SECOND = {"donate_argnums": 0}, {"donate_argnums": (0, 1)}, {"donate_argnums": 1}
CASES = {
    "a result of its type": (lambda x: x + 1, FIRST, [(3,)], [True], False),
    "of another shape": (lambda x: x.sum(), FIRST, [(3,)], [False], True),
    "of another dtype": (lambda x: x.astype("float16"), FIRST, [(3,)], [False], True),
    "of another dtype and its size": (lambda x: x.astype("int32"), FIRST, [(3,)], [True], False),
    "of as many bytes": (lambda x: x[:2].astype("complex64"), FIRST, [(4,)], [False], True),
    "transposed": (lambda x: x.T, FIRST, [(2, 3)], [True], False),
    "reshaped": (lambda x: x.reshape(-1) + 1, FIRST, [(2, 3)], [True], False),
    "its type comes first": (lambda x, y: (y + 1, x.sum()), BOTH, [(3, 2), (6,)], [False, True], True),
    "a square, transposed": (lambda x: x.T, FIRST, [(3, 3)], [True], False),
    "two for one": (lambda x, y: x + y, BOTH, [(3,), (3,)], [True, False], True),
    "two for two": (lambda x, y: (x + y, x - y), BOTH, [(3,), (3,)], [True, True], False),
    "the second": (lambda x, y: x + y, SECOND, [(3,), (3,)], [False, True], False),
    "the second, in vain": (lambda x, y: x + y.sum(), SECOND, [(3,), (4,)], [False, False], True),
    "unused": (lambda x, y: y + 1, FIRST, [(3,), (3,)], [False, False], False),
    "none used": (lambda x, y: np.zeros(3), BOTH, [(3,), (3,)], [False, False], False),
    "both, one used": (lambda x, y: y + 1, BOTH, [(3,), (3,)], [False, True], False),
    "unused and kept": (lambda x, y: y + 1, {**FIRST, "keep_unused": True}, [(3,), (3,)], [True, False], False),
    "for nothing": (lambda x: None, FIRST, [(3,)], [False], False),
    "a number": (lambda x: x * 2, FIRST, [()], [True], False),
    "empty": (lambda x: x + 1, FIRST, [(0,)], [True], False),
    "large, in vain": (lambda x: (x * 2).sum(), FIRST, [(20000,)], [False], True),
    "inner": (lambda x: tangrad.jit(lambda y: y.sum(), donate_argnums=0)(x), {}, [(3,)], [False], False),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_deleted(name):
    function, options, shapes, deleted, warned = CASES[name]
    program = tangrad.jit(function, **options)
    assert outcome(program, *[floats(*shape) for shape in shapes]) == (deleted, warned)
    # The second call finds the program, and says nothing again.
    assert outcome(program, *[floats(*shape) for shape in shapes]) == (deleted, False)


def test_what_is_kept_can_be_used():
    x = floats(20000)
    program = tangrad.jit(lambda y: (y * 3).sum(), donate_argnums=0)
    with pytest.warns(UserWarning, match=r"args\[0\]: float32\[20000\]"):
        total = program(x)
    assert float(total) == 120000 and float(x.sum()) == 40000


def test_one_array_twice():
    x = floats(3)
    add = tangrad.jit(lambda a, b: a + b, donate_argnums=0)
    with pytest.raises(ValueError, match=r"args\[0\] is donated, and its array is both args\[0\] and args\[1\]"):
        add(x, x)
    with pytest.raises(ValueError, match="pass a copy"):
        add.lower(x, x).compile()(x, x)
    assert x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("options", [FIRST, BOTH])
def test_one_array_twice_that_is_not_overwritten(options):
    """No result has its size, or the program does not use it."""
    for function in (lambda a, b: a.sum() + b.sum(), lambda a, b: np.zeros(3)):
        deleted, _ = outcome(tangrad.jit(function, **options), *[floats(3)] * 2)
        assert deleted == [False, False]
    x = floats(3)
    assert tangrad.jit(lambda a, b: b + 1, **FIRST)(x, x).tolist() == [3, 3, 3]


def test_trees_names_and_static_arguments():
    leaves = {"a": floats(3), "b": floats(2)}
    assert outcome(tangrad.jit(lambda d: {"a": d["a"] + 1}, donate_argnums=0), leaves) == ([True, False], False)
    by_name = tangrad.jit(lambda x, y: y.sum() + x, donate_argnames="y")
    assert outcome(by_name, floats(3), y=floats(2)) == ([False, False], True)
    assert outcome(by_name, floats(1), y=floats(1)) == ([False, True], False)
    sized = tangrad.jit(lambda n, x: x[:n], static_argnums=0, donate_argnums=1)
    x = floats(3)
    with pytest.warns(UserWarning, match="not usable"):
        sized(2, x)
    assert not x.is_deleted()
    sized(3, x)
    assert x.is_deleted()


def test_compiled_ahead():
    with pytest.warns(UserWarning, match="not usable"):
        compiled = tangrad.jit(lambda x: x.sum(), donate_argnums=0).lower(floats(3)).compile()
    assert outcome(compiled, floats(3)) == ([False], False)
    assert outcome(tangrad.jit(lambda x: x + 1, donate_argnums=0).lower(floats(3)).compile(), floats(3))[0] == [True]


def test_nothing_is_deleted_without_programs():
    with tangrad.disable_jit():
        assert outcome(tangrad.jit(lambda x: x + 1, donate_argnums=0), floats(3)) == ([False], False)
    assert outcome(tangrad.vmap(tangrad.jit(lambda x: x.sum(), donate_argnums=0)), floats(2, 3))[0] == [False]
    assert outcome(tangrad.pmap(lambda x: x.sum(), donate_argnums=0), floats(1, 3)) == ([False], True)
