"""Copies between devices under transfer guards."""

import numpy as np
import pytest

import tangrad
from tangrad.sharding import NamedSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import mesh


def rows():
    return NamedSharding(mesh(), P("x"))


IMPLICIT = {
    "argument of a program over a mesh": lambda x: tangrad.jit(lambda y: y + 1, in_shardings=rows())(x),
    "beside an array over a mesh": lambda x: x + SPREAD,
    "beside an array on another device": lambda x: x + ELSEWHERE,
    "argument of pmap": lambda x: tangrad.pmap(lambda y: y + 1)(x),
}
EXPLICIT = {
    "to a device": lambda x: tangrad.device_put(x, tangrad.devices()[1]),
    "to a mesh": lambda x: tangrad.device_put(x, rows()),
    "method": lambda x: x.to_device(tangrad.devices()[1]),
    "rows": lambda x: tangrad.device_put_sharded([x, x], tangrad.devices()[:2]),
}
X = tangrad.numpy.arange(8.0)
SPREAD = tangrad.device_put(X, rows())
ELSEWHERE = tangrad.device_put(X, tangrad.devices()[3])


@pytest.mark.parametrize("name", IMPLICIT)
def test_implicit_copies(name):
    guard = tangrad.transfer_guard_device_to_device("disallow")
    with guard, pytest.raises(RuntimeError, match="disallowed device-to-device transfer of f32"):
        IMPLICIT[name](X)
    with tangrad.transfer_guard_host_to_device("disallow"):
        IMPLICIT[name](X)


@pytest.mark.parametrize("name", EXPLICIT)
def test_what_is_asked_for(name):
    with tangrad.transfer_guard("disallow"):
        EXPLICIT[name](X)
    with tangrad.transfer_guard("disallow_explicit"), pytest.raises(RuntimeError, match="disallowed device-to-device"):
        EXPLICIT[name](X)


def test_what_is_there_already():
    with tangrad.transfer_guard("disallow"):
        tangrad.jit(lambda y: y + 1, in_shardings=rows())(SPREAD)
        (SPREAD + SPREAD).sum()
        tangrad.device_put(ELSEWHERE, tangrad.devices()[3])


def test_from_the_host_over_a_mesh_by_way_of_the_first_device():
    double = tangrad.jit(lambda y: y + y, in_shardings=rows())
    for guard in (tangrad.transfer_guard_host_to_device, tangrad.transfer_guard_device_to_device):
        with guard("disallow"), pytest.raises(RuntimeError, match="disallowed"):
            double(np.arange(8.0))
    with tangrad.transfer_guard("disallow"):
        assert double(tangrad.device_put(np.arange(8.0), rows())).tolist() == [2.0 * i for i in range(8)]


def test_made_of_parts():
    with tangrad.transfer_guard("disallow"), pytest.raises(RuntimeError, match="host-to-device"):
        tangrad.make_array_from_callback((8,), rows(), lambda index: np.arange(8.0)[index])
