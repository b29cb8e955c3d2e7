"""Loops on the NumPy backend overwrite what they carry where a part of it is replaced, and no other array."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad import numpy as tnp
from tangrad._backend_numpy.executable import array_function_into

X = np.arange(12.0, dtype="float32").reshape(6, 2)


def written(a, i, value):
    return lax.dynamic_update_slice(a, tnp.broadcast_to(tnp.asarray(value, a.dtype), (1, 2)), (i, 0))


def alone(a, i):
    return written(a, i, i), None


def read_before_and_after(a, i):
    before = a[i]
    after = written(a, i, a[5] + before)
    return after, (before, after[i])


def stacked(a, i):
    after = written(a, i, i)
    return after, after


def swapped(carry, i):
    a, b = carry
    return (written(b, i, 1), written(a, i, 2)), None


def kept_beside(carry, i):
    a, b, c = carry
    return (written(a, i, c.sum()), a, b), b[i]


def shared(carry, i):
    a, b = carry
    after = written(a, i, b[0])
    return (after, after), None


def viewed(carry, i):
    a, part = carry
    after = written(a, i, part[0] + 1)
    return (after, after[:2]), part


def twice(a, i):
    return written(written(a, i, 7), 5 - i, a[i]), None


def in_turn(a, i):
    return written(written(a, i, 7), 5 - i, i), None


def closed_over(a, i):
    return written(a, i, tnp.asarray(X)[i] + 1), None


# Name -> a body, and how many arrays it carries.
BODIES = {
    "alone": (alone, None),
    "read before and after": (read_before_and_after, None),
    "stacked": (stacked, None),
    "swapped": (swapped, 2),
    "kept beside": (kept_beside, 3),
    "shared": (shared, 2),
    "viewed": (viewed, "part"),
    "twice": (twice, None),
    "in turn": (in_turn, None),
    "closed over": (closed_over, None),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("same", [False, True])
def test_what_a_loop_carries_is_overwritten_for_it_alone(name, same):
    """Against a loop in Python; the first value stays as it is, also where one array is all that is carried."""
    body, count = BODIES[name]
    with tangrad.use_backend("numpy"):
        arrays = [tnp.asarray(X), *[tnp.asarray(X if same else X + 10 * k) for k in (1, 2)]]
        if same:
            arrays = [arrays[0]] * 3
        init = arrays[0] if count is None else (arrays[0], arrays[1][:2]) if count == "part" else tuple(arrays[:count])
        before = tangrad.tree.map(np.array, init)
        steps = tnp.array([0, 3, 3, 1, 5], "int32")
        carry, rows = init, []
        for i in steps:
            carry, row = body(carry, i)
            rows.append(row)
        for run in (lax.scan, tangrad.jit(lambda body, *args: lax.scan(body, *args), static_argnums=0)):
            last, ys = run(body, init, steps)
            for one, other in zip(tangrad.tree.leaves(last), tangrad.tree.leaves(carry), strict=True):
                np.testing.assert_array_equal(one, other)
            for one, *others in zip(tangrad.tree.leaves(ys), *[tangrad.tree.leaves(row) for row in rows]):
                np.testing.assert_array_equal(one, np.stack(others))
            for one, other in zip(tangrad.tree.leaves(init), tangrad.tree.leaves(before), strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("body", "overwritten"),
    [(alone, (0,)), (in_turn, (0,)), (twice, ()), (read_before_and_after, ()), (stacked, ()), (shared, ())],
)
def test_which_carries_are_overwritten(body, overwritten):
    """Those that are not read any more, and of which no other result shows a part."""
    with tangrad.use_backend("numpy"):
        init = (X, X) if body is shared else X
        closed = tangrad.make_jaxpr(lambda *args: body(args if len(args) > 1 else args[0], 2))(
            *tangrad.tree.leaves(init)
        )
        count = len(tangrad.tree.leaves(init))
        *_, found = array_function_into(closed, range(count, len(closed.out_avals)), [(k, k) for k in range(count)])
    assert found == overwritten
