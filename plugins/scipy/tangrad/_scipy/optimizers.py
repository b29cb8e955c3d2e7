"""Optimizers: made of those of single arrays, and the usual ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, overload

import tangrad.numpy as tnp
from tangrad import tree, tree_util
from tangrad._scipy.step_size_schedules import Number, Schedule, make_schedule
from tangrad.core import Array, api_boundary, class_boundary, copy_identity
from tangrad.typing import ArrayLike, PyTree, Value

if TYPE_CHECKING:
    import numpy as np

    from tangrad.tree_util import PyTreeDef


# --- Optimizers of trees, made of optimizers of single arrays, and their states as trees ------------------------------
# An optimizer is a triple of functions: `init_fun(params) -> state`, `update_fun(step, gradients, state) -> state` and
# `params_fun(state) -> params`.


P = ParamSpec("P")


class OptimizerState(NamedTuple):
    """The state of an optimizer of a tree: a pytree of arrays.

    Attributes:
        packed_state: for each leaf of the parameters the leaves of its state.
        tree_def: the structure of the parameters.
        subtree_defs: for each of their leaves the structure of its state.
    """

    packed_state: tuple[PyTree, ...]
    tree_def: Any
    subtree_defs: tuple[PyTreeDef, ...]


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
def optimizer(opt_maker: Callable[P, tuple[Callable[..., PyTree], ...]]) -> Callable[P, Optimizer]:
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

        def init_tree(params: object) -> OptimizerState:
            leaves, structure = tree.flatten(params)
            return _packed([init(leaf) for leaf in leaves], structure)

        def update_tree(i: object, gradients: object, state: OptimizerState) -> OptimizerState:
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

        def params_of(state: OptimizerState) -> object:
            return state.tree_def.unflatten([get_params(own) for own in _states(state)])

        return Optimizer(api_boundary(init_tree), api_boundary(update_tree), api_boundary(params_of))

    return copy_identity(make, opt_maker)


def _packed(states: Sequence[object], structure: object) -> OptimizerState:
    pairs = [tree.flatten(state) for state in states]
    return OptimizerState(tuple([leaves for leaves, _ in pairs]), structure, tuple([inner for _, inner in pairs]))


def _states(state: OptimizerState) -> list[PyTree]:
    return [inner.unflatten(leaves) for inner, leaves in zip(state.subtree_defs, state.packed_state, strict=True)]


@class_boundary
class JoinPoint:
    """Where, in the state of an optimizer as one tree, the state of a leaf of the parameters begins: a leaf itself.

    Attributes:
        subtree: that state.
    """

    def __init__(self, subtree: object) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[object]:  # so that other libraries take it for a container
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
def pack_optimizer_state(marked_pytree: object) -> OptimizerState:
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


# --- The size of gradients --------------------------------------------------------------------------------------------


T = TypeVar("T")


@api_boundary
def l2_norm(tree_: PyTree) -> Array:
    """The Euclidean norm of all arrays of a tree together.

    >>> from tangrad.example_libraries import optimizers
    >>> float(optimizers.l2_norm({"a": 3.0, "b": [4.0]}))
    5.0
    """
    return tnp.sqrt(sum([tnp.vdot(leaf, leaf) for leaf in tree.leaves(tree_)]))


@overload
def clip_grads(grad_tree: ArrayLike, max_norm: object) -> Array: ...
@overload
def clip_grads(grad_tree: T, max_norm: object) -> T: ...
@api_boundary
def clip_grads(grad_tree: PyTree, max_norm: Any) -> PyTree:
    """A tree scaled down, where its norm is greater than `max_norm`, so that it is that.

    >>> from tangrad.example_libraries import optimizers
    >>> [round(float(part), 3) for part in optimizers.clip_grads([3.0, 4.0], 1.0)]
    [0.6, 0.8]
    """
    norm = l2_norm(grad_tree)
    return tree.map(lambda leaf: tnp.where(norm < max_norm, leaf, leaf * (max_norm / norm)), grad_tree)


# --- Optimizers. Each returns an `Optimizer`: `init_fun`, `update_fun`, `params_fun` ----------------------------------
# Step sizes are numbers, or schedules: functions of the number of the step.


Rule = tuple[Callable[[Array], PyTree], Callable[[Array | float, Array, PyTree], PyTree], Callable[[PyTree], PyTree]]


def _first(state: PyTree) -> np.ndarray | Array:
    return state[0]


def _with_zeros(count: int) -> Callable[[Array], tuple[Array, ...]]:
    """How a state begins: the parameters, and as many arrays of zeros like them."""
    return lambda x0: (x0, *[tnp.zeros_like(x0) for _ in range(count)])


def _average(decay: Number, average: Value, new: Value) -> Value:
    """A moving average, one step on."""
    return decay * average + (1 - decay) * new


def _weight(decay: Number, step: Array | float, dtype: np.dtype) -> Value:
    """The weights of a moving average that began with 0, summed: its divisor (Kingma and Ba, section 3)."""
    return 1 - tnp.asarray(decay, dtype) ** (step + 1)


@api_boundary
@optimizer
def sgd(step_size: Number | Schedule) -> Rule:
    """Gradient descent: `x - step_size * g`.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.sgd(0.1)
    >>> params_fun(update_fun(0, 2.0, init_fun(1.0)))
    0.8
    """
    size = make_schedule(step_size)
    return lambda x0: x0, lambda i, g, x: x - size(i) * g, lambda x: x


@api_boundary
@optimizer
def momentum(step_size: Number | Schedule, mass: Number) -> Rule:
    """Gradient descent with momentum (Polyak, 1964): the velocity is `mass` times itself, plus the gradient.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.momentum(0.1, 0.9)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.8
    """
    size = make_schedule(step_size)

    def update(i: Array | float, g: Array, state: PyTree) -> PyTree:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * velocity, velocity

    return _with_zeros(1), update, _first


@api_boundary
@optimizer
def nesterov(step_size: Number | Schedule, mass: Number) -> Rule:
    """Gradient descent with Nesterov's momentum (1983).

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.nesterov(0.1, 0.9)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.62
    """
    size = make_schedule(step_size)

    def update(i: Array | float, g: Array, state: PyTree) -> PyTree:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * (mass * velocity + g), velocity

    return _with_zeros(1), update, _first


def _inverse_root(squares: Value) -> Value:
    """1 / sqrt(x), and 0 at 0."""
    return tnp.where(squares > 0, 1 / tnp.sqrt(tnp.where(squares > 0, squares, 1)), 0)


@api_boundary
@optimizer
def adagrad(step_size: Number | Schedule, momentum: Number = 0.9) -> Rule:
    """Adagrad (Duchi, Hazan and Singer, 2011), with momentum.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.adagrad(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.99
    """
    size = make_schedule(step_size)

    def update(i: Array | float, g: Array, state: PyTree) -> PyTree:
        x, squares, mean = state
        squares = squares + tnp.square(g)
        mean = _average(momentum, mean, g * _inverse_root(squares))
        return x - size(i) * mean, squares, mean

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def rmsprop(step_size: Number | Schedule, gamma: Number = 0.9, eps: Number = 1e-8) -> Rule:
    """RMSProp (Tieleman and Hinton, 2012): gradients in units of a running mean of their squares.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.rmsprop(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.684
    """
    size = make_schedule(step_size)

    def update(i: Array | float, g: Array, state: PyTree) -> PyTree:
        x, squares = state
        squares = _average(gamma, squares, tnp.square(g))
        return x - size(i) * g / tnp.sqrt(squares + eps), squares

    return _with_zeros(1), update, _first


@api_boundary
@optimizer
def rmsprop_momentum(
    step_size: Number | Schedule, gamma: Number = 0.9, eps: Number = 1e-8, momentum: Number = 0.9
) -> Rule:
    """RMSProp with momentum.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.rmsprop_momentum(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.684
    """
    size = make_schedule(step_size)

    def update(i: Array | float, g: Array, state: PyTree) -> PyTree:
        x, squares, velocity = state
        squares = _average(gamma, squares, tnp.square(g))
        velocity = momentum * velocity + size(i) * g / tnp.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def adam(step_size: Number | Schedule, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-8) -> Rule:
    """Adam (Kingma and Ba, 2015).

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.adam(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.9
    """
    size = make_schedule(step_size)

    def update(i: Array | float, g: Value, state: PyTree) -> PyTree:
        x, mean, squares = state
        mean, squares = _average(b1, mean, g), _average(b2, squares, tnp.square(g))
        spread = tnp.sqrt(squares / _weight(b2, i, mean.dtype))
        return x - size(i) * (mean / _weight(b1, i, mean.dtype)) / (spread + eps), mean, squares

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def adamax(step_size: Number | Schedule, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-8) -> Rule:
    """AdaMax (Kingma and Ba, 2015): Adam with the largest recent gradient in the place of their mean square.

    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.adamax(0.1)
    >>> float(params_fun(update_fun(0, 2.0, init_fun(1.0)))).__round__(3)
    0.9
    """
    size = make_schedule(step_size)

    def update(i: Array | float, g: Value, state: PyTree) -> PyTree:
        x, mean, largest = state
        mean, largest = _average(b1, mean, g), tnp.maximum(b2 * largest, tnp.abs(g))
        return x - size(i) / _weight(b1, i, mean.dtype) * mean / (largest + eps), mean, largest

    return _with_zeros(2), update, _first


@api_boundary
@optimizer
def sm3(step_size: Number | Schedule, momentum: Number = 0.9) -> Rule:
    """SM3 (Anil, Gupta, Koren and Singer, 2019): Adagrad that keeps a row of squares for each axis.

    >>> import tangrad.numpy as np
    >>> from tangrad.example_libraries import optimizers
    >>> init_fun, update_fun, params_fun = optimizers.sm3(0.1)
    >>> params_fun(update_fun(0, np.array([2.0, 0.0]), init_fun(np.ones(2))))
    Array([0.99, 1.  ], dtype=float32)
    """
    size = make_schedule(step_size)

    def init(x0: Array) -> PyTree:
        x0 = tnp.asarray(x0)
        return x0, tnp.zeros_like(x0), [tnp.zeros(extent, x0.dtype) for extent in x0.shape]

    def update(i: Array | float, g: Array, state: PyTree) -> PyTree:
        x, mean, rows = state
        squares = tnp.square(g)
        if rows:
            least = _along(rows[0], 0, x.ndim)
            for axis, row in enumerate(rows[1:], 1):
                least = tnp.minimum(least, _along(row, axis, x.ndim))
            squares = least + squares
        mean = _average(momentum, mean, g * _inverse_root(squares))
        rows = [squares.max([other for other in range(x.ndim) if other != axis]) for axis in range(x.ndim)]
        return x - size(i) * mean, mean, rows

    return init, update, _first


def _along(row: Array, axis: int, ndim: int) -> Array:
    """A row as an array of `ndim` dimensions, of which only one is not 1."""
    return row.reshape([-1 if dimension == axis else 1 for dimension in range(ndim)])
