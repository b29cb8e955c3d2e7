"""xmap under every transformation, against the same function of whole arrays; and the memory of serial loops."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._collectives.named_axes import subst_axis_names
from tangrad.core import find_primitive
from tangrad.core.tools import check_jaxpr
from tangrad.experimental.maps import SerialLoop, xmap

RNG = onp.random.default_rng(0)
X = RNG.normal(size=(4, 3, 5)).astype(onp.float32)
W = RNG.normal(size=(3, 2)).astype(onp.float32)
LOOP = {"i": SerialLoop(2)}


def example(x: Any, w: Any) -> Any:
    return np.tanh(x @ w)


def whole(x: Any, w: Any) -> Any:
    return np.tanh(np.einsum("iaj,ab->jib", x, w))


def mapped(resources: Any = None, function: Any = example) -> Any:
    return xmap(function, in_axes=({0: "i", 2: "j"}, {}), out_axes=["j", "i", ...], axis_resources=resources)


def coupled(x: Any, w: Any) -> Any:
    return lax.psum(example(x, w), "i"), x * lax.pmean(np.sum(w), ("i", "j"))


def by_names() -> Any:
    return xmap(coupled, in_axes=({0: "i", 2: "j"}, {}), out_axes=({0: "j"}, {0: "i", 2: "j"}))


def by_dimensions(x: Any, w: Any) -> Any:
    return whole(x, w).sum(1), x * w.sum()


PAIRS = {
    "separate": (mapped(), whole),
    "looped": (mapped(LOOP), whole),
    "two loops": (mapped({"i": SerialLoop(4), "j": SerialLoop(5)}), whole),
    "coupled": (by_names(), by_dimensions),
}


def close(found: Any, expected: Any) -> None:
    found, expected = tangrad.tree.leaves(found), tangrad.tree.leaves(expected)
    for one, other in zip(found, expected, strict=True):
        onp.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)


def loss(function: Any) -> Any:
    return lambda x, w: sum([np.sum(np.sin(out)) for out in tangrad.tree.leaves(function(x, w))])


def tangents(f: Any) -> Any:
    return tangrad.jvp(f, (X, W), (X[::-1].copy(), W * 2))


TRANSFORMED = {
    "called": lambda f: f(X, W),
    "jit": lambda f: tangrad.jit(f)(X, W),
    "jvp": tangents,
    "jvp of jit": lambda f: tangents(tangrad.jit(f)),
    "grad": lambda f: tangrad.grad(loss(f), (0, 1))(X, W),
    "jit of grad": lambda f: tangrad.jit(tangrad.grad(loss(f), (0, 1)))(X, W),
    "grad of jit": lambda f: tangrad.grad(loss(tangrad.jit(f)), (0, 1))(X, W),
    "jvp of grad": lambda f: tangrad.jvp(tangrad.grad(loss(f), 1), (X, W), (X, W)),
    "grad of grad": lambda f: tangrad.grad(lambda x, w: np.sum(tangrad.grad(loss(f), 1)(x, w) ** 2), (0, 1))(X, W),
    "linearize": lambda f: tangrad.linearize(f, X, W)[1](X * 2, W),
    "vjp of vmap": lambda f: tangrad.grad(lambda ws: np.sum(tangrad.vmap(loss(f), (None, 0))(X, ws)))(
        np.stack([W, 2 * W])
    ),
    "vmap": lambda f: tangrad.vmap(f, (1, None), 1)(onp.stack([X, 2 * X], 1), W),
    "vmap of grad": lambda f: tangrad.vmap(tangrad.grad(loss(f)), (None, 2))(X, onp.stack([W, 2 * W], 2)),
    "scan": lambda f: lax.scan(lambda c, x: (c * 0.5, f(x, c)), W, onp.stack([X, X + 1])),
    "grad of scan": lambda f: tangrad.grad(
        lambda w: np.sum(lax.scan(lambda c, x: (c + loss(f)(x, w), c), 0.0, onp.stack([X, X + 1]))[1])
    )(W),
    "cond": lambda f: lax.cond(X[0, 0, 0] > 5, f, lambda x, w: f(2 * x, w), X, W),
    "checkpoint": lambda f: tangrad.grad(loss(tangrad.checkpoint(f)), (0, 1))(X, W),
    "checkpoint with a policy": lambda f: tangrad.grad(
        loss(tangrad.checkpoint(f, policy=tangrad.checkpoint_policies.dots_saveable)), (0, 1)
    )(X, W),
}


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("pair", PAIRS)
def test_transformed(pair: str, backend: str) -> None:
    ours, plain = PAIRS[pair]
    # What transformations make is the same for every backend: one that compiles for long is given some of it.
    chosen = TRANSFORMED if backend == "numpy" else ["jit", "jit of grad"]
    with tangrad.use_backend(backend):
        for name in chosen:
            close(TRANSFORMED[name](ours), TRANSFORMED[name](plain))


def test_derivatives_inside() -> None:
    inside = xmap(
        tangrad.grad(lambda x, w: np.sum(example(x, w))), in_axes=({0: "i", 2: "j"}, {}), out_axes=["i", None, "j"]
    )
    close(inside(X, W), tangrad.grad(lambda x, w: np.sum(whole(x, w)))(X, W))
    kept = xmap(
        tangrad.checkpoint(example), in_axes=({0: "i", 2: "j"}, {}), out_axes=["j", "i", ...], axis_resources=LOOP
    )
    close(tangrad.grad(loss(kept), (0, 1))(X, W), tangrad.grad(loss(whole), (0, 1))(X, W))


def test_nested() -> None:
    def row(x: Any, w: Any) -> Any:
        inner = xmap(lambda v: v @ w - lax.pmean(np.sum(v), ("i", "j")), in_axes={1: "j"}, out_axes={0: "j"})
        return inner(x)

    nested = xmap(row, in_axes=({0: "i"}, {}), out_axes={1: "i"})

    def plain(x: Any, w: Any) -> Any:
        return np.einsum("iaj,ab->jib", x, w) - x.sum(1).mean()

    close(nested(X, W), plain(X, W))
    close(tangrad.grad(loss(nested), (0, 1))(X, W), tangrad.grad(loss(plain), (0, 1))(X, W))
    close(tangrad.vmap(nested, (None, 0))(X, np.stack([W, W])), tangrad.vmap(plain, (None, 0))(X, np.stack([W, W])))


def test_closed_over_values_of_outer_functions() -> None:
    def outer(w: Any) -> Any:
        return np.sum(xmap(lambda x: np.sin(x @ w), in_axes={0: "i", 2: "j"}, out_axes={0: "i", 1: "j"})(X))

    close(tangrad.grad(outer)(W), tangrad.grad(lambda w: np.sum(np.sin(np.einsum("iaj,ab->ijb", X, w))))(W))


def test_axes_around_are_seen_inside_and_can_be_renamed() -> None:
    function = xmap(lambda x: x - lax.pmean(x, ("o", "i")), in_axes={0: "i"}, out_axes={0: "i"})
    expected = X - X.mean((0, 1))
    close(tangrad.vmap(function, axis_name="o")(X), expected)
    jaxpr = tangrad.make_jaxpr(function, axis_env=[("o", 4)])(X[0])
    renamed = subst_axis_names(jaxpr, {"o": "i"})  # what comes in must not be caught by the axis of that name inside
    assert "'i_1'" in str(renamed)
    again = tangrad.vmap(lambda x: tangrad.core.eval_jaxpr(renamed.jaxpr, renamed.consts, x)[0], axis_name="i")
    close(again(X), expected)


def test_the_program_does_not_depend_on_resources() -> None:
    def body(resources: Any) -> str:
        (eqn,) = tangrad.make_jaxpr(mapped(resources))(X, W).eqns
        assert eqn.primitive is find_primitive("xmapping.xmap")
        return str(eqn.params["jaxpr"])

    assert body(None) == body(LOOP) == body({"j": SerialLoop(5)})


def test_dead_results_and_arguments_go() -> None:
    def both(x: Any, w: Any) -> Any:
        return xmap(lambda x, w: (np.sin(x), np.cos(w)), in_axes=({0: "i"}, {0: "i"}), out_axes={0: "i"})(x, w)[0]

    jaxpr = tangrad.make_jaxpr(both)(X, X)
    check_jaxpr(jaxpr.jaxpr)
    thinned, used = tangrad.core.dce_jaxpr(jaxpr.jaxpr, [True])
    check_jaxpr(thinned)
    assert list(used) == [True, False]
    assert "cos" not in str(thinned)


def test_calls_are_compiled_once() -> None:
    traced = []

    def function(x: Any) -> Any:
        traced.append(x)
        return x + 1

    f = xmap(function, in_axes={0: "i"}, out_axes={0: "i"})
    f(X), f(X), f(2 * X)
    assert len(traced) == 1
    f(X[:2])
    assert len(traced) == 2
    tangrad.grad(lambda x: np.sum(f(x)))(X[:2])
    assert len(traced) == 2


def test_lower_and_donate() -> None:
    f = xmap(lambda x: x + 1, in_axes={0: "i"}, out_axes={0: "i"}, donate_argnums=0)
    compiled = f.lower(tangrad.ShapeDtypeStruct((4, 3), onp.float32)).compile()
    close(compiled(np.ones((4, 3))), onp.full((4, 3), 2.0))
    x = np.ones((4, 3))
    close(f(x), onp.full((4, 3), 2.0))
    assert x.is_deleted()
    on_numpy = xmap(lambda x: x + 1, in_axes={0: "i"}, out_axes={0: "i"}, backend="numpy")
    assert on_numpy(X).device.platform == "cpu"
    assert type(on_numpy(X)).backend.name == "numpy"


def wide(x: Any) -> Any:
    products = np.tanh(np.outer(x, x))
    return np.sum(np.tanh(products @ products))


# XLA keeps nothing of the function itself, only of its gradient.
@pytest.mark.parametrize(("backend", "differentiated"), [("numpy", False), ("numpy", True), ("xla", True)])
def test_a_loop_of_n_turns_needs_one_nth_of_the_memory(backend: str, differentiated: bool) -> None:
    function = tangrad.checkpoint(wide) if differentiated else wide
    x = RNG.normal(size=(16, 96)).astype(onp.float32)

    def peak(turns: int) -> int:
        f: Any = xmap(function, in_axes={0: "i"}, out_axes={0: "i"}, axis_resources={"i": SerialLoop(turns)})
        if differentiated:
            f = tangrad.jit(tangrad.grad(lambda x, f=f: np.sum(f(x))))
        if backend == "xla":
            return int(f.lower(x).compile().memory_analysis().temp_size_in_bytes)
        f(x)
        tracemalloc.start()
        try:
            f(x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with tangrad.use_backend(backend):
        found = {turns: peak(turns) for turns in (1, 2, 4, 8)}
    for turns in (2, 4, 8):
        assert found[turns] < found[1] / turns * 1.35, found


def test_policies_of_checkpoints_inside() -> None:
    """What a policy says to keep is kept, what it does not is computed again in the gradient."""
    policies = tangrad.checkpoint_policies

    def gradient(policy: Any) -> Any:
        kept = tangrad.checkpoint(lambda v, w: np.sin(np.sin(np.dot(v, w))), policy=policy)
        mapped = xmap(kept, in_axes=({0: "i"}, {}), out_axes={0: "i"})
        return tangrad.grad(lambda v, w: np.sum(mapped(v, w)))

    v, w = X[0], X[0].T.copy()
    expected = tangrad.grad(lambda v, w: np.sum(np.sin(np.sin(np.dot(v, w)))))(v, w)
    counts = {}
    for name in ("everything_saveable", "nothing_saveable", "dots_saveable"):
        found = gradient(getattr(policies, name))
        close(found(v, w), expected)
        text = str(tangrad.make_jaxpr(found)(v, w))
        counts[name] = (text.count(" sin "), text.count("dot_general"))
    assert counts["everything_saveable"][0] < counts["dots_saveable"][0] == counts["nothing_saveable"][0], counts
    assert counts["dots_saveable"][1] < counts["nothing_saveable"][1], counts


# --- `lax.pdot` and `lax.xeinsum`: contractions along named axes, against the same sums of whole arrays ---


Y = RNG.normal(size=(4, 3, 2)).astype(onp.float32)
Z = RNG.normal(size=(3, 5)).astype(onp.float32)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "xla"])

# name -> a function of one example along "i", the same of whole arrays as an einsum
CASES = {
    "pdot": (lambda x, y, z: lax.pdot(x[0], y[0], "i"), "ia,ib->ab", lambda x, y, z: (x[:, 0], y[:, 0])),
    "pdot with dimensions": (
        lambda x, y, z: lax.pdot(x, y, ("i",), ((0,), (0,))),
        "ica,icb->ab",
        lambda x, y, z: (x, y),
    ),
    "pdot of pairs": (
        lambda x, y, z: lax.pdot(x, y, "i", pos_batch=((-2,), (0,))),
        "ica,icb->cab",
        lambda x, y, z: (x, y),
    ),
    "pdot with what does not vary": (
        lambda x, y, z: lax.pdot(x, z, "i", ((0, 1), (0, 1))),
        "ica,ca->",
        lambda x, y, z: (x, z),
    ),
    "xeinsum": (lambda x, y, z: lax.xeinsum("ca{i},cb{i}->ab", x, y), "ica,icb->ab", lambda x, y, z: (x, y)),
    "xeinsum of three": (
        lambda x, y, z: lax.xeinsum("{i}ca,{i}cb,ca->cb", x, y, z),
        "ica,icb,ca->cb",
        lambda x, y, z: (x, y, z),
    ),
    "xeinsum of one": (lambda x, y, z: lax.xeinsum("ca{i}->a", x), "ica->a", lambda x, y, z: (x,)),
}


@BACKENDS
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, backend: str) -> None:
    of_one, subscripts, operands = CASES[case]

    def along(x: Any, y: Any, z: Any) -> Any:
        return xmap(of_one, in_axes=({0: "i"}, {0: "i"}, {}), out_axes={}, backend=backend)(x, y, z)

    by_vmap = tangrad.vmap(of_one, in_axes=(0, 0, None), out_axes=None, axis_name="i")
    whole = lambda x, y, z: tangrad.numpy.einsum(subscripts, *operands(x, y, z))
    expected = onp.einsum(subscripts, *operands(X, Y, Z))
    onp.testing.assert_allclose(along(X, Y, Z), expected, rtol=1e-5, atol=1e-5)
    onp.testing.assert_allclose(tangrad.jit(by_vmap, backend=backend)(X, Y, Z), expected, rtol=1e-5, atol=1e-5)
    found = tangrad.grad(lambda *v: (along(*v) ** 2).sum(), (0, 1, 2))(X, Y, Z)
    wanted = tangrad.grad(lambda *v: (whole(*v) ** 2).sum(), (0, 1, 2))(X, Y, Z)
    for ours, theirs in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_pdot_is_one_product_of_whole_arrays() -> None:
    mapped = tangrad.vmap(lambda x, y: lax.pdot(x, y, "i"), out_axes=None, axis_name="i")
    names = [eqn.primitive.name for eqn in tangrad.make_jaxpr(mapped)(X[:, 0], Y[:, 0]).eqns]
    assert names.count("dot_general") == 1
    assert "reduce_sum" not in names


def test_pdot_of_devices_sums_the_products_of_parts() -> None:
    mesh = tangrad.make_mesh((1,), ("i",))
    split, whole = tangrad.P("i"), tangrad.P()
    mapped = tangrad.shard_map(
        lambda x, y: lax.pdot(x, y, "i", ((0,), (0,))), mesh=mesh, in_specs=(split, split), out_specs=whole
    )
    onp.testing.assert_allclose(mapped(X[:, 0], Y[:, 0]), X[:, 0].T @ Y[:, 0], rtol=1e-5, atol=1e-5)
    text = str(tangrad.make_jaxpr(mapped)(X[:, 0], Y[:, 0]))
    assert "psum" in text
    assert "all_gather" not in text


def test_several_names_and_none() -> None:
    two = xmap(lambda x, y: lax.pdot(x, y, ("i", "j")), in_axes=({0: "i", 1: "j"}, {0: "i", 1: "j"}), out_axes={})
    onp.testing.assert_allclose(two(X, Y), onp.einsum("ija,ijb->ab", X, Y), rtol=1e-5, atol=1e-5)
    assert lax.pdot(onp.ones(3, onp.float32), onp.ones(3, onp.float32), (), ((0,), (0,))) == 3.0


def over(of_one: Any) -> Any:
    return tangrad.vmap(of_one, axis_name="i")(X, Y)


REFUSED = {
    "no axis": (lambda x, y: lax.pdot(x, y, "j"), NameError, "named 'j'"),
    "an axis twice": (lambda x, y: lax.pdot(x, y, ("i", "i")), ValueError, "twice"),
    "no dimension": (
        lambda x, y: lax.pdot(x, y, "i", ((2,), (0,))),
        ValueError,
        r"pos_contract\[0\] 2 is out of bounds",
    ),
    "no pair": (lambda x, y: lax.pdot(x, y, "i", 3), TypeError, "pos_contract must be two sequences"),
    "no pair of pairs": (lambda x, y: lax.pdot(x, y, "i", pos_batch=(0, 0)), TypeError, "pos_batch must be two"),
    "sizes": (lambda x, y: lax.pdot(x, y, "i", ((1,), (1,))), ValueError, "5"),
    "no result": (lambda x, y: lax.xeinsum("ca{i},cb{i}", x, y), ValueError, "what the result is"),
    "no text": (lambda x, y: lax.xeinsum([0, 1], x), TypeError, "spec must be a text"),
    "a letter of no operand": (lambda x, y: lax.xeinsum("ca{i}->b", x), ValueError, "'b'"),
    "a name of no operand": (lambda x, y: lax.xeinsum("ca->ca{i}", x), ValueError, "names 'i', and no operand"),
    "no such name": (lambda x, y: lax.xeinsum("ca{k}->ca", x), NameError, "'k'"),
    "operands": (lambda x, y: lax.xeinsum("ca{i}->a", x, y), ValueError, "1 terms, but there are 2 operands"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    of_one, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        over(of_one)


# --- The memory that a serial loop needs: of a chunk, and so 1/n of that of all examples at once ---


EXAMPLES, WIDTH = 64, 64
CHUNKS = (2, 4, 8)


def layer(x: Any, w: Any) -> Any:
    """Of an example of 64 numbers: what is in between has 64 times as many."""
    h = np.tanh(x @ w)
    outer = np.outer(h, h)
    return np.sum(np.sin(outer) @ outer)


def forward(chunks: int) -> Callable[..., Any]:
    spread = {"b": SerialLoop(chunks)} if chunks > 1 else {}
    return tangrad.jit(xmap(layer, in_axes=({0: "b"}, {}), out_axes={0: "b"}, axis_resources=spread))


def gradient(chunks: int) -> Callable[..., Any]:
    spread = {"b": SerialLoop(chunks)} if chunks > 1 else {}
    mapped = xmap(tangrad.checkpoint(layer), in_axes=({0: "b"}, {}), out_axes={0: "b"}, axis_resources=spread)
    return tangrad.jit(tangrad.grad(lambda x, w: np.sum(mapped(x, w)), (0, 1)))


def measured(function: Any, *args: Any) -> int:
    """Bytes that a call allocates at its peak."""
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def analysed(function: Any, *args: Any) -> int:
    """Bytes of temporary values, as XLA's compiler plans them."""
    return int(function.lower(*args).compile().memory_analysis().temp_size_in_bytes)


@pytest.mark.parametrize(
    ("make", "most"),
    [(forward, 1.1), (gradient, 1.25)],  # times 1/n; a gradient also keeps the sum of gradients, whatever the loop
)
@pytest.mark.parametrize(("backend", "memory"), [("numpy", measured), ("xla", analysed)])
def test_memory_goes_down_with_the_number_of_chunks(backend: str, memory: Any, make: Any, most: float) -> None:
    with tangrad.use_backend(backend):
        args = np.ones((EXAMPLES, WIDTH)), np.ones((WIDTH, WIDTH)) / WIDTH
        at_once = memory(make(1), *args)
        shares = {chunks: memory(make(chunks), *args) / at_once for chunks in CHUNKS}
    for chunks, share in shares.items():
        assert 0.7 / chunks < share < most / chunks, shares
