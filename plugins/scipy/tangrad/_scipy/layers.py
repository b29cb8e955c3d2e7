"""Layers: pairs `(init_fun, apply_fun)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import lax, nn, random
from tangrad.core import Array, api_boundary
from tangrad.core.arguments import product
from tangrad.nn.initializers import glorot_normal, normal, ones, zeros

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Params

# --- Layers without parameters that apply a function to each element, or along the last axis --------------------------


Layer = tuple[Callable[..., Any], Callable[..., Any]]


@api_boundary
def elementwise(fun: Callable[..., object], **fun_kwargs: object) -> Layer:
    """A layer that applies a function, which keeps the shape.

    Args:
        fun: a function of an array.
        fun_kwargs: its further arguments.

    Returns:
        The pair `(init_fun, apply_fun)`: `init_fun(rng, input_shape) -> (output_shape, ())` and
        `apply_fun((), inputs, **kwargs) -> outputs`.

    >>> import tangrad.numpy as np
    >>> from tangrad.example_libraries import stax
    >>> init_fun, apply_fun = stax.elementwise(np.clip, max=1.0)
    >>> init_fun(None, (2,)), apply_fun((), np.array([0.5, 2.0]))
    (((2,), ()), Array([0.5, 1. ], dtype=float32))
    """

    def init_fun(rng: object, input_shape: object) -> tuple[object, tuple[()]]:
        return input_shape, ()

    def apply_fun(params: object, inputs: object, **kwargs: object) -> object:
        return fun(inputs, **fun_kwargs)

    return init_fun, apply_fun


Tanh = elementwise(tnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(tnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)  # type: ignore[has-type]  # a cycle, as mypy sees it
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)


# --- Layers that reduce windows to one value --------------------------------------------------------------------------


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

    def padding(self, shape: Sequence[int]) -> Sequence[tuple[int, int]]:
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

    def reduce(self, inputs: ArrayLike, initial: float, operation: Any) -> Array:
        """Each window reduced."""
        return lax.reduce_window(inputs, initial, operation, self.sizes, self.strides, self.padding(tnp.shape(inputs)))


def _pooling(name: str, operation: Callable[..., object], initial: float, mean: bool, doc: str) -> Callable[..., Layer]:
    def make(
        window_shape: Sequence[int], strides: object = None, padding: object = "VALID", spec: str | None = None
    ) -> Layer:
        windows = _Windows(window_shape, strides, padding, spec)

        def init_fun(rng: object, input_shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[()]]:
            return windows.output_shape(input_shape), ()

        def apply_fun(params: object, inputs: ArrayLike, **kwargs: object) -> Array:
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


# --- Layers: pairs `(init_fun, apply_fun)` ----------------------------------------------------------------------------
# `init_fun(rng, input_shape) -> (output_shape, params)` makes parameters for inputs of a shape, in which -1 may stand
# for the size of the batch; `apply_fun(params, inputs, **kwargs) -> outputs` computes. Layers that need random numbers
# take a key as the keyword argument `rng`.


Initializer = Callable[..., Array]

WEIGHTS: Initializer = glorot_normal()
BIAS: Initializer = normal()
SMALL_BIAS: Initializer = normal(1e-6)


@api_boundary
def Dense(out_dim: int, W_init: Initializer = WEIGHTS, b_init: Initializer = BIAS) -> Layer:
    """A linear map of the last axis, and a bias.

    Args:
        out_dim: the size of the last axis of the outputs.
        W_init, b_init: make the weights (inputs, out_dim) and the bias (out_dim,), as `tangrad.nn.initializers` do.

    Returns:
        The pair `(init_fun, apply_fun)`; the parameters are `(W, b)`.

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> init_fun, apply_fun = stax.Dense(3)
    >>> shape, params = init_fun(tangrad.random.key(0), (-1, 2))
    >>> shape, apply_fun(params, tangrad.numpy.ones((5, 2))).shape
    ((-1, 3), (5, 3))
    """

    def init_fun(rng: Array, input_shape: tuple[int, ...]) -> object:
        for_weights, for_bias = random.split(rng)
        return (*input_shape[:-1], out_dim), (
            W_init(for_weights, (input_shape[-1], out_dim)),
            b_init(for_bias, (out_dim,)),
        )

    def apply_fun(params: tuple[Array, Array], inputs: ArrayLike, **kwargs: object) -> object:
        W, b = params
        return tnp.dot(inputs, W) + b

    return init_fun, apply_fun


@api_boundary
def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: object = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = SMALL_BIAS,
) -> Layer:
    """A convolution, and a bias for each channel.

    Args:
        dimension_numbers: the dimensions of inputs, weights and outputs by letters, such as `("NHWC", "HWIO", "NHWC")`.
        out_chan: the number of channels of the outputs.
        filter_shape: the size of the window in each spatial dimension.
        strides: how far it moves in each of them; None: 1.
        padding: "VALID", "SAME", or a pair for each spatial dimension.
        W_init, b_init: make the weights and the bias.

    Returns:
        The pair `(init_fun, apply_fun)`; the parameters are `(W, b)`.

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> init_fun, _ = stax.GeneralConv(("NHWC", "HWIO", "NHWC"), 8, (3, 3), padding="SAME")
    >>> shape, (W, b) = init_fun(tangrad.random.key(0), (4, 28, 28, 1))
    >>> shape, W.shape, b.shape
    ((4, 28, 28, 8), (3, 3, 1, 8), (1, 1, 1, 8))
    """
    return _convolution(
        lax.conv_general_shape_tuple,
        _convolve,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


@api_boundary
def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: object = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = SMALL_BIAS,
) -> Layer:
    """The transpose of a convolution, which makes images larger, and a bias for each channel.

    Args and returns as those of `GeneralConv`.

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> init_fun, _ = stax.GeneralConvTranspose(("NHWC", "HWIO", "NHWC"), 8, (2, 2), strides=(2, 2))
    >>> init_fun(tangrad.random.key(0), (4, 14, 14, 1))[0]
    (4, 28, 28, 8)
    """
    return _convolution(
        lax.conv_transpose_shape_tuple,
        _convolve_back,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def _convolve(
    inputs: ArrayLike, W: ArrayLike, strides: Sequence[int], padding: str | Sequence[tuple[int, int]], numbers: object
) -> Array:
    one = (1,) * len(strides)
    return lax.conv_general_dilated(inputs, W, strides, padding, one, one, dimension_numbers=numbers)


def _convolve_back(
    inputs: ArrayLike, W: ArrayLike, strides: Sequence[int], padding: str | Sequence[tuple[int, int]], numbers: object
) -> Array:
    return lax.conv_transpose(inputs, W, strides, padding, dimension_numbers=numbers)


def _convolution(
    shape_of: Callable[..., tuple[int, ...]],
    compute: Callable[..., Any],
    numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: object,
    W_init: Initializer | None,
    b_init: Initializer,
) -> Layer:
    lhs_spec, rhs_spec, out_spec = numbers
    steps = tuple(strides or (1,) * len(filter_shape))
    make_weights = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: Array, input_shape: tuple[int, ...]) -> object:
        sizes = iter(filter_shape)
        named = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = [named[letter] if letter in named else next(sizes) for letter in rhs_spec]
        output_shape = shape_of(input_shape, kernel_shape, steps, padding, numbers)
        bias_shape = [out_chan if letter == "C" else 1 for letter in out_spec]
        for_weights, for_bias = random.split(rng)
        return tuple(output_shape), (make_weights(for_weights, kernel_shape), b_init(for_bias, bias_shape))

    def apply_fun(params: Params, inputs: ArrayLike, **kwargs: object) -> object:
        W, b = params
        return compute(inputs, W, steps, padding, numbers) + b

    return init_fun, apply_fun


Conv = partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


@api_boundary
def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Normalisation by the mean and variance of the batch at hand, and a learned shift and scale.

    Args:
        axis: the axes over which mean and variance are taken.
        epsilon: is added to the variance.
        center, scale: whether a shift, and a scale, is learned.
        beta_init, gamma_init: make them.

    Returns:
        The pair `(init_fun, apply_fun)`; the parameters are `(beta, gamma)`, each `()` where it is not learned.

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> init_fun, apply_fun = stax.BatchNorm(axis=0)
    >>> _, params = init_fun(tangrad.random.key(0), (2, 1))
    >>> apply_fun(params, tangrad.numpy.array([[1.0], [3.0]])).round(2)
    Array([[-1.],
           [ 1.]], dtype=float32)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Array, input_shape: tuple[int, ...]) -> object:
        shape = tuple([size for position, size in enumerate(input_shape) if position not in axes])
        for_beta, for_gamma = random.split(rng)
        return input_shape, (
            beta_init(for_beta, shape) if center else (),
            gamma_init(for_gamma, shape) if scale else (),
        )

    def apply_fun(params: tuple[Array, ...], x: ArrayLike, **kwargs: object) -> object:
        beta, gamma = params
        place = tuple([None if position in axes else slice(None) for position in range(tnp.ndim(x))])
        out = nn.standardize(x, axes, epsilon=epsilon)
        if scale:
            out = gamma[place] * out
        return out + beta[place] if center else out

    return init_fun, apply_fun


@api_boundary
def Dropout(rate: float, mode: str = "train") -> Layer:
    """A layer that keeps each element with probability `rate`, divided by that, and puts 0 in the place of the others.

    Args:
        rate: the probability that an element is kept.
        mode: "train"; with anything else the inputs are handed on.

    Returns:
        The pair `(init_fun, apply_fun)`; `apply_fun` needs the keyword argument `rng`, a random key, in mode "train".

    >>> import tangrad
    >>> from tangrad.example_libraries import stax
    >>> _, apply_fun = stax.Dropout(0.5)
    >>> set(apply_fun((), tangrad.numpy.ones(100), rng=tangrad.random.key(0)).tolist()) == {0.0, 2.0}
    True
    """

    def init_fun(rng: object, input_shape: object) -> tuple[object, tuple[()]]:
        return input_shape, ()

    def apply_fun(params: Params, inputs: Array, **kwargs: Any) -> Array:
        if mode != "train":
            return inputs
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout: apply_fun needs a random key in mode 'train': apply_fun(params, inputs, rng=key)"
            )
        keep = random.bernoulli(rng, rate, tnp.shape(inputs))
        return tnp.where(keep, inputs / rate, 0)

    return init_fun, apply_fun


def _flatten_shape(rng: object, input_shape: tuple[int, ...]) -> object:
    return (input_shape[0], product(tuple(input_shape[1:]))), ()


def _flatten(params: object, inputs: ArrayLike, **kwargs: object) -> Array:
    return tnp.reshape(inputs, (tnp.shape(inputs)[0], -1))


def _same_shape(rng: object, input_shape: object) -> tuple[object, tuple[()]]:
    return input_shape, ()


def _same(params: object, inputs: object, **kwargs: object) -> object:
    return inputs


Flatten: Layer = (_flatten_shape, _flatten)
Identity: Layer = (_same_shape, _same)
