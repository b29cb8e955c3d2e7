"""The workloads that are compared with the best of the peers: JAX, NumPy with SciPy, and PyTorch.

A workload is written once against `api` (the module `tangrad` or `jax`) and, where the peer has it, by hand for NumPy
with SciPy and for PyTorch.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models, peers_by_hand
from .numerical import MANY, matrices
from .steady import grouped, normal

Function = Callable[..., Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A program and its arguments. `gradient`: by so many of the first arguments, of the sum of the squared results.

    `numpy`, `torch`: the same by hand, made by a function of the module; None where the peer has nothing of the kind.
    """

    make: Callable[[Any], Function]
    arguments: Callable[[], Arguments]
    numpy: Callable[[Any], Function] | None = None
    torch: Callable[[Any], Function] | None = None
    gradient: int = 0


def whole(*shape: int, below: int, seed: int = 1) -> numpy.ndarray:
    """Integers from 0 to `below` - 1."""
    return models.draws(seed).integers(0, below, shape).astype("int32")


def of_a_million(make: Callable[[Any], Function], **by_hand: Any) -> Workload:
    """A function of a million normal numbers."""
    return Workload(make, lambda: (normal(MANY),), **by_hand)


# --- the programs ----------------------------------------------------------------------------------------------------


def layer_norm(api: Any) -> Function:
    """As the transformer of the other rows has it."""
    return lambda x, scale, shift: models.layer_norm(api, x, scale, shift)


def attention(api: Any) -> Function:
    """Of queries, keys and values (batch, heads, time, width)."""

    def attend(query: Any, key: Any, value: Any) -> Any:
        logits = api.numpy.einsum("bhtd,bhsd->bhts", query, key) / numpy.sqrt(query.shape[-1]).item()
        return api.numpy.einsum("bhts,bhsd->bhtd", api.nn.softmax(logits, axis=-1), value)

    return attend


def convolution(api: Any) -> Function:
    """3 x 3, features last."""
    numbers = ("NHWC", "HWIO", "NHWC")
    return lambda x, kernel: api.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)


def chain(api: Any) -> Function:
    """Four functions after another."""
    np = api.numpy
    return lambda x: np.tanh(np.cos(np.exp(np.sin(x))))


def perceptron(api: Any) -> Function:
    """The gradient for each example by itself, of a perceptron of one hidden layer."""

    def loss(first: Any, second: Any, x: Any, y: Any) -> Any:
        return api.numpy.sum((api.numpy.tanh(x @ first) @ second - y) ** 2)

    return lambda *values: api.vmap(api.grad(loss, (0, 1)), (None, None, 0, 0))(*values)


def cholesky_solve(api: Any) -> Function:
    """A system with a positive definite matrix."""
    return lambda a, b: api.scipy.linalg.cho_solve((api.numpy.linalg.cholesky(a), True), b)


def runge_kutta(api: Any) -> Function:
    """A thousand steps of the classical method for a pendulum of 64 numbers."""
    np = api.numpy
    return lambda x: api.lax.fori_loop(0, 1000, lambda _, x: peers_by_hand.rk4_step(np, x), x)


def n_body(api: Any) -> Function:
    """Ten steps of bodies that attract one another."""
    return lambda x, v: api.lax.fori_loop(0, 10, lambda _, s: peers_by_hand.n_body_step(api.numpy, *s), (x, v))


def lstm(api: Any) -> Function:
    """The last state after a sequence of (time, batch, width)."""
    np = api.numpy

    def run(weights: Any, xs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = np.split(np.concatenate([x, h], axis=1) @ weights, 4, axis=1)
            c = api.nn.sigmoid(f) * c + api.nn.sigmoid(i) * np.tanh(g)
            return (api.nn.sigmoid(o) * np.tanh(c), c), None

        zeros = np.zeros(xs.shape[1:], xs.dtype)
        return api.lax.scan(step, (zeros, zeros), xs)[0][0]

    return run


def cross_entropy(api: Any) -> Function:
    """Of logits and the numbers of classes."""

    def loss(logits: Any, labels: Any) -> Any:
        return -api.numpy.mean(api.numpy.take_along_axis(api.nn.log_softmax(logits), labels[:, None], axis=1))

    return loss


def resize(api: Any) -> Function:
    """Images of (batch, height, width, channels) to twice the height and width."""
    return lambda x: api.image.resize(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2], x.shape[3]), "bilinear")


# --- the table -------------------------------------------------------------------------------------------------------

hand = peers_by_hand
IMAGE, KERNEL = (8, 56, 56, 64), (3, 3, 64, 64)
DEPTHWISE = grouped(*IMAGE, groups=64, window=3)

