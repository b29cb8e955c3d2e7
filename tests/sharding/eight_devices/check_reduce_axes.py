"""`reduce_axes` on meshes: in `pmap`, `soft_pmap`, `shard_map` and `xmap`, however they get onto the devices."""

from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax
from tangrad._xmap.lowering import manual_lowering, spmd_lowering
from tangrad.experimental.maps import SerialLoop
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, mesh

W = np.linspace(-1, 1, 4, dtype=np.float32)
X = (np.arange(32, dtype=np.float32).reshape(8, 4) - 9) / 8
EACH = np.cos(W * X) * X
TOTAL = EACH.sum(0)


def wave(w: Any, x: Any) -> Any:
    return tnp.sum(tnp.sin(w * x))


def looped(w: Any, x: Any) -> Any:
    return lax.scan(lambda total, pair: (total + tnp.sin(pair[0] * pair[1]), None), 0.0, (w, x))[0]


# XLA takes a second for each.
LOSSES = [looped] if ON_XLA else [wave, tangrad.jit(wave), tangrad.checkpoint(wave), looped]


def total(loss: Any, axes: Any) -> Any:
    return tangrad.grad(loss, reduce_axes=axes)


@pytest.mark.parametrize("loss", LOSSES)
def test_pmap(loss: Any) -> None:
    each = tangrad.pmap(total(loss, ()), "i", in_axes=(None, 0))(W, X)
    assert_equal(each, EACH)
    found = tangrad.pmap(total(loss, "i"), "i", in_axes=(None, 0))(W, X)
    assert_equal(found, np.stack([TOTAL] * 8))
    one = tangrad.pmap(total(loss, "i"), "i", in_axes=(None, 0), out_axes=None)(W, X)
    assert_equal(one, TOTAL)
    own = tangrad.pmap(total(loss, "i"), "i")(np.stack([W] * 8), X)  # what each device has of its own
    assert_equal(own, EACH)


@pytest.mark.parametrize("loss", LOSSES)
def test_soft_pmap(loss: Any) -> None:
    many = np.concatenate([X, X + 1, X - 2])
    found = tangrad.soft_pmap(total(loss, "i"), "i", in_axes=(None, 0), out_axes=None)(W, many)
    assert_equal(found, (np.cos(W * many) * many).sum(0), 1e-4)


def test_pmap_in_pmap_and_vmap_in_pmap() -> None:
    pairs = X.reshape(4, 2, 4)
    inner = tangrad.pmap(total(wave, ("i", "j")), "j", in_axes=(None, 0), out_axes=None)
    assert_equal(tangrad.pmap(inner, "i", in_axes=(None, 0), out_axes=None)(W, pairs), TOTAL)
    rows = tangrad.vmap(total(wave, "j"), (None, 0), None, axis_name="j")
    assert_equal(tangrad.pmap(rows, "i", in_axes=(None, 0))(W, pairs), EACH.reshape(4, 2, 4).sum(1))


def test_a_training_loop_in_pmap() -> None:
    def train(w: Any, x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, w: w - 0.01 * total(wave, "i")(w, x), w)

    expected = W
    for _ in range(3):
        expected = expected - 0.01 * (np.cos(expected * X) * X).sum(0)
    assert_equal(tangrad.pmap(train, "i", in_axes=(None, 0), out_axes=None)(W, X), expected)


def test_a_gradient_from_outside_of_one_inside() -> None:
    def of(w: Any) -> Any:
        return tangrad.pmap(lambda w, x: tnp.sum(total(wave, "i")(w, x)), "i", in_axes=(None, 0), out_axes=None)(w, X)

    assert_equal(tangrad.grad(of)(W), (-np.sin(W * X) * X * X).sum(0), 1e-4)


def test_rules_that_are_traced_when_the_map_is_differentiated() -> None:
    @tangrad.custom_vjp
    def f(w: Any, x: Any) -> Any:
        return wave(w, x)

    f.defvjp(lambda w, x: (wave(w, x), (w, x)), lambda res, ct: (ct * total(wave, "i")(*res), None))

    def of(w: Any) -> Any:
        return tnp.sum(tangrad.pmap(f, "i", in_axes=(None, 0))(w, X))

    assert_equal(tangrad.grad(of)(W), 8 * TOTAL, 1e-4)  # each device has the total, and these are summed


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_shard_map(loss: Any, checked: bool) -> None:
    rows = P(("x", "y"))

    def on_device(w: Any, x: Any) -> Any:
        return total(loss, ("x", "y"))(w, x[0])

    mapped = tangrad.shard_map(on_device, mesh=mesh(), in_specs=(P(), rows), out_specs=P(), check_vma=checked)
    assert_equal(mapped(W, X), TOTAL)
    assert_equal(tangrad.jit(mapped)(W, X), TOTAL)


def test_one_axis_of_a_mesh() -> None:
    def on_device(w: Any, x: Any) -> Any:
        return total(wave, "y")(w, x[0])[None]

    mapped = tangrad.shard_map(on_device, mesh=mesh(), in_specs=(P(), P(("x", "y"))), out_specs=P("x"), check_vma=False)
    assert_equal(mapped(W, X), EACH.reshape(2, 4, 4).sum(1))


@pytest.mark.parametrize("resources", [{}, {"batch": "x"}, {"batch": ("x", "y")}])
@pytest.mark.parametrize("spmd", [(True, False), (True, True), (False, False)])
def test_xmap(resources: Any, spmd: Any) -> None:
    mapped = tangrad.xmap(total(wave, "batch"), in_axes=({}, {0: "batch"}), out_axes={}, axis_resources=resources)
    with spmd_lowering(spmd[0]), manual_lowering(spmd[1]), mesh():
        assert_equal(mapped(W, X), TOTAL)


def test_serial_loops_refuse_sums_over_them() -> None:
    mapped = tangrad.xmap(
        total(wave, "batch"), in_axes=({}, {0: "batch"}), out_axes={}, axis_resources={"batch": SerialLoop(2)}
    )
    with pytest.raises(NotImplementedError, match="batch"):
        mapped(W, X)
