"""Transfer guards: which copies between the host and devices are allowed, logged or refused."""

import contextlib
import logging
import threading

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad._lax.elementwise.primitives import add_p

HOST = numpy.ones(3, "float32")


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


IMPLICIT = {
    "argument of a program": lambda x: tangrad.jit(lambda y: y + 1)(HOST),
    "number for a program": lambda x: tangrad.jit(lambda y, z: y + z)(x, 2.0),
    "operand": lambda x: x + HOST,
    "function": lambda x: np.sin(HOST),
    "asarray": lambda x: np.asarray(HOST),
    "array of a list": lambda x: np.array([1.0, 2.0]),
    "mapped": lambda x: tangrad.vmap(np.sin)(HOST),
}
IMPLICIT |= {
    "ones": lambda x: np.ones(3),
    "zeros": lambda x: np.zeros((2, 3)),
    "empty": lambda x: np.empty(3),
    "full": lambda x: np.full(3, 2.0),
    "eye": lambda x: np.eye(2),
    "tri": lambda x: np.tri(2),
    "zeros_like": lambda x: np.zeros_like(x),
    "ones_like": lambda x: np.ones_like(x),
    "empty_like": lambda x: np.empty_like(x),
    "full_like": lambda x: np.full_like(x, 2.0),
    "mapped ones": lambda x: tangrad.vmap(lambda y: y * np.ones(2))(x),
}
IMPLICIT |= {
    "number beside an array": lambda x: x * 2.0,
    "number before an array": lambda x: 2 - x,
    "compared": lambda x: x == 1,
    "number": lambda x: np.exp(2.0),
    "among others": lambda x: np.where(x > x, x, 0.0),
    "in a list": lambda x: np.stack([x, HOST]),
    "by name": lambda x: np.clip(x, min=0.0),
    "of the library below": lambda x: tangrad.lax.add(x, 2.0),
    "method": lambda x: x.clip(0, 1),
    "in a user's function": lambda x: tangrad.vmap(lambda y: y * 2.0)(x),
    "mapped over trees": lambda x: tangrad.tree.map(np.add, [x], [HOST]),
    "position": lambda x: x[0],
    "positions": lambda x: x[np.argsort(x)],
    "part": lambda x: x[1:],
    "update": lambda x: x.at[0].set(x.sum()),
    "range": lambda x: np.arange(2, 5),
    "ends of a range": lambda x: np.linspace(0, 1, 4),
    "seed": lambda x: tangrad.random.key(0),
    "index of a key": lambda x: tangrad.random.fold_in(KEY, 3),
    "parameter of a distribution": lambda x: tangrad.random.bernoulli(KEY, 0.5, (3,)),
    "bounds of a distribution": lambda x: tangrad.random.uniform(KEY, (3,)),
    "carry": lambda x: tangrad.lax.scan(lambda c, y: (c + y, c), 0.0, x),
    "places that are looked for": lambda x: np.nonzero(x),
    "cotangent of a result": lambda x: tangrad.grad(lambda y: (y * y).sum())(x),
    "number that is differentiated": lambda x: tangrad.jvp(np.sin, (2.0,), (1.0,)),
    "operand of a primitive": lambda x: add_p(x, 2.0),
}
KEY = tangrad.random.key(0)
FREE = {
    "arithmetic": lambda x: (-x * x + x, x @ x, abs(x)),
    "exponents": lambda x: (x**2, np.power(x, 3)),
    "creation": lambda x: (
        np.arange(4),
        np.full(3, x.sum()),
        np.cov(x),
        tangrad.nn.one_hot(np.arange(2), 3),
    ),
    "how it is done": lambda x: (
        x.sum(axis=0),
        x.reshape(3, 1),
        np.roll(x, 1),
        np.round(x, 2),
        np.sum(x, keepdims=True),
    ),
    "creation within a program": lambda x: tangrad.jit(lambda: (np.zeros(3), np.eye(2)))(),
    "program": lambda x: tangrad.jit(lambda y: y * 3.0)(x),
    "gradient within a program": lambda x: tangrad.jit(tangrad.grad(lambda y: (2.0 * y * y[0]).sum()))(x),
    "derivatives": lambda x: (tangrad.jvp(np.sin, (x,), (x,)), tangrad.vjp(np.sin, x)[1](x), tangrad.vmap(np.sin)(x)),
    "slices": lambda x: (x[:], x[...], x[None], x[::2], x[::-1], tangrad.jit(lambda y: y[0])(x)),
    "statistics": lambda x: (x.mean(), np.linalg.norm(x), tangrad.nn.relu(x), np.median(x)),
    "loops": lambda x: (tangrad.lax.scan(lambda c, y: (c + y, c), x.sum(), x), tangrad.lax.map(lambda y: y * 2.0, x)),
    "static argument": lambda x: tangrad.jit(lambda y, n: y * n, static_argnums=1)(x, 2),
    "types": lambda x: (np.result_type(x, 2.0), np.shape(HOST), tangrad.eval_shape(lambda y: y * 2.0, x)),
    "reading": lambda x: (float(x.sum()), repr(x), x.tolist(), numpy.asarray(x)),
    "random numbers": lambda x: (tangrad.random.normal(KEY, (3,)), tangrad.random.split(KEY, 4)),
}
EXPLICIT = {
    "array": lambda x: tangrad.device_put(HOST),
    "array to a device": lambda x: tangrad.device_put(HOST, tangrad.devices()[0]),
    "number": lambda x: tangrad.device_put(2.0),
    "row for a device": lambda x: tangrad.device_put_replicated(HOST, tangrad.devices()[:1]),
}


