"""Optimizers of trees, made of optimizers of single arrays, and their states as trees.

An optimizer is a triple of functions: `init_fun(params) -> state`, `update_fun(step, gradients, state) -> state` and
`params_fun(state) -> params`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec

from tangrad import tree, tree_util
from tangrad.core import api_boundary, class_boundary, copy_identity
from tangrad.typing import ArrayLike, PyTree

P = ParamSpec("P")


class OptimizerState(NamedTuple):
    """The state of an optimizer of a tree: a pytree of arrays.

    Attributes:
        packed_state: for each leaf of the parameters the leaves of its state.
        tree_def: the structure of the parameters.
        subtree_defs: for each of their leaves the structure of its state.
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, packed: OptimizerState(packed[0], *structures),
)


class Optimizer(NamedTuple):
    """The functions of an optimizer.

    Attributes:
        init_fn: `params -> state`.
        update_fn: `(step, gradients, state) -> state`, where `step` counts from 0.
        params_fn: `state -> params`.
    """

    init_fn: Callable[[PyTree], OptimizerState]
    update_fn: Callable[[ArrayLike, PyTree, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], PyTree]


@api_boundary
def optimizer(opt_maker: Callable[P, tuple[Callable[..., Any], ...]]) -> Callable[P, Optimizer]:
    """Decorator: an optimizer of single arrays becomes one of trees of arrays.

    Args:
        opt_maker: a function that returns `(init, update, get_params)`: `init(x0) -> state`, any tree of arrays,
            `update(step, gradient, state) -> state`, and `get_params(state) -> x`.

    Returns:
        a function of the same arguments that returns an `Optimizer`.

    >>> import tangrad.numpy as np
    >>> from tangrad.example_libraries import optimizers
    >>> @optimizers.optimizer
    ... def descent(step_size):
    ...     return lambda x0: x0, lambda i, g, x: x - step_size * g, lambda x: x
    >>> init_fun, update_fun, params_fun = descent(0.5)
    >>> params_fun(update_fun(0, {"w": np.ones(2)}, init_fun({"w": np.zeros(2)})))
    {'w': Array([-0.5, -0.5], dtype=float32)}
    """

    def make(*args: P.args, **kwargs: P.kwargs) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_tree(params: Any) -> OptimizerState:
            leaves, structure = tree.flatten(params)
            return _packed([init(leaf) for leaf in leaves], structure)

        def update_tree(i: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            leaves, structure = tree.flatten(gradients)
            if structure != state.tree_def:
                raise TypeError(
                    f"the gradients must have the structure of the parameters, {state.tree_def}, got {structure}"
                )
            states = [update(i, leaf, own) for leaf, own in zip(leaves, _states(state), strict=True)]
            found = _packed(states, structure)
            for position, (new, old) in enumerate(zip(found.subtree_defs, state.subtree_defs, strict=True)):
                if new != old:
                    raise TypeError(
                        f"an update must keep the structure of the state, but that of leaf {position} was {old} and "
                        f"became {new}"
                    )
            return found

        def params_of(state: OptimizerState) -> Any:
            return state.tree_def.unflatten([get_params(own) for own in _states(state)])

        return Optimizer(api_boundary(init_tree), api_boundary(update_tree), api_boundary(params_of))

    return copy_identity(make, opt_maker)


def _packed(states: list[Any], structure: Any) -> OptimizerState:
    pairs = [tree.flatten(state) for state in states]
    return OptimizerState(tuple([leaves for leaves, _ in pairs]), structure, tuple([inner for _, inner in pairs]))


def _states(state: OptimizerState) -> list[Any]:
    return [inner.unflatten(leaves) for inner, leaves in zip(state.subtree_defs, state.packed_state, strict=True)]


@class_boundary
class JoinPoint:
    """Where, in the state of an optimizer as one tree, the state of a leaf of the parameters begins: a leaf itself.

    Attributes:
        subtree: that state.
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:  # so that other libraries take it for a container
        yield self.subtree


@api_boundary
def unpack_optimizer_state(opt_state: OptimizerState) -> PyTree:
    """The state of an optimizer as a tree like the parameters, with a `JoinPoint` for each leaf: for saving it.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, _, _ = optimizers.momentum(0.1, 0.9)
    >>> optimizers.unpack_optimizer_state(init_fun([1.0]))[0].subtree
    (1.0, Array(0., dtype=float32, weak_type=True))
    """
    return opt_state.tree_def.unflatten([JoinPoint(own) for own in _states(opt_state)])


@api_boundary
def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state of an optimizer, of what `unpack_optimizer_state` returned.

    Raises TypeError for a tree with leaves that are no `JoinPoint`.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, _, params_fun = optimizers.momentum(0.1, 0.9)
    >>> params_fun(optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(init_fun([1.0]))))
    [1.0]
    """
    points, structure = tree.flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise TypeError(
                f"pack_optimizer_state: all leaves must be JoinPoint, got {point!r} of {type(point).__name__}"
            )
    return _packed([point.subtree for point in points], structure)
