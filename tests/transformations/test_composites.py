"""`lax.composite`: one operation for compilers, with its definition; as JAX writes it."""

from functools import partial

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax
from tangrad.errors import UnexpectedTracerError

jax = pytest.importorskip("jax")

BACKENDS = ("numpy", "xla")
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
    plain = lambda x: tnp.sin(x) * 2.5
    with tangrad.use_backend(backend):
        for wrap in (lambda f: f, tangrad.jit):
            np.testing.assert_allclose(wrap(lambda x: function(x, **ATTRIBUTES)["sum"])(X), plain(X).sum(0), rtol=1e-6)
            gradient = wrap(tangrad.grad(lambda x: function(x, **ATTRIBUTES)["sum"].sum()))(X)
            np.testing.assert_allclose(gradient, 2.5 * np.cos(X), rtol=1e-5)
            mapped = wrap(tangrad.vmap(lambda x: function(x, **ATTRIBUTES)["sum"]))(X[None])
            np.testing.assert_allclose(mapped, plain(X).sum(0)[None], rtol=1e-6)


def test_xla_gets_one_operation_as_jax_writes_it():
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


def test_bad_input():
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
