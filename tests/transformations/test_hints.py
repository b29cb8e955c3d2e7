"""Attributes for the compiler: of calls, of values, of all operations in a block; and where parts are computed."""

from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
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
