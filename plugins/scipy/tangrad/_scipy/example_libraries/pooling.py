"""Layers that reduce windows to one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import lax
from tangrad._scipy.example_libraries.activations import Layer
from tangrad.core import api_boundary


class _Windows:
    """Where the windows of a layer are."""

    def __init__(self, window_shape: Sequence[int], strides: Any, padding: Any, spec: str | None) -> None:
        steps = tuple(strides or (1,) * len(window_shape))
        # The batch is the first dimension and the channels the last, unless letters say otherwise.
        places = (0, len(window_shape) + 1) if spec is None else (spec.index("N"), spec.index("C"))
        self.sizes, self.strides = list(window_shape), list(steps)
        for place in sorted(places):
            self.sizes.insert(place, 1)
            self.strides.insert(place, 1)
        if isinstance(padding, str):
            self._padding: Any = padding
        else:
            self._padding = list(padding)
            for place in sorted(places):
                self._padding.insert(place, (0, 0))

    def padding(self, shape: Sequence[int]) -> Any:
        """The padding of each dimension of an array."""
        if isinstance(self._padding, str):
            return lax.padtype_to_pads(shape, self.sizes, self.strides, self._padding)
        return self._padding

    def output_shape(self, input_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of what the layer makes of inputs, in which a size of -1 is handed on."""
        known = [max(size, 1) for size in input_shape]
        sizes = zip(input_shape, known, self.sizes, self.strides, self.padding(known), strict=True)
        return tuple(
            [
                given if given < 0 else (size + before + after - window) // stride + 1
                for given, size, window, stride, (before, after) in sizes
            ]
        )

    def reduce(self, inputs: Any, initial: Any, operation: Any) -> Any:
        """Each window reduced."""
        return lax.reduce_window(inputs, initial, operation, self.sizes, self.strides, self.padding(tnp.shape(inputs)))


def _pooling(name: str, operation: Callable[..., Any], initial: float, mean: bool, doc: str) -> Callable[..., Layer]:
    def make(
        window_shape: Sequence[int], strides: Any = None, padding: Any = "VALID", spec: str | None = None
    ) -> Layer:
        windows = _Windows(window_shape, strides, padding, spec)

        def init_fun(rng: Any, input_shape: Any) -> Any:
            return windows.output_shape(input_shape), ()

        def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
            out = windows.reduce(inputs, initial, operation)
            if not mean:
                return out
            return out / windows.reduce(tnp.ones_like(inputs), 0.0, lax.add)  # padding does not count

        return init_fun, apply_fun

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A layer of the {doc} of each window.

    Args:
        window_shape: the size of the window in each spatial dimension.
        strides: how far it moves in each of them; None: 1.
        padding: "VALID", "SAME", or a pair for each spatial dimension.
        spec: the dimensions of the inputs by letters, such as "NHWC"; None: the batch is first, the channels are last.

    Returns:
        The pair `(init_fun, apply_fun)`; there are no parameters.

    >>> from tangrad.example_libraries import stax
    >>> stax.{name}((2, 2), strides=(2, 2))[0](None, (8, 28, 28, 3))[0]
    (8, 14, 14, 3)
    """
    return api_boundary(make)


MaxPool = _pooling("MaxPool", lax.max, -np.inf, False, "greatest element")
SumPool = _pooling("SumPool", lax.add, 0.0, False, "sum")
AvgPool = _pooling("AvgPool", lax.add, 0.0, True, "mean")
