"""`xla_computation`: what XLA would get, read back and run by XLA itself."""

import re
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jaxlib")

import tangrad
from tangrad import lax
from tangrad.sharding import PartitionSpec as P

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def text_of(fun: Any, *args: Any, **options: Any) -> str:
    return tangrad.xla_computation(fun, **options)(*args).as_hlo_text()


def layout(text: str) -> str:
    """The types of the program, without the order of dimensions in memory."""
    return re.sub(r"\{[\d,]*\}", "", text.splitlines()[0].split("entry_computation_layout={")[1]).removesuffix("}")


def groups_of(text: str) -> list[str]:
    return re.findall(r"replica_groups=(\{\{.*?\}\})", text)


def test_forms() -> None:
    found = tangrad.xla_computation(lambda x: tangrad.numpy.sin(x) @ x.T)(X)
    assert "sine(" in found.as_hlo_text() and "ENTRY main" in found.as_hlo_text()
    assert found.as_hlo_dot_graph().startswith("digraph")
    again = type(found)(found.as_serialized_hlo_module_proto())
    assert again.as_hlo_text() == found.as_hlo_text()
    assert [tuple(shape.dimensions()) for shape in found.program_shape().parameter_shapes()] == [(4, 3)]
    assert found.program_shape().result_shape().is_tuple()


def test_from_types_alone_and_with_keywords() -> None:
    struct = tangrad.ShapeDtypeStruct((3,), "int32")
    text = text_of(lambda a: {"b": a["x"] + 1, "c": 3.0}, {"x": struct})
    assert layout(text) == "(s32[3])->(s32[3], f32[])"
    found = tangrad.xla_computation(lambda x, *, y: x + y)(struct, y=2.0).as_hlo_text()
    assert layout(found) == "(s32[3], f32[])->(f32[3])"


def test_unused_arguments_stay_and_static_ones_go() -> None:
    text = text_of(lambda n, x, y: x * n, 3, 1.0, 2, static_argnums=0)
    assert layout(text) == "(f32[], s32[])->(f32[])" and "constant(3)" in text


def test_shape_of_the_result() -> None:
    found, shape = tangrad.xla_computation(lambda x: (x.sum(0), [x > 1]), return_shape=True)(X)
    assert "reduce(" in found.as_hlo_text()
    assert shape == (tangrad.ShapeDtypeStruct((3,), "float32"), [tangrad.ShapeDtypeStruct((4, 3), "bool")])


def test_arguments_as_a_tuple() -> None:
    many = [np.float32(number) for number in range(101)]
    assert layout(text_of(lambda x, y: x + y, 1.0, 2.0, tuple_args=True)) == "((f32[], f32[]))->(f32[])"
    assert layout(text_of(lambda x: sum(x), many, tuple_args=None)).startswith("((f32[], ")
    assert layout(text_of(lambda x: sum(x), many[:100], tuple_args=None)).startswith("(f32[], ")
    assert layout(text_of(lambda x: sum(x), many)).startswith("(f32[], ")


def test_donation() -> None:
    text = text_of(lambda x, y: x + y, X, X, donate_argnums=1)
    assert re.search(r"input_output_alias=\{ \{0?\}: \(1, \{\}, may-alias\) \}", text)
    with pytest.warns(UserWarning, match="donated"):
        text_of(lambda x: x.sum(), X, donate_argnums=0)


def test_constants_are_results_however_asked() -> None:
    for asked in (None, True, False):
        assert layout(text_of(lambda x: (x, 1), 2.0, instantiate_const_outputs=asked)) == "(f32[])->(f32[], s32[])"


# --- axis environments ----------------------------------------------------------------------------------------------


def test_replica_groups() -> None:
    def sums(x: Any) -> Any:
        # Of integers, which have no NaN that is looked for.
        return lax.psum(x, "i"), lax.pmax(x.astype("int32"), "j"), lax.psum(x, ("i", "j"))

    text = text_of(sums, 5.0, axis_env=[("i", 4), ("j", 2)])
    assert groups_of(text) == ["{{0,2,4,6},{1,3,5,7}}", "{{0,1},{2,3},{4,5},{6,7}}", "{{0,1,2,3,4,5,6,7}}"]
    assert "channel_id" not in text


@pytest.mark.parametrize(
    ("function", "operation"),
    [
        (lambda x: lax.all_gather(x, "i"), "all-gather("),
        (lambda x: lax.psum_scatter(x, "i"), "reduce-scatter("),
        (lambda x: lax.all_to_all(x, "i", 0, 0), "all-to-all("),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]), "source_target_pairs={{0,2},{2,0},{1,3},{3,1}}"),
        (lambda x: lax.axis_index("i"), "replica-id()"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1]]), "replica_groups={{0},{2},{1},{3}}"),
        (lambda x: lax.pmean(tangrad.jit(lambda y: lax.psum(y, "i"))(x), "j"), "replica_groups={{0,2},{1,3}}"),
        (lambda x: tangrad.grad(lambda y: lax.psum(y.sum(), "i"))(x), "replica_groups={{0,2},{1,3}}"),
        (lambda x: lax.fori_loop(0, 3, lambda _, y: lax.psum(y, "i"), x), "replica_groups={{0,2},{1,3}}"),
    ],
)
def test_collectives(function: Any, operation: str) -> None:
    text = text_of(function, X[:2], axis_env=[("i", 2), ("j", 2)])
    assert operation in text and "channel_id" not in text and "partition-id" not in text


