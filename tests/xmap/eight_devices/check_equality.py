"""One program, the same numbers: by xmap with any resources, lowered in each of three ways, and by plain `vmap`.

Hypothesis draws the program, where its axes are in the arguments, the mesh, the resources and the lowering.
"""

import math
import os
from contextlib import ExitStack
from typing import Any

import numpy as onp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.experimental.maps import SerialLoop, xmap
from tangrad.xmapping.lowering import manual_lowering, spmd_lowering

ON_XLA = tangrad.default_backend() == "xla"
EXAMPLES = int(os.environ.get("XMAP_EXAMPLES", 10 if ON_XLA else 100))
SIZES = {"i": 8, "j": 4}
RNG = onp.random.default_rng(0)
A = RNG.normal(size=(8, 3, 4)).astype(onp.float32)
B = RNG.normal(size=(3, 4)).astype(onp.float32)
RING = [(k, (k + 1) % 8) for k in range(8)]

# Steps (value varying along i and j of shape (3,), value varying along j of shape (3,)) -> the same.
LOCAL: dict[str, Any] = {
    "sin": lambda a, b: (np.sin(a) + b, b),
    "matmul": lambda a, b: (np.outer(a, b) @ b, b * 2),
    "scan": lambda a, b: (lax.scan(lambda c, x: (c * 0.5 + x, c), a[0], a + b)[1], b),
    "cond": lambda a, b: (lax.cond(a[0] > 0, lambda v: v * 2, lambda v: v - 1, a), b),
    "index": lambda a, b: (a + lax.axis_index("i") - lax.axis_index(("j", "i")) / 8, b + lax.axis_index("j")),
    "jit": lambda a, b: (tangrad.jit(lambda v: v * lax.axis_index("i"))(a), b),
    "grad": lambda a, b: (tangrad.grad(lambda v: np.sum(np.tanh(v * b)))(a), b),
    "checkpoint": lambda a, b: (tangrad.checkpoint(lambda v: np.cos(np.sin(v)))(a), b),
}
ALONG_I: dict[str, Any] = {
    "psum": lambda a, b: (a - lax.psum(a, "i") / 8, b),
    "pmax": lambda a, b: (a * 0.5 + lax.pmax(a, "i"), b),
    "gather": lambda a, b: (a + np.cumsum(lax.all_gather(a, "i"), axis=0)[3], b),
    "ring": lambda a, b: (lax.ppermute(a, "i", RING), b),
    "scatter": lambda a, b: (a + lax.psum_scatter(np.ones((8, 3)) * a, "i"), b),
    "mean": lambda a, b: (a - np.mean(a, axis="i"), b + np.mean(a, axis=(0, "i"))),
    "loop": lambda a, b: (lax.fori_loop(0, 2, lambda k, c: c * 0.5 + lax.pmean(c, "i"), a), b),
}
ALONG_J: dict[str, Any] = {
    "psum j": lambda a, b: (a + lax.psum(b, "j"), b),
    "both": lambda a, b: (a - lax.pmean(a, ("i", "j")), b),
    "softmax": lambda a, b: (tangrad.nn.softmax(a, axis=("j", 0)), b),
    "einsum": lambda a, b: (a + np.einsum("{j}a,{j}a->a{}", b, b), b),
}
STEPS = {**LOCAL, **ALONG_I, **ALONG_J}
NEEDS = {"i": {*ALONG_I, "both"}, "j": {*ALONG_J}}


@st.composite
def resources(draw: Any, names: list[str]) -> Any:
    """A mesh of 1 to 8 devices, and what each axis is spread over."""
    x = draw(st.sampled_from([1, 2, 4]))
    y = draw(st.sampled_from([size for size in (1, 2, 4) if x * size <= 8]))
    left, found = ["x", "y"], {}
    for axis in draw(st.permutations(["i", "j"])):
        mine = draw(st.lists(st.sampled_from(left), unique=True)) if left else []
        parts = math.prod([{"x": x, "y": y}[name] for name in mine])
        if SIZES[axis] % parts:
            continue
        left = [name for name in left if name not in mine]
        loops = [n for n in (1, 2, 4) if SIZES[axis] % (parts * n) == 0] if not NEEDS[axis].intersection(names) else []
        loop = draw(st.sampled_from([0, *loops]))
        if mine or loop:
            found[axis] = (*mine, SerialLoop(loop)) if loop else tuple(mine)
    return (x, y), found


@st.composite
def cases(draw: Any) -> Any:
    names = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3))
    shape, spread = draw(resources(names))
    place = draw(st.sampled_from([(0, 2), (2, 0), (1, 2), (0, 1)]))
    return names, shape, spread, place, draw(st.sampled_from(["spmd", "manual", "replicated"])), draw(st.booleans())


def program(names: list[str]) -> Any:
    def run(a: Any, b: Any) -> Any:
        for name in names:
            a, b = STEPS[name](a, b)
        return a, b

    return run


def order_for(place: tuple[int, int]) -> list[int]:
    """The transposition that puts i, which is in front, and j, which is last, at other dimensions."""
    order = [1, 1, 1]
    order[place[0]], order[place[1]] = 0, 2
    return order


def by_vmap(function: Any) -> Any:
    inner = tangrad.vmap(function, in_axes=(1, 1), out_axes=(0, 0), axis_name="j")
    return tangrad.vmap(inner, in_axes=(0, None), out_axes=(0, 0), axis_name="i")


def assert_close(found: Any, expected: Any) -> None:
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        onp.testing.assert_allclose(onp.asarray(one), onp.asarray(other), rtol=2e-3, atol=2e-3)


@given(cases())
@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_xmap_is_vmap_whatever_the_resources(case: Any) -> None:
    names, shape, spread, place, lowering, differentiated = case
    function, order = program(names), order_for(place)

    def loss(mapped: Any) -> Any:
        return lambda a, b: sum([np.sum(np.sin(out)) for out in mapped(a, b)])

    axes = ({place[0]: "i", place[1]: "j"}, {1: "j"})
    named = xmap(function, in_axes=axes, out_axes=(["i", "j", ...], ["i", "j", ...]), axis_resources=spread)
    plain = by_vmap(function)
    with ExitStack() as context:
        context.enter_context(spmd_lowering(lowering != "replicated"))
        context.enter_context(manual_lowering(lowering == "manual"))
        context.enter_context(tangrad.make_mesh(shape, ("x", "y")))
        if differentiated:
            found = list(tangrad.grad(loss(named), (0, 1))(A.transpose(order), B))
            found[0] = onp.asarray(found[0]).transpose(onp.argsort(order))
            assert_close(found, tangrad.grad(loss(plain), (0, 1))(A, B))
        else:
            assert_close(named(A.transpose(order), B), plain(A, B))
