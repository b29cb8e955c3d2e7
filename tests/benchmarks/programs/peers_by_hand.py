"""The workloads of `peers.py` by hand: what a user of NumPy with SciPy, or of PyTorch, would write."""

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]

# --- for every module with NumPy's names -----------------------------------------------------------------------------


def rk4_step(np: Any, x: Any) -> Any:
    """A step of the classical Runge-Kutta method for x' = sin(x) - x / 10."""

    def slope(x: Any) -> Any:
        return np.sin(x) - 0.1 * x

    first = slope(x)
    second = slope(x + 0.005 * first)
    third = slope(x + 0.005 * second)
    return x + 0.01 / 6 * (first + 2 * second + 2 * third + slope(x + 0.01 * third))


def n_body_step(np: Any, x: Any, v: Any) -> Any:
    """Positions and velocities of (bodies, 3) after a short time."""
    apart = x[None] - x[:, None]
    near = (apart**2).sum(-1) + 0.01
    v = v + 0.001 * (apart * (near**-1.5)[..., None]).sum(1)
    return x + 0.001 * v, v


def runge_kutta(np: Any) -> Function:
    """A thousand steps."""

    def run(x: Any) -> Any:
        for _ in range(1000):
            x = rk4_step(np, x)
        return x

    return run


def n_body(np: Any) -> Function:
    """Ten steps."""

    def run(x: Any, v: Any) -> Any:
        for _ in range(10):
            x, v = n_body_step(np, x, v)
        return x, v

    return run


def chain(np: Any) -> Function:
    """Four functions after another."""
    return lambda x: np.tanh(np.cos(np.exp(np.sin(x))))


# --- NumPy and SciPy -------------------------------------------------------------------------------------------------


def numpy_top(np: Any) -> Function:
    """The ten greatest, in order."""
    return lambda x: np.sort(np.partition(x, len(x) - 10)[-10:])[::-1]


def numpy_normal(np: Any) -> Function:
    """The generator's own float32."""
    generator = np.random.default_rng(0)
    return lambda seed: generator.standard_normal(2_000_000, "float32")


def scipy_fft(name: str) -> Function:
    """A transform on as many threads as there are processors."""
    import scipy.fft

    function = getattr(scipy.fft, name)
    return lambda x: function(x, workers=-1)


def scipy_lu(np: Any) -> Function:
    """Of a batch."""
    import scipy.linalg

    return lambda x: [scipy.linalg.lu_factor(one, check_finite=False) for one in x]


def scipy_cholesky(np: Any) -> Function:
    """Factor and solve."""
    import scipy.linalg

    return lambda a, b: scipy.linalg.cho_solve(
        scipy.linalg.cho_factor(a, lower=True, check_finite=False), b, check_finite=False
    )


# --- PyTorch ---------------------------------------------------------------------------------------------------------


def differentiated_in_torch(torch: Any, function: Function, count: int) -> Function:
    """The function, or its gradient by the first `count` arguments of the sum of its squares."""
    if not count:
        return function

    def gradient(*values: Any) -> Any:
        wanted = [value.detach().requires_grad_() for value in values[:count]]
        return torch.autograd.grad((function(*wanted, *values[count:]) ** 2).sum(), wanted)

    return gradient


def torch_depthwise(torch: Any) -> Function:
    """Arrays and kernels whose features come last, seen as PyTorch has them."""
    return _torch_convolution(torch, 64)


def torch_convolution(torch: Any) -> Function:
    """The same without groups."""
    return _torch_convolution(torch, 1)


def _torch_convolution(torch: Any, groups: int) -> Function:
    def convolve(x: Any, kernel: Any) -> Any:
        x, kernel = x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1)
        return torch.nn.functional.conv2d(x, kernel, padding=1, groups=groups)

    return convolve


def torch_layer_norm(torch: Any) -> Function:
    """The library's own."""
    return lambda x, scale, shift: torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift)


def torch_resize(torch: Any) -> Function:
    """To twice the size."""
    return lambda x: torch.nn.functional.interpolate(
        x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear", align_corners=False
    )


def torch_perceptron(torch: Any) -> Function:
    """By `torch.func`."""

    def loss(first: Any, second: Any, x: Any, y: Any) -> Any:
        return ((torch.tanh(x @ first) @ second - y) ** 2).sum()

    return torch.vmap(torch.func.grad(loss, (0, 1)), (None, None, 0, 0))  # type: ignore[no-any-return]


def torch_lstm(torch: Any) -> Function:
    """Step by step: the library's own layer keeps its weights in another form."""

    def run(weights: Any, xs: Any) -> Any:
        h = c = torch.zeros_like(xs[0])
        for x in xs:
            i, f, g, o = torch.split(torch.cat([x, h], 1) @ weights, h.shape[1], 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h

    return run