WORKLOADS: dict[str, Workload] = {
    "depthwise convolution 8x56x56x64": Workload(
        lambda api: DEPTHWISE(api)[0], lambda: (normal(*IMAGE), normal(3, 3, 1, 64, seed=1)), None, hand.torch_depthwise
    ),
    "convolution 8x56x56x64": Workload(
        convolution, lambda: (normal(*IMAGE), normal(*KERNEL, seed=1)), None, hand.torch_convolution
    ),
    "convolution gradient": Workload(
        convolution, lambda: (normal(*IMAGE), normal(*KERNEL, seed=1)), None, hand.torch_convolution, gradient=2
    ),
    "sort": of_a_million(
        lambda api: api.numpy.sort, numpy=lambda np: np.sort, torch=lambda torch: lambda x: torch.sort(x)[0]
    ),
    "argsort": of_a_million(
        lambda api: api.numpy.argsort, numpy=lambda np: np.argsort, torch=lambda torch: torch.argsort
    ),
    "top_k 10": of_a_million(
        lambda api: lambda x: api.lax.top_k(x, 10), numpy=hand.numpy_top, torch=lambda torch: lambda x: x.topk(10)
    ),
    "cumsum": of_a_million(
        lambda api: api.numpy.cumsum, numpy=lambda np: np.cumsum, torch=lambda torch: lambda x: x.cumsum(0)
    ),
    "cumsum along axis 0": Workload(
        lambda api: lambda x: api.numpy.cumsum(x, 0),
        lambda: (normal(1000, 1000),),
        lambda np: lambda x: np.cumsum(x, 0),
        lambda torch: lambda x: x.cumsum(0),
    ),
    "histogram": of_a_million(
        lambda api: lambda x: api.numpy.histogram(x, 100, (-4.0, 4.0))[0],
        numpy=lambda np: lambda x: np.histogram(x, 100, (-4.0, 4.0))[0],
        torch=lambda torch: lambda x: torch.histc(x, 100, -4.0, 4.0),
    ),
    "bincount": Workload(
        lambda api: lambda x: api.numpy.bincount(x, length=1000),
        lambda: (whole(MANY, below=1000),),
        lambda np: lambda x: np.bincount(x, minlength=1000),
        lambda torch: lambda x: torch.bincount(x, minlength=1000),
    ),
    "searchsorted": Workload(
        lambda api: api.numpy.searchsorted,
        lambda: (numpy.sort(normal(1000)), normal(100_000, seed=1)),
        lambda np: np.searchsorted,
        lambda torch: torch.searchsorted,
    ),
    "gather": Workload(
        lambda api: lambda x, at: x[at],
        lambda: (normal(MANY), whole(MANY, below=MANY)),
        lambda np: lambda x, at: x[at],
        lambda torch: lambda x, at: x[at],
    ),
    "var over axis 0": Workload(
        lambda api: lambda x: api.numpy.var(x, 0),
        lambda: (normal(2000, 1000),),
        lambda np: lambda x: np.var(x, 0),
        lambda torch: lambda x: torch.var(x, 0, correction=0),
    ),
    "var over axis 1": Workload(
        lambda api: lambda x: api.numpy.var(x, 1),
        lambda: (normal(2000, 1000),),
        lambda np: lambda x: np.var(x, 1),
        lambda torch: lambda x: torch.var(x, 1, correction=0),
    ),
    "transpose 3000 x 3000 and add": Workload(
        lambda api: lambda x: x + x.T,
        lambda: (normal(3000, 3000),),
        lambda np: lambda x: x + x.T,
        lambda torch: lambda x: x + x.T,
    ),
    "chain of sin, exp, cos, tanh": Workload(chain, lambda: (normal(4 * MANY),), hand.chain, hand.chain),
    "softmax 4096 x 512": Workload(
        lambda api: api.nn.softmax, lambda: (normal(4096, 512),), None, lambda torch: lambda x: torch.softmax(x, -1)
    ),
    "softmax gradient 4096 x 512": Workload(
        lambda api: api.nn.softmax,
        lambda: (normal(4096, 512),),
        None,
        lambda torch: lambda x: torch.softmax(x, -1),
        gradient=1,
    ),
    "layer norm gradient 4096 x 512": Workload(
        layer_norm,
        lambda: (normal(4096, 512), normal(512, seed=1), normal(512, seed=2)),
        None,
        hand.torch_layer_norm,
        gradient=3,
    ),
    "attention gradient 4x8x256x32": Workload(
        attention,
        lambda: tuple([normal(4, 8, 256, 32, seed=seed) for seed in range(3)]),
        None,
        lambda torch: torch.nn.functional.scaled_dot_product_attention,
        gradient=3,
    ),
    "cross-entropy gradient 256 x 1000": Workload(
        cross_entropy,
        lambda: (normal(256, 1000), whole(256, below=1000)),
        None,
        lambda torch: lambda x, at: torch.nn.functional.cross_entropy(x, at.long()),
        gradient=1,
    ),
    "embedding gradient": Workload(
        lambda api: lambda table, at: table[at],
        lambda: (normal(10_000, 64), whole(4096, below=10_000)),
        None,
        lambda torch: lambda table, at: table[at],
        gradient=1,
    ),
    "per-example gradients": Workload(
        perceptron,
        lambda: (normal(64, 64), normal(64, 10, seed=1), normal(128, 64, seed=2), normal(128, 10, seed=3)),
        None,
        hand.torch_perceptron,
    ),
    "LSTM gradient": Workload(
        lstm,
        lambda: (normal(256, 512) * numpy.float32(0.05), normal(64, 32, 128, seed=1)),
        None,
        hand.torch_lstm,
        gradient=1,
    ),
    "bilinear resize 8x128x128x3": Workload(resize, lambda: (normal(8, 128, 128, 3),), None, hand.torch_resize),
    "matmul 512": Workload(
        lambda api: api.numpy.matmul,
        lambda: (normal(512, 512), normal(512, 512, seed=1)),
        lambda np: np.matmul,
        lambda torch: torch.matmul,
    ),
    "LU of 200 x 32 x 32": Workload(
        lambda api: lambda x: api.scipy.linalg.lu_factor(x),
        lambda: (matrices(200, 32, 32),),
        hand.scipy_lu,
        lambda torch: torch.linalg.lu_factor,
    ),
    "cholesky and solve 512": Workload(
        cholesky_solve,
        lambda: (matrices(512, 512), normal(512, 16)),
        hand.scipy_cholesky,
        lambda torch: lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a)),
    ),
    "eigh 256": Workload(
        lambda api: api.numpy.linalg.eigh,
        lambda: (matrices(256, 256),),
        lambda np: np.linalg.eigh,
        lambda torch: torch.linalg.eigh,
    ),
    "svd 256": Workload(
        lambda api: api.numpy.linalg.svd,
        lambda: (normal(256, 256),),
        lambda np: np.linalg.svd,
        lambda torch: torch.linalg.svd,
    ),
    "fft 16 x 65536": Workload(
        lambda api: api.numpy.fft.fft,
        lambda: (normal(16, 65536) + 1j * normal(16, 65536, seed=1),),
        lambda np: hand.scipy_fft("fft"),
        lambda torch: torch.fft.fft,
    ),
    "rfft2 1024 x 1024": Workload(
        lambda api: api.numpy.fft.rfft2,
        lambda: (normal(1024, 1024),),
        lambda np: hand.scipy_fft("rfft2"),
        lambda torch: torch.fft.rfft2,
    ),
    "normal of 2,000,000": Workload(
        lambda api: lambda seed: api.random.normal(api.random.PRNGKey(seed), (2 * MANY,)),
        lambda: (numpy.int32(3),),
        hand.numpy_normal,
        lambda torch: lambda seed: torch.randn(2 * MANY),
    ),
    "RK4, 1,000 steps of 64": Workload(runge_kutta, lambda: (normal(64),), hand.runge_kutta),
    "n-body 512": Workload(n_body, lambda: (normal(512, 3), normal(512, 3, seed=1)), hand.n_body, hand.n_body),
}
WORKLOADS["depthwise convolution gradient"] = replace(WORKLOADS["depthwise convolution 8x56x56x64"], gradient=2)


