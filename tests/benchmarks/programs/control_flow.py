"""Scans and loops: compiled, beside JAX and beside NumPy by hand; and the tracing of a scan's gradient."""

from collections.abc import Callable
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models

STEPS, BATCH, WIDTH = 64, 32, 128
TURNS, VECTOR = 1000, 4096

Function = Callable[..., Any]


# --- an LSTM cell ----------------------------------------------------------------------------------------------------


def lstm_arguments() -> tuple[Any, ...]:
    """Weights of inputs and of the state, biases; and a sequence of inputs."""
    random = models.draws()

    def normal(*shape: int) -> numpy.ndarray:
        return (random.normal(size=shape) * 0.1).astype("float32")

    parameters = (normal(WIDTH, 4 * WIDTH), normal(WIDTH, 4 * WIDTH), normal(4 * WIDTH))
    return parameters, random.normal(size=(STEPS, BATCH, WIDTH)).astype("float32")


def lstm_loss(api: Any) -> Function:
    """The sum of squares of an LSTM's outputs."""
    np = api.numpy

    def logistic(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def loss(parameters: Any, inputs: Any) -> Any:
        of_input, of_state, bias = parameters

        def step(carry: Any, x: Any) -> Any:
            hidden, cell = carry
            gates = np.matmul(x, of_input) + np.matmul(hidden, of_state) + bias
            enter, forget, leave, update = np.split(gates, 4, axis=1)
            cell = logistic(forget) * cell + logistic(enter) * np.tanh(update)
            hidden = logistic(leave) * np.tanh(cell)
            return (hidden, cell), hidden

        start = np.zeros((BATCH, WIDTH), "float32")
        return np.sum(np.square(api.lax.scan(step, (start, start), inputs)[1]))

    return loss


def logistic(x: numpy.ndarray) -> numpy.ndarray:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + numpy.exp(-x))


def lstm_by_hand(parameters: Any, inputs: numpy.ndarray) -> tuple[Any, Any, list[Any]]:
    """The loss, the outputs, and what the gradient needs of each step."""
    of_input, of_state, bias = parameters
    hidden = cell = numpy.zeros((BATCH, WIDTH), "float32")
    outputs, saved = numpy.empty((STEPS, BATCH, WIDTH), "float32"), []
    for t in range(STEPS):
        gates = inputs[t] @ of_input + hidden @ of_state + bias
        enter, forget, leave, update = numpy.split(gates, 4, axis=1)
        enter, forget, leave, update = logistic(enter), logistic(forget), logistic(leave), numpy.tanh(update)
        new = forget * cell + enter * update
        squashed = numpy.tanh(new)
        saved.append((hidden, cell, enter, forget, leave, update, squashed))
        cell, hidden = new, leave * squashed
        outputs[t] = hidden
    return numpy.square(outputs).sum(), outputs, saved


def lstm_gradient_by_hand(parameters: Any, inputs: numpy.ndarray) -> tuple[Any, Any]:
    """Loss and gradient, with the sums of the weights' gradients in place."""
    of_input, of_state, bias = parameters
    loss, outputs, saved = lstm_by_hand(parameters, inputs)
    sums = numpy.zeros_like(of_input), numpy.zeros_like(of_state), numpy.zeros_like(bias)
    d_hidden = d_cell = numpy.zeros((BATCH, WIDTH), "float32")
    for t in range(STEPS - 1, -1, -1):
        hidden, cell, enter, forget, leave, update, squashed = saved[t]
        d_hidden = d_hidden + 2 * outputs[t]
        d_cell = d_cell + d_hidden * leave * (1 - squashed * squashed)
        d_gates = numpy.concatenate(
            [
                d_cell * update * enter * (1 - enter),
                d_cell * cell * forget * (1 - forget),
                d_hidden * squashed * leave * (1 - leave),
                d_cell * enter * (1 - update * update),
            ],
            axis=1,
        )
        for total, term in zip(sums, (inputs[t].T @ d_gates, hidden.T @ d_gates, d_gates.sum(axis=0)), strict=True):
            total += term
        d_hidden, d_cell = d_gates @ of_state.T, d_cell * forget
    return loss, sums


# --- loops -----------------------------------------------------------------------------------------------------------


def loop_arguments() -> tuple[Any, ...]:
    """A vector."""
    return (models.draws().normal(size=VECTOR).astype("float32"),)


def while_loop(api: Any) -> Function:
    """A loop that counts, and stops early where values grow."""
    np = api.numpy

    def run(x: Any) -> Any:
        def goes_on(state: Any) -> Any:
            return (state[0] < TURNS) & (np.max(state[1]) < 1e30)

        def turn(state: Any) -> Any:
            return state[0] + 1, np.sin(state[1]) * 0.9 + 0.1

        return api.lax.while_loop(goes_on, turn, (0, x))

    return run


def while_by_hand(x: numpy.ndarray) -> Any:
    """The same."""
    i = 0
    while i < TURNS and x.max() < 1e30:
        x = numpy.sin(x) * numpy.float32(0.9) + numpy.float32(0.1)
        i += 1
    return i, x


def fori_loop(api: Any) -> Function:
    """A loop with bounds that are known, whose index is used."""
    return lambda x: api.lax.fori_loop(0, TURNS, lambda i, y: api.numpy.cos(y) * 0.5 + y / (i + 2), x)


def fori_by_hand(x: numpy.ndarray) -> Any:
    """The same."""
    for i in range(TURNS):
        x = numpy.cos(x) * numpy.float32(0.5) + x / numpy.float32(i + 2)
    return x


# --- cases -----------------------------------------------------------------------------------------------------------

Maker = Callable[[Any], Function]
MAKERS: dict[str, tuple[Maker, Function, Callable[[], tuple[Any, ...]]]] = {
    "LSTM scan": (lstm_loss, lambda *args: lstm_by_hand(*args)[0], lstm_arguments),
    "LSTM scan gradient": (lambda api: api.value_and_grad(lstm_loss(api)), lstm_gradient_by_hand, lstm_arguments),
    "while loop": (while_loop, while_by_hand, loop_arguments),
    "fori loop": (fori_loop, fori_by_hand, loop_arguments),
}


def compiled_case(name: str, side: Side) -> Case:
    """Calls of the compiled program, each waited for, or of the function by hand where the side is NumPy."""
    maker, by_hand, make_arguments = MAKERS[name]
    api = side.api()
    if side.module == "numpy":
        arguments = make_arguments()
        return Case(lambda: by_hand(*arguments))
    arguments = models.to_api(api, make_arguments())
    function = maker(api)
    jitted, wait = api.jit(function), api.block_until_ready
    return Case(lambda: wait(jitted(*arguments)), hlo=lambda: api.jit(function).lower(*arguments).compile().as_text())


def tracing_case(side: Side) -> Case:
    """`make_jaxpr` of the gradient of a fresh LSTM."""
    api = side.api()
    arguments = models.to_api(api, lstm_arguments())
    return Case(lambda function: api.make_jaxpr(function)(*arguments), fresh=lambda: api.grad(lstm_loss(api)))


PROGRAMS: dict[str, Callable[[Side], Case]] = {
    f"control flow: {name}": lambda side, name=name: compiled_case(name, side) for name in MAKERS
}
PROGRAMS["trace: LSTM scan under grad"] = tracing_case
