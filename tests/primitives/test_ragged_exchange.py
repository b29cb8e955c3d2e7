"""`lax.ragged_all_to_all`, against the same exchange in Python."""

from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax

RNG = onp.random.default_rng(0)
ROWS, LENGTH = 7, 12


def plan(examples: int, slices: int) -> Any:
    """Offsets and sizes of slices, none of which overlap where they arrive."""
    count = examples * slices
    sizes = RNG.integers(0, 3, (examples, count)).astype(onp.int32)
    begins = RNG.integers(0, ROWS - 2, (examples, count)).astype(onp.int32)
    received = sizes.reshape(examples, examples, slices).swapaxes(0, 1).reshape(examples, count)
    arrives = onp.cumsum(received, 1, dtype=onp.int32) - received
    starts = arrives.reshape(examples, examples, slices).swapaxes(0, 1).reshape(examples, count)
    return begins, sizes, onp.ascontiguousarray(starts), onp.ascontiguousarray(received)


def by_hand(rows: Any, output: Any, begins: Any, sizes: Any, starts: Any, _: Any) -> Any:
    found, slices = output.copy(), begins.shape[1] // len(rows)
    for sender, each in enumerate(zip(begins, sizes, starts, strict=True)):
        for number, (begin, size, start) in enumerate(zip(*each, strict=True)):
            found[number // slices, start : start + size] = rows[sender, begin : begin + size]
    return found


def exchanged(*arguments: Any, **options: Any) -> Any:
    return lax.ragged_all_to_all(*arguments, axis_name="i", **options)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(("examples", "slices"), [(1, 1), (2, 1), (3, 2)])
def test_values_and_gradients(examples: int, slices: int, backend: str) -> None:
    rows = RNG.normal(size=(examples, ROWS, 2)).astype(onp.float32)
    output = RNG.normal(size=(examples, examples * slices * 3, 2)).astype(onp.float32)
    rest = plan(examples, slices)
    mapped = tangrad.jit(tangrad.vmap(exchanged, axis_name="i"), backend=backend)
    onp.testing.assert_array_equal(mapped(rows, output, *rest), by_hand(rows, output, *rest))
    weights = RNG.normal(size=output.shape).astype(onp.float32)
    loss = lambda r, o: (tangrad.vmap(exchanged, axis_name="i")(r, o, *rest) * weights).sum()
    slopes = tangrad.jit(tangrad.grad(loss, (0, 1)), backend=backend)(rows, output)
    kept = by_hand(onp.zeros_like(rows), onp.ones_like(output), *rest)
    onp.testing.assert_allclose(slopes[1], weights * kept, rtol=1e-6)
    direction = RNG.normal(size=rows.shape).astype(onp.float32)
    along = (by_hand(direction, onp.zeros_like(output), *rest) * weights).sum()
    onp.testing.assert_allclose((onp.asarray(slopes[0]) * direction).sum(), along, rtol=1e-4, atol=1e-5)


def test_groups_and_devices() -> None:
    rows = RNG.normal(size=(4, ROWS)).astype(onp.float32)
    output = onp.zeros((4, LENGTH), onp.float32)
    first, second = plan(2, 2), plan(2, 2)
    rest = [onp.concatenate(pair) for pair in zip(first, second, strict=True)]
    found = tangrad.vmap(lambda *a: exchanged(*a, axis_index_groups=[[0, 1], [2, 3]]), axis_name="i")(
        rows, output, *rest
    )
    onp.testing.assert_array_equal(found[:2], by_hand(rows[:2], output[:2], *first))
    onp.testing.assert_array_equal(found[2:], by_hand(rows[2:], output[2:], *second))
    mesh, split = tangrad.make_mesh((1,), ("i",)), tangrad.P("i")
    one = plan(1, 2)
    alone = tangrad.shard_map(
        lambda *a: exchanged(*[x[0] for x in a])[None], mesh=mesh, in_specs=(split,) * 6, out_specs=split
    )
    onp.testing.assert_array_equal(alone(rows[:1], output[:1], *one), by_hand(rows[:1], output[:1], *one))


GOOD = (np.zeros((2, 3)), np.zeros((2, 4)), *[np.zeros((2, 2), int)] * 4)


@pytest.mark.parametrize(
    ("position", "value", "error", "message"),
    [
        (0, np.zeros((2, 3, 2)), ValueError, "the same dimensions but for the first"),
        (1, np.zeros((2, 4), int), TypeError, "output must have the dtype of operand, float32, got int32"),
        (2, np.zeros((2, 2)), TypeError, "input_offsets must be integers"),
        (3, np.zeros((2, 3), int), ValueError, "send_sizes must have one dimension, of a multiple of the 2 examples"),
        (4, np.zeros((2, 4), int), ValueError, "one number of slices"),
        (5, np.zeros((2,), int), ValueError, "recv_sizes must have one dimension"),
    ],
)
def test_refused(position: int, value: Any, error: type[Exception], message: str) -> None:
    arguments = list(GOOD)
    arguments[position] = value
    with pytest.raises(error, match=message):
        tangrad.vmap(exchanged, axis_name="i")(*arguments)
    with pytest.raises(NameError, match="'i'"):
        exchanged(*[one[0] for one in GOOD])
