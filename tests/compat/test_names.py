"""Names of JAX that are understood: primitives and helpers that packages use, settings."""

import subprocess
import sys

import pytest

import tangrad
from tangrad import config
from tangrad._compat import settings
from tangrad._compat.settings import NAMES, Alias, Fixed, Ignored
from tangrad._core.kernel import all_settings
from tangrad._core.kernel.all_settings import names
from tangrad.errors import MissingDistributionError
from tests.compat.test_alias import BACKENDS, run

# --- Primitives and helpers of the alias, as packages of the field make and use them ---


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


def test_primitives_of_equations_that_are_calls():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.extend import core

        equations = jax.make_jaxpr(lambda x: jax.jit(jnp.tanh)(x) + 1)(1.0).eqns
        assert len(equations) == 2 and equations[0].primitive is core.primitives.jit_p
        for primitive in (*[equation.primitive for equation in equations], core.Primitive("own")):
            assert (primitive.call_primitive, primitive.map_primitive, primitive.multiple_results) == (
                False, False, primitive is core.primitives.jit_p)
        """
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_lowering_that_calls_python(backend):
    run(
        """
        import numpy as np
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.extend import core
        from jax.interpreters import ad, batching, mlir

        FUNCTIONS = [np.sin, np.cos]
        seen = []

        def call(index, x):
            seen.append(type(index).__name__)
            return [FUNCTIONS[index.item()](x)]

        def lower(ctx, index, x, has_side_effect=False):
            assert [aval.shape for aval in ctx.avals_in] == [(), (3,)] and ctx.avals_out[0].dtype == jnp.float32
            results, token, keepalive = mlir.emit_python_callback(
                ctx, call, None, [index, x], ctx.avals_in, ctx.avals_out, has_side_effect=has_side_effect, sharding=None
            )
            ctx.module_context.add_keepalive(keepalive)
            return results

        def only_arrays(*values):
            assert all(isinstance(value, (jax.Array, np.ndarray)) for value in values), values

        def jvp(primals, tangents):
            only_arrays(*primals)
            slope = apply.bind(np.array(1 - primals[0].item()), primals[1])[0]
            return apply.bind(*primals), [slope * ad.instantiate_zeros(tangents[1])]

        def batch(args, dims):
            only_arrays(*args)
            assert tuple(dims) == (None, 0)
            return [jnp.stack([apply.bind(args[0], row)[0] for row in args[1]])], [0]

        apply = core.Primitive("apply")
        apply.multiple_results = True
        apply.def_impl(lambda index, x: [jnp.asarray(value) for value in call(index, np.asarray(x))])
        apply.def_abstract_eval(lambda index, x: [x])
        mlir.register_lowering(apply, lower)
        ad.primitive_jvps[apply] = jvp
        batching.primitive_batchers[apply] = batch

        def f(x):  # the first operand is an array of NumPy, which no rule is to get as anything but an array
            return apply.bind(np.array(0), x)[0]

        x = jnp.arange(3, dtype=jnp.float32)
        for g in (f, jax.jit(f)):
            np.testing.assert_allclose(g(x), np.sin(np.arange(3)), rtol=1e-5)
        np.testing.assert_allclose(jax.jvp(f, (x,), (x,))[1], x * np.cos(np.arange(3)), rtol=1e-5)
        for g in (jax.vmap(f), jax.jit(jax.vmap(f))):
            np.testing.assert_allclose(g(jnp.stack([x, x]))[1], np.sin(np.arange(3)), rtol=1e-5)
        assert len(seen) >= 8

        mlir.register_lowering(apply, lambda ctx, *args: lower(ctx, *args, has_side_effect=True))
        try:
            jax.jit(lambda x: f(x) + 1)(x)
        except NotImplementedError as error:
            assert "has_side_effect" in str(error), error
        else:
            raise AssertionError("effects were left out")
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


# --- JAX's names of settings ---


ALIASES = {name: known for name, known in NAMES.items() if isinstance(known, Alias)}


@pytest.fixture
def as_before(monkeypatch):
    """Whatever a test sets is undone."""
    monkeypatch.setattr(settings, "_kept", {})
    before = {known.setting: config.read(known.setting) for known in ALIASES.values() if known.setting in names()}
    yield
    for name, value in before.items():
        config.update(name, value)


