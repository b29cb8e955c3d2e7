"""Learn by gradient descent, then take the gradient for each example: with autograd."""

import autograd.numpy as anp
from autograd import grad, value_and_grad
from data import INPUTS, RATE, STEPS, TARGETS, report


def loss(weights, inputs, targets):
    return anp.mean((anp.tanh(anp.dot(inputs, weights)) - targets) ** 2)


step = value_and_grad(loss)
weights = anp.zeros(8)
for _ in range(STEPS):
    value, gradient = step(weights, INPUTS, TARGETS)
    weights = weights - RATE * gradient
each = anp.stack([grad(loss)(weights, row, target) for row, target in zip(INPUTS, TARGETS)])  # nothing maps
report(float(value), float(anp.sqrt(anp.sum(each**2, axis=1)).max()))
