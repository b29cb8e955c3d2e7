"""What is better said another way, once all steps are known.

A matrix product that is only used transposed is computed transposed: (A B)ᵀ = Bᵀ Aᵀ, where transposing the operands
costs nothing. Gradients of weights are of that sort; as transposed views they would make everything that reads them
stride through memory, the user's own update included.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from tangrad._backend_numpy.functions import Method
from tangrad._backend_numpy.program import Program, Step, Stored

PRODUCTS = (np.matmul, "dot")  # keys of functions for which the rule of transposition holds


def simplify(program: Program) -> None:
    """Rewrite the steps of a finished program."""
    uses = Counter([stored for step in program.steps for stored in step.inputs])
    uses.update(program.outputs)
    users = {stored: step for step in program.steps for stored in step.inputs}
    turned: dict[int, list[Step]] = {}  # position of a product -> the steps in its place
    dropped: set[Step] = set()
    for position, step in enumerate(program.steps):
        if not _is_product(step) or uses[step.outputs[0]] != 1:
            continue
        user = users.get(step.outputs[0])
        if user is not None and _turns(user, step.outputs[0]):
            turned[position] = _turned_product(program, step, user.outputs[0])
            dropped.add(user)
    if not turned:
        return
    steps: list[Step] = []
    for position, step in enumerate(program.steps):
        if position in turned:
            steps += turned[position]
        elif step not in dropped:
            steps.append(step)
    program.steps = steps
    program.drop_dead_steps()


def _is_product(step: Step) -> bool:
    return step.function.key in PRODUCTS and not step.several and all([len(x.shape) == 2 for x in step.inputs])


def _turns(step: Step, stored: Stored) -> bool:
    function = step.function
    return isinstance(function, Method) and function.name == "transpose" and function.arguments == ((1, 0),)


def _turned_product(program: Program, step: Step, result: Stored) -> list[Step]:
    left, right = step.inputs
    steps: list[Step] = []
    operands = [_transposed(program, stored, step, steps) for stored in (right, left)]
    return [*steps, Step(step.function, tuple(operands), (result,), False, False, step.primitive)]


def _transposed(program: Program, stored: Stored, product: Step, steps: list[Step]) -> Stored:
    made_by = program.producers.get(stored)
    if made_by is not None and _turns(made_by, stored):
        return made_by.inputs[0]
    turned = Stored(stored.shape[::-1], stored.dtype)
    steps.append(Step(Method("transpose", (1, 0)), (stored,), (turned,), False, False, product.primitive))
    return turned