def test_axes_that_are_not_there() -> None:
    with pytest.raises(NameError, match=r"'k'.*'i' \(size 4\)"):
        text_of(lambda x: lax.psum(x, "k"), 1.0, axis_env=[("i", 4)])
    text_of(lambda x: lax.psum(x, "i"), 1.0, axis_env=[("i", 4)])
    with pytest.raises(NameError, match="no named axis is in scope"):
        text_of(lambda x: lax.psum(x, "i"), 1.0)


# --- parts ----------------------------------------------------------------------------------------------------------


def test_parts() -> None:
    options = {"in_parts": ((2, 1), None), "out_parts": ((None, 2), None)}
    text = text_of(lambda x, y: (x @ y, y), X[:, :2], X[:2, :2], **options)
    arguments = [line for line in text.splitlines() if "parameter(" in line]
    assert "sharding={devices=[2,1]0,1}" in arguments[0] and "sharding={replicated}" in arguments[1]
    assert "sharding={devices=[1,2]0,1}" in text
    assert "devices=" not in text_of(lambda x: x, X, in_parts=(1, 1))


def test_parts_of_prefixes_and_replicas() -> None:
    text = text_of(lambda t: lax.psum(t["a"] + t["b"], "i"), {"a": X, "b": X}, in_parts=((4,),), axis_env=[("i", 2)])
    assert groups_of(text) == ["{{0,1}}"]
    assert len([line for line in text.splitlines() if "parameter(" in line and "devices=[4,1]" in line]) == 2


@pytest.mark.parametrize(
    ("parts", "kind", "message"),
    [
        ((3,), ValueError, r"dimension 0 of f32\[4,3\], of size 4, into 3"),
        ((0, 2), ValueError, "into 0"),
        ((1, 1, 2), ValueError, "3 numbers of parts"),
        (P("x"), TypeError, "must be a tuple of integers, or None, got P"),
        (2, TypeError, "must be a tuple of integers, or None, got 2"),
        (((2,), (2,)), ValueError, "in_parts"),
    ],
)
def test_parts_that_do_not_fit(parts: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        text_of(lambda x: x, X, in_parts=parts)


def test_parts_that_differ() -> None:
    with pytest.raises(ValueError, match=r"same number of parts.*\(4, 1\), which are 4, and \(2, 1\), which are 2"):
        text_of(lambda x: x, X, in_parts=((4,),), out_parts=P(2))
    with pytest.raises(ValueError, match="positional"):
        tangrad.xla_computation(lambda x: x, in_parts=P(2))(x=X)


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"fun": 3}, TypeError, "expects a function, got 3"),
        ({"axis_env": [("i", 0)]}, ValueError, "'i' .* positive size, got 0"),
        ({"axis_env": [("i", 2), ("i", 2)]}, ValueError, "'i' twice"),
        ({"axis_env": ["i"]}, TypeError, "pairs of a name and a size, got 'i'"),
        ({"static_argnums": 4}, ValueError, "static_argnums has 4"),
        ({"donate_argnums": 4}, ValueError, "donate_argnums has 4"),
    ],
)
def test_bad_options(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tangrad.xla_computation(**{"fun": lambda x: x, **arguments})


def test_bad_calls() -> None:
    with pytest.raises(TypeError, match="compiles by XLA, got backend='numpy'"):
        text_of(lambda x: x, X, backend="numpy")
    with pytest.raises(TypeError, match="not an array"):
        text_of(lambda x: x, "text")
    with pytest.raises(TypeError, match="which is traced"):
        tangrad.jit(lambda y: text_of(lambda x: x + y, 1.0))(2.0)


def test_nothing_is_run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "f32[1000000,1000000]" in text_of(lambda x: x + 1, tangrad.ShapeDtypeStruct((10**6, 10**6), "float32"))


def test_of_a_mapped_function_on_one_device():
    mapped = tangrad.pmap(lambda x: x + lax.psum(x, ("i", "j")), "i", devices=tangrad.devices("xla")[:1])
    text = tangrad.xla_computation(mapped, axis_env=[("j", 4)])(np.ones((1, 3), np.float32)).as_hlo_text()
    assert "f32[1,3]" in text and "replica_groups={{0,1,2,3}}" in text


def test_gradients_that_are_summed_along_axes() -> None:
    """Replicas have arguments of their own, whose gradients stay apart; that of what is the same in all is one sum."""

    def all_reduces(weights: Any) -> int:
        def gradient(w: Any, x: Any) -> Any:
            return tangrad.grad(lambda w: (w * x).sum(), reduce_axes="i")(weights(w))

        return text_of(gradient, np.ones(3), np.ones(3), axis_env=[("i", 4)]).count(" all-reduce(")

    assert all_reduces(lambda w: w) == 0
    assert all_reduces(lambda w: lax.psum(w, "i")) == 1


def test_parallel_maps_of_more_examples_than_devices() -> None:
    """Nothing runs, so no device is missing."""
    for function in (lambda x: x, lambda x: x + 1, lambda x: lax.psum(x, "i"), lambda x: x * lax.axis_index("i")):
        found = tangrad.xla_computation(tangrad.pmap(function, axis_name="i"))(np.arange(64))
        assert "s32[64]" in found.as_hlo_text()
        with pytest.raises(ValueError, match="the mapped axis has size 64"):
            tangrad.pmap(function, axis_name="i")(np.arange(64))
