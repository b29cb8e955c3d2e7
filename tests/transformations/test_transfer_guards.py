"""Transfer guards: which copies between the host and devices are allowed, logged or refused."""

import logging

import numpy
import pytest

import tangrad
import tangrad.numpy as np

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
FREE = {
    "arithmetic": lambda x: -x * 2.0 + 1,
    "creation": lambda x: (
        np.arange(4),
        np.full(3, x[0]),
        np.cov(x),
        tangrad.nn.one_hot(np.arange(2), 3),
    ),
    "creation within a program": lambda x: tangrad.jit(lambda: (np.zeros(3), np.eye(2)))(),
    "program": lambda x: tangrad.jit(lambda y: y * 3.0)(x),
    "gradient": lambda x: tangrad.grad(lambda y: (y * y).sum())(x),
    "slices": lambda x: (x[0], x[1:], x.at[0].set(1.0)),
    "statistics": lambda x: (x.mean(), x.std(), np.linalg.norm(x), tangrad.nn.softmax(x)),
    "reading": lambda x: (float(x.sum()), repr(x), x.tolist(), numpy.asarray(x)),
    "random numbers": lambda x: tangrad.random.normal(tangrad.random.key(0), (3,)),
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
def test_what_nobody_asked_for(name):
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
