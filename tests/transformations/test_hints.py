"""Attributes for the compiler: of calls, values, all operations in a block; where parts are computed; composites."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.errors import UnexpectedTracerError
from tangrad.experimental.compute_on import compute_on
from tangrad.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)

BACKENDS = ["numpy", "xla"]
x = np.float32([0.5, 1.5])


def text_of(function: Any, *args: Any) -> str:
    with tangrad.use_backend("xla"):
        return str(tangrad.jit(function).lower(*args).as_text())


def wave(x: Any) -> Any:
    return jnp.sin(x) * jnp.cos(x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "hinted",
    [
        xla_metadata_call(wave, group="first"),
        xla_metadata_call2(wave, {"group": 1}, ad_metadata="drop"),
        must_fuse_call("1")(wave),
        set_xla_metadata(group="first")(wave),
        compute_on(wave, compute_type="device_host", out_memory_spaces="device"),
        compute_on("gpu_stream:1")(wave),
        lambda x: set_xla_metadata(wave(set_xla_metadata(x, a=1)), group="first"),
    ],
)
def test_results_and_derivatives_are_the_functions(backend: str, hinted: Any) -> None:
    with tangrad.use_backend(backend):
        for function in (hinted, tangrad.jit(hinted), tangrad.vmap(hinted)):
            np.testing.assert_allclose(function(x), np.sin(x) * np.cos(x), rtol=1e-6)
        for gradient in (tangrad.grad(lambda x: hinted(x).sum()), tangrad.vmap(tangrad.jit(tangrad.grad(hinted)))):
            np.testing.assert_allclose(gradient(x), np.cos(2 * x), rtol=1e-5)
        second = tangrad.jit(tangrad.hessian(lambda x: hinted(x).sum()))(x)
        np.testing.assert_allclose(second, np.diag(-2 * np.sin(2 * x)), rtol=1e-5, atol=1e-6)


def test_calls_carry_their_attributes_through_transformations() -> None:
    hinted = xla_metadata_call(wave, group="first", sure=True, level=2)
    line = 'mhlo.frontend_attributes = {group = "first", level = "2", sure = "true"}'
    assert text_of(hinted, x).count(line) == 1
    assert text_of(tangrad.vmap(hinted), x).count(line) == 1
    assert text_of(tangrad.grad(lambda x: hinted(x).sum()), x).count(line) == 2
    assert "first" in tangrad.jit(hinted).lower(x).compile().as_text()


def test_derivatives_may_have_attributes_of_their_own() -> None:
    hinted = xla_metadata_call2({"group": "first"}, ad_metadata={"group": "second"})(wave)
    text = text_of(tangrad.grad(lambda x: hinted(x).sum()), x)
    assert text.count('group = "first"') == text.count('group = "second"') == 1
    dropped = xla_metadata_call2(wave, {"group": "first"}, ad_metadata="drop")
    assert text_of(tangrad.grad(lambda x: dropped(x).sum()), x).count("group") == 1


def test_operations_within_a_block() -> None:
    def f(x: Any) -> Any:
        with set_xla_metadata(a=1):
            y = jnp.sin(x)
            with set_xla_metadata(b=2):
                y = jnp.cos(y)
        return jnp.tan(y)

    text = text_of(f, x)
    assert text.count('{a = "1"}') == 1 and text.count('{a = "1", b = "2"}') == 1
    assert text_of(tangrad.grad(lambda x: f(x).sum()), x).count('a = "1"') >= 4
    np.testing.assert_allclose(tangrad.jit(f)(x), np.tan(np.cos(np.sin(x))), rtol=1e-5)
    np.testing.assert_allclose(f(x), np.tan(np.cos(np.sin(x))), rtol=1e-5)

    def limited(x: Any) -> Any:
        with fuse_limit():
            return tangrad.jit(wave)(x)

    assert text_of(limited, x).count('FUSE_LIMIT = "true"') == 1


def test_a_block_ends_when_something_is_raised() -> None:
    def f(x: Any) -> Any:
        with pytest.raises(RuntimeError), set_xla_metadata(a=1):
            raise RuntimeError
        return jnp.sin(x)

    assert "frontend" not in text_of(f, x)


def test_values() -> None:
    text = text_of(lambda x: set_xla_metadata({"y": jnp.sin(x)}, a=1)["y"], x)
    assert [line for line in text.splitlines() if 'a = "1"' in line and "stablehlo.sine" in line]


def test_values_around_are_operands() -> None:
    def f(x: Any, y: Any) -> Any:
        return xla_metadata_call(lambda x: x * y, a=1)(x)

    np.testing.assert_allclose(tangrad.jit(tangrad.grad(lambda y: f(x, y).sum()))(2 * x), x)
    np.testing.assert_allclose(tangrad.vmap(f, (None, 0))(x, x), np.outer(x, x))


def test_compute_types() -> None:
    on = lambda kind, **more: text_of(compute_on(wave, compute_type=kind, **more), x)
    assert '_xla_compute_type = "host"' in on("device_host")
    assert '_xla_stream_annotation = "2"' in on("gpu_stream:2") and 'inlineable = "false"' in on("gpu_stream:2")
    assert 'backend_config = "{\\22a\\22: 1}"' in on("device", compiler_options={"a": 1})


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(TypeError, match="group must be a string, a truth value or a number, got None"):
        xla_metadata_call(wave, group=None)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="metadata must be a dictionary"):
        xla_metadata_call2(wave, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ad_metadata must be 'same', 'drop' or a dictionary"):
        xla_metadata_call2(wave, {}, ad_metadata="none")
    with pytest.raises(TypeError, match="expects a function, got 3"):
        set_xla_metadata(a=1)(3)
    with pytest.raises(ValueError, match="compute_type must be one of"):
        compute_on(wave, compute_type="moon")
    with pytest.raises(TypeError, match="compute_type must be a string, got None"):
        compute_on(wave)
    with pytest.raises(NotImplementedError, match="out_memory_spaces must be 'device'"):
        compute_on(wave, compute_type="device", out_memory_spaces="host")


# --- Composites -------------------------------------------------------------------------------------------------------


ATTRIBUTES = {"axis": 0, "fast": True, "factor": 2.5, "name": "wave", "sizes": (1, 2), "of": np.dtype("int8")}
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def waves(library):
    @partial(library.lax.composite, name="test.waves", version=3)
    def function(x, *, axis, factor, scales=None, **_):
        moved = library.numpy.sin(x) * factor
        return {"sum": library.numpy.sum(moved, axis), "same": x}

    return function


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_is_its_definition_under_every_transformation(backend):
    function = waves(tangrad)
    plain = lambda x: jnp.sin(x) * 2.5
    with tangrad.use_backend(backend):
        for wrap in (lambda f: f, tangrad.jit):
            np.testing.assert_allclose(wrap(lambda x: function(x, **ATTRIBUTES)["sum"])(X), plain(X).sum(0), rtol=1e-6)
            gradient = wrap(tangrad.grad(lambda x: function(x, **ATTRIBUTES)["sum"].sum()))(X)
            np.testing.assert_allclose(gradient, 2.5 * np.cos(X), rtol=1e-5)
            mapped = wrap(tangrad.vmap(lambda x: function(x, **ATTRIBUTES)["sum"]))(X[None])
            np.testing.assert_allclose(mapped, plain(X).sum(0)[None], rtol=1e-6)


def test_xla_gets_one_operation_as_jax_writes_it():
    jax = pytest.importorskip("jax")
    attributes = ATTRIBUTES | {"scales": None}

    def lines(library, lower):
        text = lower(library.jit(lambda x: waves(library)(x, **attributes)["sum"]))
        return [line.strip().partition(" = ")[2] for line in text.splitlines() if "stablehlo.composite" in line]

    with tangrad.use_backend("xla"):
        found = lines(tangrad, lambda f: f.lower(X).as_text())
    assert found == lines(jax, lambda f: f.lower(X).as_text()) and len(found) == 1


def test_mapped_it_stays_one_operation():
    program = tangrad.make_jaxpr(tangrad.vmap(lambda x: waves(tangrad)(x, **ATTRIBUTES)))(X[None])
    assert [equation.primitive.name for equation in program.eqns] == ["composite"]


def test_equal_attributes_are_one_program():
    counted = []

    @tangrad.jit
    def program(x):
        counted.append(1)
        return lax.composite(lambda x, **_: x + 1, "test.add")(x, scales=np.arange(3), factor=0.0)

    program(1.0)
    program(2.0)
    assert len(counted) == 1
    first, second = [
        tangrad.make_jaxpr(lambda x, f=factor: lax.composite(lambda x, **_: x, "a")(x, f=f))(1.0).eqns[0].params
        for factor in (0.0, -0.0)
    ]
    assert first["attributes"] != second["attributes"]


def test_bad_composites():
    with pytest.raises(TypeError, match="expects a function"):
        lax.composite(3, "a")
    with pytest.raises(TypeError, match="name must be a string"):
        lax.composite(lax.sin, 3)
    with pytest.raises(TypeError, match="attribute kind must be"):
        lax.composite(lambda x, *, kind: x, "a")(1.0, kind=object())
    with pytest.raises(UnexpectedTracerError, match="closes over a value that is traced"):
        tangrad.jit(lambda y: lax.composite(lambda x: x + y, "a")(y))(1.0)


def test_effects_of_a_definition_take_place():
    seen = []

    def printing(x):
        tangrad.debug.callback(seen.append, x)
        return x + 1

    for backend in BACKENDS:
        with tangrad.use_backend(backend):
            tangrad.jit(lax.composite(printing, "test.prints"))(2.0).block_until_ready()
            tangrad.effects_barrier()
    assert [float(x) for x in seen] == [2.0, 2.0]
