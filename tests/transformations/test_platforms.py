"""`platform_dependent`: the branch is chosen where the program runs, and the others need not be possible there."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import export, lax
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, register

BACKENDS = ("numpy", "xla")
POWERS = {"numpy": 2, "xla": 3}

elsewhere = PrimitiveSet("elsewhere", api=1)


@elsewhere.primitive(name="only_elsewhere")
def only_elsewhere_p(x):
    """Has derivatives, and no lowering anywhere."""
    return ShapedArray(x.shape, x.dtype)


jvp, transpose = RuleSet("jvp", api=1), RuleSet("transpose", api=1)
jvp.add(only_elsewhere_p, lambda primals, tangents: (only_elsewhere_p.bind(*primals), only_elsewhere_p.bind(*tangents)))
transpose.add(only_elsewhere_p, lambda cotangent, x: (only_elsewhere_p.bind(cotangent),))


def power(x):
    return lax.platform_dependent(x, numpy=lambda x: x**2, xla=lambda x: x**3, default=lambda x: -x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_values_and_derivatives_are_those_of_the_branch(backend, wrap):
    n = POWERS[backend]
    with tangrad.use_backend(backend):
        x = tnp.arange(1.0, 4.0)
        np.testing.assert_allclose(wrap(power)(x), np.asarray(x) ** n, rtol=1e-6)
        np.testing.assert_allclose(wrap(tangrad.vmap(tangrad.grad(power)))(x), n * np.asarray(x) ** (n - 1), rtol=1e-6)
        np.testing.assert_allclose(wrap(tangrad.grad(lambda x: tangrad.jit(power)(x).sum()))(x), n * x ** (n - 1))
        _, tangent = wrap(lambda x: tangrad.jvp(power, (x,), (x,)))(x)
        np.testing.assert_allclose(tangent, n * np.asarray(x) ** n, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_branch_for_another_platform_needs_no_lowering(backend):
    """Neither where residuals of a loop go through the gradient, nor in a function that is called."""

    def step(carry, x):
        new = lax.platform_dependent(carry * x, cpu=lax.sin, tpu=only_elsewhere_p.bind)
        return new, new

    def total(xs):
        return lax.scan(step, 1.0, xs)[1].sum()

    def plain(xs):
        return lax.scan(lambda carry, x: (lax.sin(carry * x),) * 2, 1.0, xs)[1].sum()

    xs = np.array([0.5, 1.0, 2.0], np.float32)
    with register(elsewhere), register(jvp), register(transpose), tangrad.use_backend(backend):
        np.testing.assert_allclose(tangrad.jit(total)(xs), plain(xs), rtol=1e-6)
        found = tangrad.jit(tangrad.grad(total))(xs)
        np.testing.assert_allclose(found, tangrad.grad(plain)(xs), rtol=1e-5)


def test_no_branch_is_an_error_where_it_would_run():
    other = lambda: lax.platform_dependent(1.0, tpu=lambda x: x + 1)
    with pytest.raises(NotImplementedError, match="no branch for platform 'cpu'"):
        other()
    with pytest.raises(NotImplementedError, match="branches for 'tpu'"):
        tangrad.jit(other)()
    tangrad.make_jaxpr(other)()  # tracing alone is no error


def test_bad_input():
    with pytest.raises(ValueError, match="got none"):
        lax.platform_dependent(1.0)
    with pytest.raises(TypeError, match="cpu must be a function"):
        lax.platform_dependent(1.0, cpu=3)
    with pytest.raises(TypeError, match="the branch for tpu"):
        tangrad.jit(lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1, tpu=lambda x: x > 1))(1.0)


def test_the_first_name_that_applies_is_taken():
    with tangrad.use_backend("numpy"):
        assert lax.platform_dependent(1.0, cpu=lambda x: x + 1, numpy=lambda x: x + 2) == 2
        assert lax.platform_dependent(1.0, numpy=lambda x: x + 2, cpu=lambda x: x + 1) == 3


def test_a_default_alone_is_a_call():
    assert lax.platform_dependent(2.0, default=lambda x: x * 3) == 6


def test_a_program_for_several_platforms_has_their_branches():
    def program(x):
        inner = lambda x: lax.platform_dependent(x, cuda=lax.cos, default=lax.exp)
        return lax.platform_dependent(x, cpu=lambda x: lax.sin(inner(x)), cuda=inner, default=lax.tanh)

    with tangrad.use_backend("xla"):
        spec = tangrad.ShapeDtypeStruct((2,), np.float32)
        both = export.export(tangrad.jit(program), platforms=("cpu", "cuda"))(spec)
        text = both.mlir_module()
        one = export.export(tangrad.jit(program), platforms=("cpu",))(spec).mlir_module()
        x = np.array([0.5, 1.0], np.float32)
        np.testing.assert_allclose(both.call(x), np.sin(np.exp(x)), rtol=1e-6)
    assert "stablehlo.case" in text and "cosine" in text and "exponential" in text and "tanh" not in text
    assert "stablehlo.case" not in one and "cosine" not in one


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("where", ["cpu", *BACKENDS])
def test_functions_run_on_the_platform_that_is_named_as_their_backend(backend, where):
    wanted = backend if where == "cpu" else where
    with tangrad.use_backend(backend):
        assert tangrad.pmap(tnp.sin, backend=where)(np.zeros((1, 2))).devices().pop().backend.name == wanted
        soft = tangrad.soft_pmap(tnp.sin, axis_name="i", backend="cpu")
        assert soft(np.zeros((1, 2))).devices().pop().backend.name == backend
        f = tangrad.jit(lambda x: x + 1, backend=where)
        lowered = f.lower(1.0)
        for found in (f(1.0), f(np.float32(1)), f(x=tnp.ones(())), lowered.compile()(1.0)):
            assert found == 2 and found.devices().pop() in tangrad.devices(where)
            assert found.devices().pop().backend.name == wanted
        text = tangrad.xla_computation(tnp.sin, backend="xla" if where == "numpy" else where)(1.0).as_hlo_text()
        assert text.startswith("HloModule")


def test_a_platform_that_is_not_there_is_an_error_when_a_function_is_called():
    f = tangrad.jit(lambda x: x, backend="gpu")
    for call in (lambda: f(1.0), lambda: f.lower(1.0), lambda: tangrad.pmap(tnp.sin, backend="gpu")(np.ones(1))):
        with pytest.raises(tangrad.errors.BackendError, match="there is no backend 'gpu'"):
            call()
