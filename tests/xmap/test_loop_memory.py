"""The memory that a serial loop needs: of a chunk, and so 1/n of that of all examples at once."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import xmap
from tangrad.experimental.maps import SerialLoop

EXAMPLES, WIDTH = 64, 64
CHUNKS = (2, 4, 8)


def layer(x: Any, w: Any) -> Any:
    """Of an example of 64 numbers: what is in between has 64 times as many."""
    h = np.tanh(x @ w)
    outer = np.outer(h, h)
    return np.sum(np.sin(outer) @ outer)


def forward(chunks: int) -> Callable[..., Any]:
    spread = {"b": SerialLoop(chunks)} if chunks > 1 else {}
    return tangrad.jit(xmap(layer, in_axes=({0: "b"}, {}), out_axes={0: "b"}, axis_resources=spread))


def gradient(chunks: int) -> Callable[..., Any]:
    spread = {"b": SerialLoop(chunks)} if chunks > 1 else {}
    mapped = xmap(tangrad.checkpoint(layer), in_axes=({0: "b"}, {}), out_axes={0: "b"}, axis_resources=spread)
    return tangrad.jit(tangrad.grad(lambda x, w: np.sum(mapped(x, w)), (0, 1)))


def measured(function: Any, *args: Any) -> int:
    """Bytes that a call allocates at its peak."""
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def analysed(function: Any, *args: Any) -> int:
    """Bytes of temporary values, as XLA's compiler plans them."""
    return int(function.lower(*args).compile().memory_analysis().temp_size_in_bytes)


@pytest.mark.parametrize(
    ("make", "most"),
    [(forward, 1.1), (gradient, 1.25)],  # times 1/n; a gradient also keeps the sum of gradients, whatever the loop
)
@pytest.mark.parametrize(("backend", "memory"), [("numpy", measured), ("xla", analysed)])
def test_memory_goes_down_with_the_number_of_chunks(backend: str, memory: Any, make: Any, most: float) -> None:
    with tangrad.use_backend(backend):
        args = np.ones((EXAMPLES, WIDTH)), np.ones((WIDTH, WIDTH)) / WIDTH
        at_once = memory(make(1), *args)
        shares = {chunks: memory(make(chunks), *args) / at_once for chunks in CHUNKS}
    for chunks, share in shares.items():
        assert 0.7 / chunks < share < most / chunks, shares
