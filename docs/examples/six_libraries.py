"""Learn by gradient descent, then take the gradient for each example: in six libraries, `six_libraries.py LIBRARY`.

The data are made without random numbers, so that all of them learn the same.
"""

import sys

import numpy as np

INPUTS = np.sin(np.arange(64 * 8, dtype=np.float32).reshape(64, 8) ** 2)
TARGETS = np.tanh(INPUTS @ np.linspace(-1, 1, 8, dtype=np.float32))
STEPS, RATE = 100, 0.5


def report(value, norm):
    """Print the last loss, and the largest norm of the gradient for one example."""
    print(f"loss {value:.5f}, largest gradient of one example {norm:.5f}")


def with_tangrad():
    """With Tangrad."""
    import tangrad
    import tangrad.numpy as tnp

    def loss(weights, inputs, targets):
        return tnp.mean((tnp.tanh(inputs @ weights) - targets) ** 2)

    step = tangrad.jit(tangrad.value_and_grad(loss))
    inputs, targets = tnp.asarray(INPUTS), tnp.asarray(TARGETS)
    weights = tnp.zeros(8)
    for _ in range(STEPS):
        value, gradient = step(weights, inputs, targets)
        weights = weights - RATE * gradient
    each = tangrad.jit(tangrad.vmap(tangrad.grad(loss), in_axes=(None, 0, 0)))(weights, inputs, targets)
    report(float(value), float(tnp.sqrt(tnp.sum(each**2, axis=1)).max()))


def with_jax():
    """With JAX."""
    import jax
    import jax.numpy as jnp

    def loss(weights, inputs, targets):
        return jnp.mean((jnp.tanh(inputs @ weights) - targets) ** 2)

    step = jax.jit(jax.value_and_grad(loss))
    inputs, targets = jnp.asarray(INPUTS), jnp.asarray(TARGETS)
    weights = jnp.zeros(8)
    for _ in range(STEPS):
        value, gradient = step(weights, inputs, targets)
        weights = weights - RATE * gradient
    each = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))(weights, inputs, targets)
    report(float(value), float(jnp.sqrt(jnp.sum(each**2, axis=1)).max()))


def with_torch():
    """With PyTorch."""
    import torch
    from torch.func import grad, grad_and_value, vmap

    def loss(weights, inputs, targets):
        return torch.mean((torch.tanh(inputs @ weights) - targets) ** 2)

    step = grad_and_value(loss)  # torch.compile(step) compiles it, where there is a C++ compiler
    inputs, targets = torch.from_numpy(INPUTS), torch.from_numpy(TARGETS)
    weights = torch.zeros(8)
    for _ in range(STEPS):
        gradient, value = step(weights, inputs, targets)
        weights = weights - RATE * gradient
    each = vmap(grad(loss), in_dims=(None, 0, 0))(weights, inputs, targets)
    report(float(value), float(torch.sqrt(torch.sum(each**2, dim=1)).max()))


def with_autograd():
    """With autograd."""
    import autograd.numpy as anp
    from autograd import grad, value_and_grad

    def loss(weights, inputs, targets):
        return anp.mean((anp.tanh(anp.dot(inputs, weights)) - targets) ** 2)

    step = value_and_grad(loss)
    weights = anp.zeros(8)
    for _ in range(STEPS):
        value, gradient = step(weights, INPUTS, TARGETS)
        weights = weights - RATE * gradient
    each = anp.stack([grad(loss)(weights, row, target) for row, target in zip(INPUTS, TARGETS)])  # nothing maps
    report(float(value), float(anp.sqrt(anp.sum(each**2, axis=1)).max()))


def with_mlx():
    """With MLX."""
    import mlx.core as mx

    def loss(weights, inputs, targets):
        return mx.mean((mx.tanh(inputs @ weights) - targets) ** 2)

    step = mx.compile(mx.value_and_grad(loss))
    inputs, targets = mx.array(INPUTS), mx.array(TARGETS)
    weights = mx.zeros(8)
    for _ in range(STEPS):
        value, gradient = step(weights, inputs, targets)
        weights = weights - RATE * gradient
        mx.eval(weights)  # nothing is computed before it is asked for
    each = mx.vmap(mx.grad(loss), in_axes=(None, 0, 0))(weights, inputs, targets)
    report(float(value), float(mx.sqrt(mx.sum(each**2, axis=1)).max()))


def with_tinygrad():
    """With tinygrad."""
    from tinygrad import Tensor

    def loss(weights, inputs, targets):
        return (((inputs @ weights).tanh() - targets) ** 2).mean()

    inputs, targets = Tensor(INPUTS), Tensor(TARGETS)
    weights = Tensor.zeros(8).contiguous().realize()
    for _ in range(STEPS):
        value = loss(weights, inputs, targets)
        (gradient,) = value.gradient(weights)
        weights = (weights - RATE * gradient).realize()  # nothing is computed before it is asked for
    each = [loss(weights, inputs[i], targets[i]).gradient(weights)[0].square().sum() for i in range(64)]  # nothing maps
    report(value.item(), max(float(square.item()) for square in each) ** 0.5)


if __name__ == "__main__":
    globals()[f"with_{sys.argv[1]}"]()
