"""Learn by gradient descent, then take the gradient for each example: with Tangrad."""

from data import INPUTS, RATE, STEPS, TARGETS, report

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
