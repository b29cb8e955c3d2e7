"""The input and output shardings of compiled programs. The expected answers are those of JAX 0.10."""

from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad.sharding import AxisType, NamedSharding, SingleDeviceSharding, use_mesh
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import assert_equal, by, matrix, mesh

FIRST = SingleDeviceSharding(tangrad.devices()[0])


def test_arguments_and_results_are_trees_of_shardings() -> None:
    rows = by("x")
    f = tangrad.jit(lambda a, b: ({"s": a["u"] + b}, b.sum()), in_shardings=(rows, None))
    given = {"u": matrix(), "v": np.ones(8, np.float32)}, matrix()
    compiled = f.lower(*given).compile()
    (first, second), keywords = compiled.input_shardings
    assert first == {"u": rows, "v": None} and keywords == {}  # v is not read
    assert second.is_equivalent_to(rows, 2) or second.is_equivalent_to(by(), 2)  # the compiler may choose
    shardings = compiled.output_shardings
    assert shardings[0]["s"].is_equivalent_to(rows, 2) and shardings[1].is_equivalent_to(by(), 0)
    results = compiled(*given)
    assert results[0]["s"].sharding == shardings[0]["s"] and results[1].sharding == shardings[1]
    assert compiled.out_info[0]["s"].sharding == shardings[0]["s"] and compiled.out_info[0]["s"].shape == (8, 8)
    assert_equal(results[0]["s"], 2 * matrix())


def test_one_sharding_is_that_of_every_leaf_below() -> None:
    rows, whole = by("x"), by()
    f = tangrad.jit(lambda a: (2 * a["u"], [a["v"], a["u"]]), in_shardings=rows, out_shardings=(whole, rows))
    compiled = f.lower({"u": matrix(), "v": matrix()}).compile()
    assert compiled.input_shardings == (({"u": rows, "v": rows},), {})
    assert compiled.output_shardings == (whole, [rows, rows])


def test_arrays_and_types_have_their_shardings() -> None:
    rows = by("x")
    for given in (tangrad.device_put(matrix(), rows), tangrad.ShapeDtypeStruct((8, 8), "float32", sharding=rows)):
        compiled = tangrad.jit(lambda a, b: a @ b).lower(given, matrix()).compile()
        assert compiled.input_shardings == ((rows, by()), {})
        assert compiled.output_shardings.is_equivalent_to(rows, 2) or tangrad.default_backend() == "numpy"
        assert compiled(tangrad.device_put(matrix(), rows), matrix()).sharding == compiled.output_shardings


def test_programs_for_one_device() -> None:
    compiled = tangrad.jit(lambda a, b, c, *, k: (k * a, a), static_argnums=1).lower(matrix(), 2, 3.0, k=2.0).compile()
    assert compiled.input_shardings == ((FIRST, None), {"k": FIRST})
    assert compiled.output_shardings == (FIRST, FIRST)
    third = tangrad.devices()[3]
    moved = tangrad.jit(tnp.sin, device=third).lower(matrix()).compile()
    assert moved.input_shardings == ((SingleDeviceSharding(third),), {})
    assert moved.output_shardings == moved.out_info.sharding == moved(matrix()).sharding == SingleDeviceSharding(third)


def test_explicit_types_determine_output_shardings() -> None:
    explicit = mesh().update_axis_types({"x": AxisType.Explicit, "y": AxisType.Explicit})
    with use_mesh(explicit):
        x = tangrad.device_put(matrix(), NamedSharding(explicit, P("x", "y")))
        compiled = tangrad.jit(lambda a: (a.T, a.sum(0))).lower(x).compile()
    transposed, total = compiled.output_shardings
    assert transposed.spec == P("y", "x") and total.spec == P("y")


def test_values_closed_over_are_no_arguments() -> None:
    rows = by("x")

    def outer(scale: Any) -> Any:
        compiled = tangrad.jit(lambda a: scale * a, in_shardings=rows).lower(matrix()).compile()
        return compiled.input_shardings

    assert tangrad.jit(lambda s: (outer(s), s)[1])(2.0) == 2.0
    seen: list[Any] = []
    tangrad.jit(lambda s: (seen.append(outer(s)), s)[1])(tnp.float32(2))
    assert seen == [((rows,), {})]


def test_a_backend_that_does_not_say() -> None:
    compiled = tangrad.jit(tnp.sin).lower(matrix()).compile()

    class Silent:
        @staticmethod
        def places() -> Any:
            return (), ()

    compiled._program.executable = Silent
    assert compiled.out_info.sharding is None
    for ask in (lambda: compiled.input_shardings, lambda: compiled.output_shardings):
        with pytest.raises(NotImplementedError, match=r"does not report the shardings of .* need a method"):
            ask()


def test_on_numpy_results_are_sharded_as_the_argument_of_in_shardings() -> None:
    f = tangrad.jit(lambda a: 2 * a, in_shardings=by("x"))
    assert f(matrix()).sharding == f.lower(matrix()).compile().output_shardings == by("x")
