"""Compiled convolutions that XLA for CPUs has no fast way of: in groups, and with their features in front in loops."""

from collections.abc import Callable
from typing import Any

from ..measure import Case
from ..sides import Side
from . import models
from .steady import normal


def grouped(*image: int, groups: int, window: int) -> Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]:
    """A convolution of as many features as it has, in groups, of images (batch, height, width, features)."""

    def make(api: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        def convolve(x: Any, kernel: Any) -> Any:
            return api.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups
            )

        return convolve, (normal(*image), normal(window, window, image[-1] // groups, image[-1], seed=1))

    return make


def layers(api: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The sum of what four equal convolutions, in a loop, make of images (batch, features, height, width)."""

    def deep(x: Any, kernels: Any) -> Any:
        def layer(x: Any, kernel: Any) -> Any:
            return api.numpy.tanh(api.lax.conv_general_dilated(x, kernel, (1, 1), "SAME")), None

        return api.lax.scan(layer, x, kernels)[0]

    return deep, (normal(4, 32, 28, 28), normal(4, 32, 32, 3, 3, seed=1) * 0.1)


MAKERS = {
    "depthwise 8x56x56x64, 3x3": grouped(8, 56, 56, 64, groups=64, window=3),
    "depthwise 8x14x14x256, 7x7": grouped(8, 14, 14, 256, groups=256, window=7),
    "16 groups of 8x28x28x128, 3x3": grouped(8, 28, 28, 128, groups=16, window=3),
    "4 layers of 4x32x28x28 in a scan": layers,
}


def case(maker: Callable[[Any], Any], side: Side, differentiated: bool) -> Case:
    """Calls of the compiled program, or of its gradient by both arguments, each waited for."""
    api = side.api()
    function, arguments = maker(api)
    program = api.grad(lambda x, kernel: (function(x, kernel) ** 2).sum(), (0, 1)) if differentiated else function
    arguments = models.to_api(api, arguments)
    jitted, wait = api.jit(program), api.block_until_ready
    return Case(lambda: wait(jitted(*arguments)))


PROGRAMS = {
    f"convolution: {name}{suffix}": lambda side, maker=maker, gradient=bool(suffix): case(maker, side, gradient)
    for name, maker in MAKERS.items()
    for suffix in ("", ", gradient")
}