def refused(program, guard):
    x = tangrad.device_put(HOST)
    with guard:
        try:
            program(x)
        except RuntimeError as error:
            return "disallowed host-to-device transfer" in str(error)
    return False


@pytest.mark.parametrize("name", IMPLICIT)
def test_implicit_copies(name):
    program = IMPLICIT[name]
    assert not refused(program, tangrad.transfer_guard("allow"))
    assert refused(program, tangrad.transfer_guard("disallow"))
    assert refused(program, tangrad.transfer_guard_host_to_device("disallow"))
    assert refused(program, tangrad.transfer_guard("disallow_explicit"))
    assert not refused(program, tangrad.transfer_guard_device_to_host("disallow"))
    assert not refused(program, tangrad.transfer_guard("allow"))


@pytest.mark.parametrize("name", FREE)
def test_what_is_no_transfer(name):
    assert not refused(FREE[name], tangrad.transfer_guard("disallow_explicit"))


@pytest.mark.parametrize("name", EXPLICIT)
def test_what_is_asked_for(name):
    assert not refused(EXPLICIT[name], tangrad.transfer_guard("disallow"))
    assert refused(EXPLICIT[name], tangrad.transfer_guard("disallow_explicit"))


def test_each_thread_has_its_own_guard():
    x, outcomes = tangrad.device_put(HOST), {}

    def work(name, guard):
        with guard:
            started.wait()
            outcomes[name] = [refused(lambda x: x * 2.0, tangrad.transfer_guard(level)) for level in INSIDE]
            outcomes[name].append(refused(lambda x: x * 2.0, contextlib.nullcontext()))

    started = threading.Barrier(2)
    guards = {"one": tangrad.transfer_guard("disallow"), "other": tangrad.transfer_guard("allow")}
    threads = [threading.Thread(target=work, args=pair) for pair in guards.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {"one": [False, True, True], "other": [False, True, False]}
    assert not refused(lambda x: x * 2.0, contextlib.nullcontext()) and (x * 2.0).tolist() == [2.0] * 3


INSIDE = ("allow", "disallow")


def test_constants_of_programs_are_written_into_them():
    assert not refused(lambda x: tangrad.jit(lambda y: y + HOST)(x), tangrad.transfer_guard("disallow"))


def test_the_inner_guard_holds():
    with tangrad.transfer_guard_host_to_device("disallow"):
        with tangrad.transfer_guard("allow"):
            np.sin(HOST)
        with pytest.raises(RuntimeError, match=r"device_put\(x\) does it explicitly"):
            np.sin(HOST)
    with tangrad.transfer_guard("disallow"), tangrad.transfer_guard_host_to_device("allow"):
        np.sin(HOST)


def test_logging(caplog):
    with caplog.at_level(logging.WARNING, "tangrad"):
        with tangrad.transfer_guard("log"):
            tangrad.device_put(HOST)
            assert not caplog.messages
            np.sin(HOST)
        assert caplog.messages == ["host-to-device transfer of f32[3]"]
        with tangrad.transfer_guard("log_explicit"):
            tangrad.device_put(HOST)
    assert len(caplog.messages) == 2


def test_for_the_whole_process():
    assert tangrad.config.jax_transfer_guard == "allow"
    tangrad.config.update("jax_transfer_guard", "disallow")
    try:
        assert tangrad.config.transfer_guard == "disallow"
        assert refused(np.sin, tangrad.transfer_guard_device_to_device("allow")) is False
        with pytest.raises(RuntimeError, match="the transfer guard is 'disallow'"):
            np.sin(HOST)
    finally:
        tangrad.config.update("transfer_guard", "allow")
    np.sin(HOST)


def test_after_a_refusal_the_next_call_works():
    double = tangrad.jit(lambda x: x + x)
    with tangrad.transfer_guard("disallow"), pytest.raises(RuntimeError):
        double(HOST)
    assert double(HOST).tolist() == [2.0] * 3


@pytest.mark.parametrize("level", ["perhaps", 3, True])
def test_other_levels(level):
    with pytest.raises(ValueError, match="transfer_guard' does not take"), tangrad.transfer_guard(level):
        pass


def test_as_a_decorator():
    @tangrad.transfer_guard("disallow")
    def guarded(x):
        return np.sin(x)

    guarded(tangrad.device_put(HOST))
    with pytest.raises(RuntimeError):
        guarded(HOST)


def test_reading_what_the_host_does_not_hold(monkeypatch, backend):
    x = np.ones(3) + 1
    (device,) = x.devices()
    monkeypatch.setattr(device, "platform", "gpu")
    with tangrad.transfer_guard("disallow"):
        tangrad.device_get(x)
        if backend == "xla":
            with pytest.raises(RuntimeError, match="disallowed device-to-host transfer"):
                x.tolist()
    with tangrad.transfer_guard_device_to_host("disallow_explicit"), pytest.raises(RuntimeError):
        tangrad.device_get(x)
