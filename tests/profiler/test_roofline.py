"""What programs cost: by the rules of primitives, by decomposition, by shapes; in loops, parts, and derivatives."""

from typing import Any

import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.core import PrimitiveSet, ShapedArray
from tangrad.experimental.roofline import (
    Cost,
    RooflineResult,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)
from tangrad.sharding import PartitionSpec as P

X = tangrad.ShapeDtypeStruct((8, 4), "float32")
W = tangrad.ShapeDtypeStruct((4, 16), "float32")


def test_products_are_counted_exactly() -> None:
    shapes, result = roofline(jnp.dot)(X, W)
    assert shapes.shape == (8, 16) and shapes.dtype == "float32"
    assert result.flops == result.unfused_flops == 2 * 8 * 4 * 16
    moved = 4 * (8 * 4 + 4 * 16 + 8 * 16)
    assert result.hbm_bytes == result.unfused_hbm_bytes == result.peak_hbm_bytes == moved
    cost = result.by_primitive["contractions.dot_general"]
    assert cost == Cost(1, 1024, 4 * (32 + 64), 4 * 128)


def test_what_fuses_counts_among_the_unfused_alone() -> None:
    result = roofline(lambda x: jnp.sin(x) + 1)(X)[1]
    assert result.flops == result.hbm_bytes == 0 and result.unfused_flops == 64
    assert result.unfused_hbm_bytes == 4 * (32 + 32) + 4 * (32 + 1 + 32)
    moved = roofline(lambda x: x.T)(X)[1]
    assert moved.unfused_flops == 0 and moved.unfused_hbm_bytes == 2 * 4 * 32
    summed = roofline(lambda x: x.sum(1))(X)[1]
    assert summed.unfused_flops == 32


def test_convolutions_and_factorisations() -> None:
    image, kernel = tangrad.ShapeDtypeStruct((2, 3, 8, 8), "float32"), tangrad.ShapeDtypeStruct((5, 3, 3, 3), "float32")
    result = roofline(lambda x, w: lax.conv(x, w, (1, 1), "SAME"))(image, kernel)[1]
    assert result.flops == 2 * (2 * 5 * 8 * 8) * (3 * 3 * 3)
    square = tangrad.ShapeDtypeStruct((6, 6), "float32")
    assert roofline(lax.linalg.cholesky)(square)[1].flops > 6**3 // 3 - 1


def test_loops_and_branches() -> None:
    def loop(x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=10)[0]

    assert roofline(loop)(X)[1].unfused_flops == 320
    assert roofline(loop)(X)[1].by_primitive["elementwise.sin"].calls == 10
    branch = roofline(lambda p, x: lax.cond(p, lambda x: x, lambda x: jnp.sin(jnp.cos(x)), x))
    elementwise = branch(tangrad.ShapeDtypeStruct((), "bool"), X)[1]
    assert elementwise.by_primitive["elementwise.sin"].calls == elementwise.by_primitive["elementwise.cos"].calls == 1
    assert roofline(tangrad.jit(tangrad.checkpoint(jnp.sin)))(X)[1].unfused_flops == 32


def test_gradients() -> None:
    def loss(x: Any, w: Any) -> Any:
        return jnp.dot(x, w)

    _, forward, both = roofline_and_grad(loss)(X, W)
    assert forward.flops == 1024 and both.flops == 3 * 1024 - 1024  # the product itself is not needed for its gradient
    assert roofline(loss, vjp=True)(X, W)[1] == both


def test_the_part_of_one_device() -> None:
    mesh = tangrad.make_mesh((1,), ("x",))
    part = roofline(lambda x: lax.psum(jnp.sin(x), "x"), mesh, P("x"), P())(X)[1]
    assert part.by_primitive["elementwise.sin"].flops == 32
    assert part.ici_bytes == {"x": 128}


def test_rules_of_others() -> None:
    family = PrimitiveSet("test_of_roofline", api=1)
    solver = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="solver")
    unknown = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="unknown")
    free = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="free")
    made = family.primitive(
        lambda x: ShapedArray(x.shape, x.dtype), name="made", decompose=lambda x: jnp.sin(jnp.cos(x))
    )

    @register_roofline(solver)
    def rule(ctx: Any, x: Any) -> Any:
        assert ctx.primitive is solver and ctx.avals_out[0].shape == x.shape
        return ctx.cost(flops=x.size**2, fuses=False)

    register_standard_roofline(free)
    result = roofline(solver.bind)(X)[1]
    assert result.flops == 32**2 and result.hbm_bytes == 256
    assert roofline(unknown.bind)(X)[1].unfused_flops == 32
    assert roofline(free.bind)(X)[1] == RooflineResult(peak_hbm_bytes=256)
    assert roofline(made.bind)(X)[1].unfused_flops == 64


def test_a_rule_that_returns_something_else_is_named() -> None:
    family = PrimitiveSet("test_of_wrong_roofline", api=1)
    wrong = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="wrong")
    register_roofline(wrong)(lambda ctx, x: 3)
    with pytest.raises(
        TypeError, match=r"the roofline rule of 'test_of_wrong_roofline.wrong' returned 3; expected what"
    ):
        roofline(wrong.bind)(X)
    with pytest.raises(TypeError, match="roofline expects a function, got 3"):
        roofline(3)  # type: ignore[arg-type]


def test_printed_and_added(capsys: pytest.CaptureFixture[str]) -> None:
    result = roofline(jnp.sin, print_jaxpr=True)(X)[1]
    assert "sin" in capsys.readouterr().out
    assert (result + result).unfused_flops == (2 * result).unfused_flops == 64
    assert RooflineResult.zeros() + result == result
    assert RooflineShape((3,), jnp.dtype("float16")).bytes == 6
    key = tangrad.random.key(0)
    assert roofline(lambda key: tangrad.random.uniform(key, (3,)))(key)[1].unfused_flops > 3