@pytest.mark.usefixtures("as_before")
def test_every_name_of_jax_is_known():
    pytest.importorskip("jax")
    # In a process of its own: modules of JAX that other tests import add more.
    code = "import jax; print(*jax.config.values)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    names_there = {name for name in printed.stdout.split() if name.startswith(("jax_", "jax2tf_"))}
    assert len(names_there) > 100 and names_there <= NAMES.keys()


@pytest.mark.usefixtures("as_before")
def test_names_are_sorted_and_reasons_are_given():
    assert list(NAMES) == sorted(NAMES)
    assert all(known.reason for known in NAMES.values() if not isinstance(known, Alias))
    assert {known.setting for known in ALIASES.values()} <= set(names())


@pytest.mark.usefixtures("as_before")
def test_a_setting_by_its_name_there():
    config.update("jax_enable_x64", True)
    assert config.enable_x64 is config.jax_enable_x64 is config.read("jax_enable_x64") is True
    assert tangrad.numpy.ones(2).dtype == "float64"
    config.update("jax_enable_x64", False)
    assert tangrad.numpy.ones(2).dtype == "float32"
    config.jax_debug_nans = True
    assert config.debug_nans is True


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize(
    ("name", "said", "setting", "value"),
    [
        ("jax_platforms", "cpu", "xla_platforms", ("cpu",)),
        ("jax_platforms", "", "xla_platforms", None),
        ("jax_platform_name", "gpu", "xla_platforms", ("cuda",)),
        ("jax_num_cpu_devices", -1, "num_cpu_devices", None),
        ("jax_traceback_filtering", "remove_frames", "traceback_filtering", "auto"),
        ("jax_compilation_cache_max_size", -1, "compilation_cache_max_size", None),
        ("jax_persistent_cache_min_compile_time_secs", 2.0, "xla_cache_min_compile_seconds", 2.0),
        ("jax_numpy_rank_promotion", "raise", "numpy_rank_promotion", "raise"),
        ("jax_enable_checks", True, "check_jaxprs", True),
    ],
)
def test_values_that_are_called_otherwise(name, said, setting, value):
    config.update(name, said)
    assert config.read(setting) == value
    assert config.read(name) == value


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("name", [name for name, known in NAMES.items() if isinstance(known, Fixed)])
def test_what_is_so_anyway_can_be_said_and_nothing_else(name):
    known = NAMES[name]
    for value in (known.value, *known.also):
        config.update(name, value)
        assert config.read(name) == known.value
    with pytest.raises(ValueError, match="cannot be") as error:
        config.update(name, "something else")
    assert known.reason in str(error.value)


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("name", [name for name, known in NAMES.items() if isinstance(known, Ignored)])
def test_what_changes_nothing_is_kept(name):
    assert config.read(name) == NAMES[name].default
    config.update(name, 17)
    assert config.read(name) == 17


@pytest.mark.usefixtures("as_before")
def test_bad_values_and_unknown_names():
    with pytest.raises(TypeError, match="enable_x64"):
        config.update("jax_enable_x64", "yes")
    for call in (lambda: config.update("jax_colour", 1), lambda: config.jax_colour):
        with pytest.raises(AttributeError, match="no setting 'jax_colour'"):
            call()


@pytest.mark.usefixtures("as_before")
def test_a_platform_can_be_said_where_its_backend_is_not_installed():
    def missing(name):
        raise MissingDistributionError(name, "tangrad-backend-xla")

    settings.update("jax_platforms", "cpu", missing)
    assert settings.read("jax_platforms", missing) == "cpu"
    with pytest.raises(MissingDistributionError, match="tangrad-backend-xla"):
        settings.update("jax_platforms", "gpu", missing)


@pytest.mark.usefixtures("as_before")
def test_what_understands_the_names_is_named_where_it_is_not_installed(monkeypatch):
    composition = tangrad.core.composition()
    monkeypatch.setattr(all_settings.composition(), "find", lambda group, name: None)
    monkeypatch.setattr(type(composition.index), "has_distribution", lambda self, name: name != "tangrad-compat")
    for call in (lambda: config.update("jax_log_pgle", True), lambda: config.jax_log_pgle):
        with pytest.raises(MissingDistributionError, match="pip install tangrad-compat"):
            call()


@pytest.mark.usefixtures("as_before")
def test_what_an_entry_for_names_must_be():
    composition = tangrad.core.composition()
    plugin = composition.find("tangrad.setting_names", "jax")
    with pytest.raises(TypeError, match="expected ForeignNames"):
        composition.check(plugin, settings)
