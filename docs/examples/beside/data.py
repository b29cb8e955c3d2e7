"""The data of the programs beside this file, made without random numbers, so that all of them learn the same."""

import numpy as np

INPUTS = np.sin(np.arange(64 * 8, dtype=np.float32).reshape(64, 8) ** 2)
TARGETS = np.tanh(INPUTS @ np.linspace(-1, 1, 8, dtype=np.float32))
STEPS, RATE = 100, 0.5


def report(value: float, norm: float) -> None:
    """Print the last loss, and the largest norm of the gradient for one example."""
    print(f"loss {value:.5f}, largest gradient of one example {norm:.5f}")
