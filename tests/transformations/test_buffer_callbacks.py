"""`buffer_callback` and `smap`: compiled, mapped, with aliases; and what they refuse."""

from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.experimental.buffer_callback import Buffer, ExecutionContext, ExecutionStage, buffer_callback

X = onp.arange(3, dtype=onp.float32)
RESULT = tangrad.ShapeDtypeStruct((3,), "float32")


def added(context: ExecutionContext, out: Any, x: Any, y: Any = 0) -> None:
    assert context.stage is ExecutionStage.EXECUTE
    assert isinstance(out, Buffer)
    out[...] += x + y


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_compiled_and_mapped(backend: str) -> None:
    for method, other in (("expand_dims", X), ("sequential", X), ("broadcast_all", X)):
        call = buffer_callback(added, RESULT, vmap_method=method)
        assert tangrad.jit(call, backend=backend)(X, y=other).tolist() == [0, 2, 4]
        mapped = tangrad.vmap(lambda x, y, call=call: call(x, y), in_axes=(0, None))
        assert tangrad.jit(mapped, backend=backend)(onp.stack([X, 2 * X]), X).tolist() == [[0, 2, 4], [0, 3, 6]]
    assert call(X).tolist() == [0, 1, 2]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_aliases_and_trees(backend: str) -> None:
    def both(context: ExecutionContext, out: Any, pair: Any) -> None:
        out["a"][...] += pair[1]
        out["b"][...] = pair[0].sum()

    results = {"a": RESULT, "b": tangrad.ShapeDtypeStruct((), "float32")}
    call = tangrad.jit(buffer_callback(both, results, input_output_aliases={0: 0}), backend=backend)
    found = call((X, 10 * X))
    assert found["a"].tolist() == [0, 11, 22]
    assert found["b"] == 3
    assert X.tolist() == [0, 1, 2]


def test_side_effects_happen_once_for_each_run() -> None:
    calls = []

    def counted(context: ExecutionContext, out: Any, x: Any) -> None:
        calls.append(float(x[0]))

    unused = tangrad.jit(lambda x: (buffer_callback(counted, RESULT, has_side_effect=True)(x), x)[1])
    unused(X).block_until_ready()
    unused(X + 1).block_until_ready()
    tangrad.effects_barrier()
    assert calls == [0, 1]


def test_refused() -> None:
    with pytest.raises(TypeError, match="callback must be a function"):
        buffer_callback(3, RESULT)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        buffer_callback(added, RESULT, vmap_method="x")
    with pytest.raises(ValueError, match="called one by one"):
        buffer_callback(added, RESULT, vmap_method="expand_dims", has_side_effect=True)
    for aliases, message in (({1: 0}, "argument 1"), ({0: 1}, "result 1"), ({0: 0}, "of another type")):
        with pytest.raises(ValueError, match=message):
            buffer_callback(added, RESULT, input_output_aliases=aliases)(onp.float32([1, 2]))


MESH = tangrad.make_mesh((1, 1), ("x", "y"))


def test_maps_over_one_axis() -> None:
    @tangrad.smap(in_axes=(0, None), out_axes=(0, None), axis_name="x")
    def outer(a: Any, b: Any) -> Any:
        inner = tangrad.smap(lambda v: v + tangrad.lax.axis_index("y"), in_axes=1, out_axes=1, axis_name="y")
        return inner(a) * b, tangrad.lax.psum(a.sum(), "x")

    with MESH:
        rows, total = tangrad.jit(outer)(np.ones((2, 3)), 2.0)
    assert rows.tolist() == [[2, 2, 2]] * 2
    assert total == 6
    with MESH:
        slope = tangrad.grad(lambda x: outer(x, 3.0)[0].sum())(np.ones((2, 3)))
    assert slope.tolist() == [[3, 3, 3]] * 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"in_axes": 0, "out_axes": 0, "axis_name": ("x", "y")}, TypeError, "the name of one axis"),
        ({"in_axes": [0], "out_axes": 0, "axis_name": "x"}, TypeError, "in_axes must be an integer, None"),
        ({"in_axes": 0, "out_axes": "x", "axis_name": "x"}, TypeError, "out_axes must be integers"),
        ({"in_axes": -1, "out_axes": 0, "axis_name": "x"}, ValueError, "in_axes must count dimensions from the front"),
    ],
)
def test_maps_that_are_refused(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tangrad.smap(lambda v: v, **options)
