"""Learn by gradient descent, then take the gradient for each example: with MLX."""

import mlx.core as mx
from data import INPUTS, RATE, STEPS, TARGETS, report


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
