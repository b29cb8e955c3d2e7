"""`stax` and `optimizers` against jax's: layers, losses, steps; the names there are; bad input."""

import inspect

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import random, use_backend
from tangrad.example_libraries import optimizers, stax

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.example_libraries")
from jax.example_libraries import optimizers as jax_optimizers
from jax.example_libraries import stax as jax_stax

IMAGES = np.asarray(jax.random.normal(jax.random.PRNGKey(1), (2, 6, 6, 3)))


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


def check_close(ours, expected, atol=2e-5):
    assert tangrad.tree.structure(tangrad.tree.map(np.shape, ours)) == tangrad.tree.structure(
        tangrad.tree.map(np.shape, expected)
    )
    for one, other in zip(tangrad.tree.leaves(ours), tangrad.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=atol)


LAYERS = {
    "dense": lambda s: s.serial(s.Flatten, s.Dense(3), s.Softmax),
    "convolution": lambda s: s.Conv(4, (3, 3)),
    "strides": lambda s: s.Conv(2, (3, 3), (2, 2), padding="SAME"),
    "other dimensions": lambda s: s.GeneralConv(("NCHW", "OIHW", "NHWC"), 4, (2, 2), padding=[(1, 0), (0, 1)]),
    "transpose": lambda s: s.ConvTranspose(2, (2, 2), (2, 2)),
    "normalisation": lambda s: s.BatchNorm(),
    "without shift": lambda s: s.BatchNorm(axis=(0, 1), center=False),
    "without scale": lambda s: s.BatchNorm(scale=False),
    "maximum": lambda s: s.MaxPool((2, 2), (2, 2), "SAME"),
    "sum": lambda s: s.SumPool((3, 2), (2, 1)),
    "mean": lambda s: s.AvgPool((4, 4), (2, 2), "SAME"),
    "mean of others": lambda s: s.AvgPool((2, 2), spec="CHWN"),
    "dropout": lambda s: s.Dropout(0.4),
    "branches": lambda s: s.serial(
        s.Flatten,
        s.FanOut(2),
        s.parallel(s.Dense(4), s.serial(s.Dense(4), s.Dropout(0.5), s.Relu)),
        s.FanInSum,
        s.FanOut(2),
        s.parallel(s.Identity, s.shape_dependent(lambda shape: s.Dense(shape[-1]))),
        s.FanInConcat(-1),
    ),
    **{
        name: lambda s, name=name: getattr(s, name)
        for name in ("Tanh", "Relu", "Exp", "LogSoftmax", "Softplus", "Sigmoid", "Elu", "LeakyRelu", "Selu", "Gelu")
    },
}


def common(names, chosen):
    """All names; those that are not chosen in sweeps alone: jax compiles each operation of each."""
    return [pytest.param(name, marks=[] if name in chosen else [pytest.mark.sweep]) for name in names]


@pytest.mark.parametrize("name", common(LAYERS, {"branches", "transpose", "without shift", "mean of others"}))
def test_layers(on, name):
    (init_fun, apply_fun), (_, expected_fun) = LAYERS[name](stax), LAYERS[name](jax_stax)
    shape, params = init_fun(random.PRNGKey(0), IMAGES.shape)
    out = apply_fun(params, IMAGES, rng=random.PRNGKey(3))
    assert tuple(shape) == out.shape
    as_numpy = tangrad.tree.map(np.asarray, params)
    check_close(out, expected_fun(as_numpy, IMAGES, rng=jax.random.PRNGKey(3)))


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["branches", "without shift", "convolution"])
def test_initial_parameters(on, name):
    ours = LAYERS[name](stax)[0](random.PRNGKey(0), IMAGES.shape)
    check_close(ours, LAYERS[name](jax_stax)[0](jax.random.PRNGKey(0), IMAGES.shape))


@pytest.mark.sweep
def test_a_row_of_signals(on):
    layer = stax.Conv1DTranspose(2, (3,), (2,))
    shape, params = layer[0](random.PRNGKey(0), (2, 5, 3))
    expected = jax_stax.Conv1DTranspose(2, (3,), (2,))
    signals = np.ones((2, 5, 3), "float32")
    check_close(layer[1](params, signals), expected[1](tangrad.tree.map(np.asarray, params), signals))
    assert shape == (2, 11, 2)


