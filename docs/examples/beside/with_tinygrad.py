"""Learn by gradient descent, then take the gradient for each example: with tinygrad."""

from data import INPUTS, RATE, STEPS, TARGETS, report
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
