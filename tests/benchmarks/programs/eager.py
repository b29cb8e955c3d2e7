"""Operations on 8 floats outside jit, and eager gradients."""

from collections.abc import Callable
from typing import Any

from ..measure import Case
from ..sides import Side
from . import models

SMALL_SIZES = (8, 16, 4)


def operations(api: Any) -> dict[str, Callable[[], Any]]:
    """The eager operations, by name."""
    np = api.numpy
    x, y = np.arange(8.0), np.ones(8)
    chosen = x > 3.0
    return {
        "add": lambda: x + y,
        "sin": lambda: np.sin(x),
        "sum": lambda: np.sum(x),
        "x*2": lambda: x * 2,
        "where": lambda: np.where(chosen, x, y),
        "reshape": lambda: x.reshape(2, 4),
        "slice": lambda: x[2:5],
        "dot": lambda: np.dot(x, y),
    }


def operation_case(name: str, side: Side) -> Case:
    """One eager operation."""
    api = side.api()
    return Case(operations(api)[name], finish=api.block_until_ready)


def three_operations(np: Any) -> Callable[[Any], Any]:
    """sin, multiply, sum: a new function each time."""
    return lambda x: np.sum(np.sin(x) * x)


def waiter(api: Any) -> Callable[[Any], Any] | None:
    """What waits for asynchronous results, where the side has any."""
    return getattr(api, "block_until_ready", None)


def three_operations_case(side: Side) -> Case:
    """`value_and_grad` of three operations on 8 floats."""
    api = side.api()
    np, value_and_grad = api.numpy, api.value_and_grad
    x = np.arange(8.0)
    return Case(lambda function: value_and_grad(function)(x), fresh=lambda: three_operations(np), finish=waiter(api))


def small_mlp_case(side: Side) -> Case:
    """`value_and_grad` of the loss of an 8-16-4 perceptron on 8 examples."""
    api = side.api()
    parameters = models.to_api(api, models.mlp_parameters(SMALL_SIZES))
    inputs, targets = models.to_api(api, models.mlp_data(8, SMALL_SIZES))
    value_and_grad = api.value_and_grad

    def fresh() -> Callable[[Any], Any]:
        return lambda p: models.mlp_cross_entropy(api, p, inputs, targets)

    return Case(lambda function: value_and_grad(function)(parameters), fresh=fresh, finish=waiter(api))


PROGRAMS = {
    f"eager: {name}": lambda side, name=name: operation_case(name, side)
    for name in ("add", "sin", "sum", "x*2", "where", "reshape", "slice", "dot")
}
PROGRAMS["eager value_and_grad: 3 operations"] = three_operations_case
PROGRAMS["eager value_and_grad: small MLP"] = small_mlp_case
