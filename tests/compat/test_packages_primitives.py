"""Primitives and helpers of the alias, as packages of the field make and use them."""

import pytest

from tests.compat.test_alias import BACKENDS, run


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_primitive_whose_parts_are_methods_of_its_class(backend):
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.extend import core
        from jax.interpreters import ad, batching, mlir

        class Tag(core.Primitive):
            multiple_results = True

            def __init__(self):
                super().__init__("tag")
                mlir.register_lowering(self, self.lower)
                ad.deflinear(self, self.transpose)
                batching.defbroadcasting(self)

            def impl(self, *args, **params):
                return args[:1]

            def abstract_eval(self, *avals, **params):
                return avals[:1], core.no_effects

            def lower(self, _: mlir.LoweringRuleContext, *args, **params):
                return args[:1]

            def transpose(self, cotangents, **params):
                return cotangents[0], None

        tag = Tag()
        x = jnp.arange(3.0)
        assert tag.bind(x, 1.0)[0].tolist() == [0, 1, 2]
        assert jax.jit(lambda x: tag.bind(x, x))(x)[0].tolist() == [0, 1, 2]
        assert jax.vmap(lambda x, y: tag.bind(x, y)[0], (0, None))(x, 5.0).tolist() == [0, 1, 2]
        assert jax.grad(lambda x: tag.bind(x, 1.0)[0] * 3)(2.0) == 3
        assert "tag" in str(jax.make_jaxpr(lambda x: tag.bind(x, x))(x))
        """,
        backend=backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_said_by_helpers(backend):
    run(
        """
        import functools
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.extend import core
        from jax.interpreters import ad, batching, mlir, xla

        def made(name, function):
            primitive = core.Primitive(name)
            primitive.def_impl(functools.partial(xla.apply_primitive, primitive))
            primitive.def_abstract_eval(lambda *avals: avals[0])
            mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))
            return primitive

        times = made("times", lambda x, y: x * y)
        ad.defbilinear(times, lambda ct, x, y: times.bind(ct, y), lambda ct, x, y: times.bind(x, ct))
        assert times.bind(2.0, 3.0) == 6
        assert [float(g) for g in jax.grad(times.bind, (0, 1))(2.0, 3.0)] == [3, 2]
        assert jax.grad(jax.grad(lambda x: times.bind(x, x)))(2.0) == 2

        sine = made("sine", jnp.sin)
        ad.defjvp2(sine, lambda tangent, out, x: tangent * (jnp.cos(x) + 100 * out))
        batching.defvectorized(sine)
        assert abs(jax.grad(sine.bind)(1.0) - (jnp.cos(1.0) + 100 * jnp.sin(1.0))) < 1e-4
        assert jax.vmap(sine.bind)(jnp.zeros(3)).tolist() == [0, 0, 0]

        other = core.Primitive("other")
        try:
            xla.apply_primitive(other, 1.0)
        except NotImplementedError as error:
            assert "lowering" in str(error)
        else:
            raise AssertionError
        """,
        backend=backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_promotion_as_functions_of_jax_numpy_do_it(backend):
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax.numpy as jnp
        from jax._src.numpy import util

        dtypes = lambda values: [str(value.dtype) for value in values]
        assert dtypes(util.promote_dtypes(jnp.int8(1), jnp.ones(2))) == ["float32"] * 2
        assert dtypes(util.promote_dtypes_inexact(1, jnp.arange(2))) == ["float32"] * 2
        assert dtypes(util.promote_dtypes_numeric(True)) == ["int32"]
        assert dtypes(util.promote_dtypes_complex(1, jnp.arange(2), jnp.float32(2))) == ["complex64"] * 3
        assert dtypes(util.promote_args_inexact("f", jnp.arange(3), 2)) == ["float32"] * 2
        assert [a.shape for a in util.promote_args("f", jnp.ones((2, 3)), jnp.ones(3))] == [(2, 3), (1, 3)]
        assert util.ensure_arraylike("f", 1.5).shape == () and len(util.ensure_arraylike("f", 1, 2)) == 2
        for wrong in (lambda: util.check_arraylike("f", "a"), lambda: util.ensure_arraylike("f", [1])):
            try:
                wrong()
            except TypeError as error:
                assert str(error).startswith("f ")
            else:
                raise AssertionError
        """,
        backend=backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sparse_system_by_rows(backend):
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.experimental.sparse import BCOO
        from jax.experimental.sparse.linalg import spsolve

        data, columns, starts = jnp.array([4.0, 1, 3, 2]), jnp.array([0, 1, 1, 2]), jnp.array([0, 2, 3, 4])
        b = jnp.array([5.0, 3, 4])
        assert jnp.allclose(spsolve(data, columns, starts, b), jnp.array([1.0, 1, 2]))
        slope = jax.grad(lambda data: spsolve(data, columns, starts, b).sum())(data)
        assert jnp.allclose(slope, jnp.array([-0.25, -0.25, -0.25, -1]), atol=1e-6)
        """,
        backend=backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_held_against_each_other(backend):
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax.numpy as jnp
        from jax._src.public_test_util import check_close, check_grads, tolerance

        x = {"a": jnp.ones(3), "b": jnp.ones(2, jnp.bfloat16)}
        check_close(x, {"a": jnp.ones(3) + 1e-7, "b": jnp.ones(2)})
        check_close(x["a"], 1.1 * x["a"], rtol={jnp.float32: 0.2})
        for wrong, options in ((1.01, {}), (1.1, {"atol": 0.01, "rtol": 0.01})):
            try:
                check_close(x, {"a": x["a"] * wrong, "b": x["b"]}, **options)
            except AssertionError:
                continue
            raise ValueError("no difference was seen")
        assert tolerance("float16") == 1e-3 and tolerance("int32") == 0 and tolerance("float32", 0.5) == 0.5
        check_grads(jnp.sin, (0.5,), order=1)
        """,
        backend=backend,
    )


def test_axes_in_scope_and_descriptions_of_functions():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp

        found = []
        jax.vmap(lambda x: found.append(jax.core.unsafe_get_axis_names_DO_NOT_USE()), axis_name="i")(jnp.ones(2))
        assert found == [["i"]] and jax.core.unsafe_get_axis_names_DO_NOT_USE() == []
        info = jax.core.DebugInfo("jit", "f at file.py:1", ("x",), ("",))
        assert info.traced_for == "jit" and info.arg_names == ("x",)
        """
    )