OPTIMIZERS = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum": lambda o: o.momentum(0.1, 0.9),
    "nesterov": lambda o: o.nesterov(0.1, 0.9),
    "adagrad": lambda o: o.adagrad(0.1),
    "rmsprop": lambda o: o.rmsprop(0.1),
    "rmsprop_momentum": lambda o: o.rmsprop_momentum(0.01),
    "adam": lambda o: o.adam(0.1),
    "adamax": lambda o: o.adamax(0.1),
    "sm3": lambda o: o.sm3(0.1),
    "exponential": lambda o: o.sgd(o.exponential_decay(0.1, 2, 0.5)),
    "inverse": lambda o: o.sgd(o.inverse_time_decay(0.1, 2, 0.5)),
    "staircase": lambda o: o.sgd(o.inverse_time_decay(0.1, 2, 0.5, staircase=True)),
    "polynomial": lambda o: o.momentum(o.polynomial_decay(0.1, 3, 0.01, 2.0), 0.5),
    "pieces": lambda o: o.sgd(o.piecewise_constant([1, 2], [0.1, 0.05, 0.01])),
}
START = {"a": np.float32([[1, 2], [3, 4]]), "b": [np.float32([1, -1, 2])]}


def trained(framework, library, name, jitted):
    sin, grad = framework.numpy.sin, framework.grad
    loss = lambda params: (params["a"] ** 2).sum() + sin(params["b"][0]).sum()
    init_fun, update_fun, params_fun = OPTIMIZERS[name](library)
    state = init_fun(START)
    step = lambda i, state: update_fun(i, grad(loss)(params_fun(state)), state)
    step = framework.jit(step) if jitted else step
    for i in range(4):
        state = step(i, state)
    packed = library.pack_optimizer_state(library.unpack_optimizer_state(state))
    arrays = [leaf for leaf in framework.tree.leaves(packed) if np.ndim(leaf)]  # SM3 keeps a number too, there
    return params_fun(packed), arrays


@pytest.mark.parametrize("name", common(OPTIMIZERS, {"nesterov", "adam", "sm3", "staircase"}))
def test_optimizers(on, name):
    expected = trained(jax, jax_optimizers, name, False)
    check_close(trained(tangrad, optimizers, name, False), expected)
    check_close(trained(tangrad, optimizers, name, True), expected)


def test_numbers_are_optimized_too(on):
    for name, make in OPTIMIZERS.items():
        init_fun, update_fun, params_fun = make(optimizers)
        state = init_fun(1.0)
        for i in range(3):
            state = tangrad.jit(update_fun)(i, 0.5, state)
        assert 0.0 < float(params_fun(state)) < 1.0, name


def test_norms(on):
    gradients = {"a": np.float32([3, 0]), "b": np.float32(4)}
    assert float(optimizers.l2_norm(gradients)) == 5
    check_close(optimizers.clip_grads(gradients, 1.0), jax_optimizers.clip_grads(gradients, 1.0))
    check_close(optimizers.clip_grads(gradients, 9.0), gradients)


def test_a_joint_of_a_state_is_a_leaf():
    tree = optimizers.unpack_optimizer_state(optimizers.momentum(0.1, 0.9)[0]([1.0, tnp.ones(2)]))
    assert [type(leaf) for leaf in tangrad.tree.leaves(tree)] == [optimizers.JoinPoint] * 2
    assert list(tree[0]) == [tree[0].subtree]


def test_every_layer_and_optimizer_of_jax_is_here():
    for ours, reference in ((stax, jax_stax), (optimizers, jax_optimizers)):
        own = {
            name
            for name, value in vars(reference).items()
            if not name.startswith("_")
            and not inspect.ismodule(value)
            and getattr(value, "__module__", reference.__name__) in (reference.__name__, "functools")
        }
        types = {"Array", "InitFn", "Params", "ParamsFn", "Schedule", "State", "Step", "UpdateFn", "Updates"}
        assert own - types - {"partial", "NamedTuple", "namedtuple"} <= set(dir(ours)), reference.__name__


BAD = {
    "schedule": (lambda: optimizers.sgd([1, 2]), TypeError, "expected a step size"),
    "pieces": (lambda: optimizers.piecewise_constant([1, 2], [1.0]), ValueError, "one item more"),
    "gradients": (lambda: optimizers.sgd(0.1)[1](0, [1.0], optimizers.sgd(0.1)[0](1.0)), TypeError, "structure of the"),
    "joints": (lambda: optimizers.pack_optimizer_state([1.0]), TypeError, "must be JoinPoint"),
    "key": (lambda: stax.Dropout(0.5)[1]((), IMAGES), ValueError, "needs a random key"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, kind, words = BAD[name]
    with use_backend("numpy"), pytest.raises(kind, match=words):
        call()
