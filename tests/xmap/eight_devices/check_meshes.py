"""Where axes on a mesh end up: the shardings of results, the collectives of each lowering, other arguments."""

import re
from contextlib import ExitStack
from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._xmap.lowering import manual_lowering, spmd_lowering
from tangrad.experimental.maps import SerialLoop, xmap
from tangrad.sharding import NamedSharding
from tangrad.sharding import PartitionSpec as P

ON_XLA = tangrad.default_backend() == "xla"
MESH = tangrad.make_mesh((2, 4), ("x", "y"))
A = onp.random.default_rng(0).normal(size=(8, 16)).astype(onp.float32)
W = onp.random.default_rng(1).normal(size=(16, 4)).astype(onp.float32)
LOWERINGS = ["spmd", "manual", "replicated"]


def within(lowering: str) -> ExitStack:
    context = ExitStack()
    context.enter_context(spmd_lowering(lowering != "replicated"))
    context.enter_context(manual_lowering(lowering == "manual"))
    context.enter_context(MESH)
    return context


def product() -> Any:
    return xmap(
        lambda a, w: np.einsum("{b,in},{in,o}->{b,o}", a, w),
        in_axes=({0: "b", 1: "in"}, {0: "in", 1: "o"}),
        out_axes={0: "b", 1: "o"},
        axis_resources={"b": "x", "in": "y"},
    )


def centred(**more: Any) -> Any:
    return xmap(
        lambda a: a - lax.pmean(a, "b"), in_axes={0: "b"}, out_axes={1: "b"}, axis_resources={"b": ("x", "y"), **more}
    )


def collectives(mapped: Any, *args: Any) -> dict[str, int]:
    text = mapped.lower(*args).compile().as_text()
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
    return {kind: count for kind in kinds if (count := len(re.findall(rf"{kind}(?:-start)?\(", text)))}


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_results_are_sharded_as_their_axes(lowering: str) -> None:
    with within(lowering):
        found, other = product()(A, W), centred()(A)
    onp.testing.assert_allclose(found, A @ W, rtol=1e-4, atol=1e-4)
    onp.testing.assert_allclose(other, (A - A.mean(0)).T, rtol=1e-4, atol=1e-4)
    expected = [P(), P()] if lowering == "replicated" else [P("x", None), P(None, ("x", "y"))]
    for array, spec in zip((found, other), expected, strict=True):
        assert array.sharding.is_equivalent_to(NamedSharding(MESH, spec), 2), array.sharding


@pytest.mark.skipif(not ON_XLA, reason="counted in HLO")
@pytest.mark.parametrize(
    ("lowering", "of_product", "of_centred"),
    [
        ("spmd", {"all-reduce": 1}, {"all-reduce": 1}),  # the contracted axis stays cut: one sum of partial products
        ("manual", {"all-gather": 2}, {"all-reduce": 1}),  # einsum gathers both operands along it
        ("replicated", {"all-gather": 3}, {"all-reduce": 1, "all-gather": 1}),  # and the results
    ],
)
def test_collectives(lowering: str, of_product: Any, of_centred: Any) -> None:
    with within(lowering):
        assert collectives(product(), A, W) == of_product
        assert collectives(centred(), A) == of_centred


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_transformed_on_a_mesh(lowering: str) -> None:
    with within(lowering):
        value, grads = tangrad.value_and_grad(lambda a, w: np.sum(np.sin(product()(a, w))), (0, 1))(A, W)
        batch = tangrad.jit(tangrad.vmap(centred()))(onp.stack([A, 2 * A]))
        loops = xmap(
            lambda a: a * 2 + lax.axis_index("b"),
            in_axes={0: "b"},
            out_axes={0: "b"},
            axis_resources={"b": ("x", SerialLoop(2))},
        )
        looped = loops(A)
    expected, plain = tangrad.value_and_grad(lambda a, w: np.sum(np.sin(a @ w)), (0, 1))(A, W)
    onp.testing.assert_allclose(value, expected, rtol=1e-4)
    for one, other in zip(grads, plain, strict=True):
        onp.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    onp.testing.assert_allclose(batch[1], 2 * (A - A.mean(0)).T, rtol=1e-4, atol=1e-4)
    onp.testing.assert_allclose(looped, A * 2 + onp.arange(8)[:, None], rtol=1e-5)


def test_nested_maps_on_two_mesh_axes() -> None:
    def row(a: Any) -> Any:
        return xmap(
            lambda v: v * 2 - lax.psum(v, ("b", "k")), in_axes={0: "k"}, out_axes={0: "k"}, axis_resources={"k": "y"}
        )(a)

    with MESH:
        found = xmap(row, in_axes={0: "b"}, out_axes={0: "b"}, axis_resources={"b": "x"})(A)
    onp.testing.assert_allclose(found, A * 2 - A.sum(), rtol=1e-4, atol=1e-4)


def test_arguments_of_another_sharding() -> None:
    with MESH:
        by_rows = tangrad.device_put(A, NamedSharding(MESH, P(("x", "y"))))
        onp.testing.assert_allclose(centred()(by_rows), (A - A.mean(0)).T, rtol=1e-4, atol=1e-4)
        everywhere = tangrad.device_put(A, NamedSharding(MESH, P()))
        onp.testing.assert_allclose(centred()(everywhere), (A - A.mean(0)).T, rtol=1e-4, atol=1e-4)
        by_columns = tangrad.device_put(A, NamedSharding(MESH, P(None, "x")))
        with pytest.raises(ValueError, match=r"args\[0\] of .* is sharded over devices already, .* move it first"):
            centred()(by_columns)


def test_what_does_not_divide() -> None:
    with (
        MESH,
        pytest.raises(
            ValueError, match="axis 'b' of size 6 does not divide into 8 equal parts, over mesh axis 'x' of size 2"
        ),
    ):
        centred()(A[:6])
