"""Learn by gradient descent, then take the gradient for each example: with PyTorch."""

import torch
from data import INPUTS, RATE, STEPS, TARGETS, report
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