# --- the cases -------------------------------------------------------------------------------------------------------


def _differentiated(api: Any, function: Function, count: int) -> Function:
    return api.grad(lambda *values: api.numpy.sum(function(*values) ** 2), tuple(range(count)))  # type: ignore[no-any-return]


def case(workload: Workload, side: Side) -> Case:
    """Calls of the compiled program, each waited for, or of what is written by hand."""
    arguments = workload.arguments()
    if side.module in ("numpy", "torch"):
        module = __import__(side.module)
        make = workload.numpy if side.module == "numpy" else workload.torch
        assert make is not None
        function = make(module)
        if side.module == "torch":
            arguments = tuple([module.as_tensor(argument) for argument in arguments])
            function = peers_by_hand.differentiated_in_torch(module, function, workload.gradient)
        return Case(lambda: function(*arguments))
    api = side.api()
    function = workload.make(api)
    if workload.gradient:
        function = _differentiated(api, function, workload.gradient)
    arguments = models.to_api(api, arguments)
    jitted, wait = api.jit(function), api.block_until_ready
    return Case(lambda: wait(jitted(*arguments)), hlo=lambda: jitted.lower(*arguments).compile().as_text())


PROGRAMS = {
    f"peers: {name}": lambda side, workload=workload: case(workload, side) for name, workload in WORKLOADS.items()
}
