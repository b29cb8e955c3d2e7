"""`device=` of functions that make and convert arrays, within transformations: the array is put there, as it can be."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad.sharding import PartitionSpec as P

X = np.arange(4, dtype=np.float32)
FUNCTIONS = {
    "ones": lambda x, device: jnp.ones(4, device=device) * x,
    "zeros": lambda x, device: jnp.zeros((4,), device=device) + x,
    "full": lambda x, device: jnp.full((4,), x.sum(), device=device),
    "full_like": lambda x, device: jnp.full_like(x, 2.0, device=device) * x,
    "zeros_like": lambda x, device: jnp.zeros_like(x, device=device) + x,
    "empty_like": lambda x, device: jnp.empty_like(x, device=device) * 0 + x,
    "arange": lambda x, device: jnp.arange(4.0, device=device) * x,
    "linspace": lambda x, device: jnp.linspace(0.0, 1.0, 4, device=device) * x,
    "eye": lambda x, device: jnp.eye(4, device=device) @ x,
    "fftfreq": lambda x, device: jnp.fft.fftfreq(4, device=device) * x,
    "rfftfreq": lambda x, device: jnp.fft.rfftfreq(6, device=device) * x,
    "array": lambda x, device: jnp.array(x, device=device) * 2,
    "array of numbers": lambda x, device: jnp.array([1.0, 2.0, 3.0, 4.0], device=device) * x,
    "asarray": lambda x, device: jnp.asarray(x, device=device) * 2,
    "astype": lambda x, device: x.astype("float32", device=device) * 2,
    "to_device": lambda x, device: x.to_device(device) * 2,
}
TRANSFORMATIONS = {
    "jit": tangrad.jit,
    "grad": lambda f: tangrad.grad(lambda x: f(x).sum()),
    "grad of jit": lambda f: tangrad.grad(tangrad.jit(lambda x: f(x).sum())),
    "vmap": lambda f: lambda x: tangrad.vmap(f)(jnp.stack([x, 2 * x]))[1],
    "jvp": lambda f: lambda x: tangrad.jvp(f, (x,), (2 * x,))[1],
    "linearize": lambda f: lambda x: tangrad.linearize(f, x)[1](2 * x),
    "scan": lambda f: lambda x: tangrad.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    "checkpoint": lambda f: tangrad.grad(lambda x: tangrad.checkpoint(f)(x).sum()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_a_device(name: str, backend: str) -> None:
    with tangrad.use_backend(backend):
        function, device = FUNCTIONS[name], tangrad.devices()[0]
        for how, transformed in TRANSFORMATIONS.items():
            x = jnp.asarray(X)
            found = transformed(lambda x: function(x, device))(x)
            expected = transformed(lambda x: function(x, None) if name != "to_device" else x * 2)(x)
            np.testing.assert_allclose(found, expected, err_msg=how)
            assert found.dtype == expected.dtype
            assert found.devices() == {device}
        assert tangrad.eval_shape(lambda x: function(x, device), X).shape == (4,)


def test_a_sharding() -> None:
    mesh = tangrad.make_mesh((1,), ("i",))
    sharding = tangrad.sharding.NamedSharding(mesh, P("i"))
    for name in ("ones", "array", "asarray", "astype", "linspace"):
        found = tangrad.jit(lambda x, name=name: FUNCTIONS[name](x, sharding))(X)
        np.testing.assert_allclose(found, FUNCTIONS[name](jnp.asarray(X), None))


@pytest.mark.parametrize("name", ["ones", "array", "asarray"])
def test_what_is_no_device(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match="cpu:0"):
        tangrad.jit(lambda x: FUNCTIONS[name](x, "cpu:0"))(X)
