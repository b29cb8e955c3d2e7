"""The alias of jax: programs that import `jax`, each in a process of its own (in this one jax may be imported)."""

import os
import subprocess
import sys
import textwrap

import pytest

BACKENDS = ("numpy", "xla")


def run(program, *arguments, backend="numpy", **environment):
    """The output of a program, which must not fail."""
    command = [sys.executable, "-W", "error", *(arguments or ("-c", textwrap.dedent(program)))]
    variables = {**os.environ, "TANGRAD_BACKEND": backend, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_jax_means_tangrad_and_no_longer():
    run(
        """
        import sys
        import tangrad
        import tangrad.numpy
        assert not [name for name in sys.modules if name.startswith("tangrad.compat")]  # it is not loaded by default

        import tangrad.compat.jax as alias
        with alias.install() as installation:
            assert alias.is_installed() and "installed" in repr(installation)
            with alias.install():
                pass
            assert alias.is_installed()  # the inner one put nothing there
            import jax
            import jax.numpy as jnp
            import jax.scipy.stats
            from jax import Array, grad, lax
            from jax.experimental.shard_map import shard_map
            from jax.sharding import PartitionSpec
            from jax.tree_util import tree_map
            assert jax.__version__ == alias.VERSION == ".".join(map(str, jax.__version_info__))
            assert grad is tangrad.grad and Array is tangrad.Array and PartitionSpec is tangrad.P
            assert isinstance(jnp.ones(2), Array) and jnp.sin is tangrad.numpy.sin and lax.scan is tangrad.lax.scan
            assert jax.default_backend() == "cpu" and tangrad.default_backend() == "numpy"
            assert "scan" in dir(lax) and "einsum" in jnp.__all__ and "alias" in repr(jnp)
            assert isinstance(jax.jit(jnp.sin), jax.stages.Wrapped)
            assert jnp.einsum("ij,j->i", jnp.eye(2), jnp.ones(2), _dot_general=lax.dot_general).tolist() == [1, 1]
            names = {}
            exec("from jax.tree import *", names)
            assert names["map"] is tangrad.tree.map
        assert not alias.is_installed() and "jax" not in sys.modules and "jax.numpy" not in sys.modules
        assert jax.numpy.cos is tangrad.numpy.cos  # who has the modules keeps them
        """
    )


def test_what_is_missing_is_named_as_missing_in_the_alias():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax

        def message(kind, action):
            try:
                action()
            except kind as error:
                return str(error)
            raise AssertionError("nothing was raised")

        def names_it(text, name):
            assert repr(name) in text and "tangrad.compat.jax" in text, text

        names_it(message(AttributeError, lambda: jax.lax.nonsense), "jax.lax.nonsense")
        names_it(message(ImportError, lambda: exec("from jax.lax import nonsense")), "jax.lax.nonsense")
        names_it(message(ImportError, lambda: exec("import jax.nonsense")), "jax.nonsense")
        private = message(ImportError, lambda: exec("from jax._src import nonsense"))
        names_it(private, "jax._src.nonsense")
        assert "private" in private
        # Tangrad's own packages are no modules of jax.
        for name in ("jitting", "autodiff", "composition", "compat"):
            assert not hasattr(jax, name), name
        assert not hasattr(jax.core, "register")
        """
    )


def test_it_is_refused_where_jax_itself_is_imported(tmp_path):
    (tmp_path / "jax.py").write_text("sin = 'of jax itself'\n")
    run(
        """
        import jax
        import tangrad.compat.jax
        try:
            tangrad.compat.jax.install()
        except ImportError as error:
            assert "jax.py" in str(error) and "before anything imports jax" in str(error), error
        else:
            raise AssertionError("it was installed")
        assert jax.sin == "of jax itself" and not tangrad.compat.jax.is_installed()
        del __import__("sys").modules["jax"]
        with tangrad.compat.jax.install():  # one that is only installed beside it is not in the way
            import jax
            assert jax.numpy.sin
        import jax
        assert jax.sin == "of jax itself"
        """,
        PYTHONPATH=str(tmp_path),
    )


def test_programs_are_run_from_the_command_line(tmp_path):
    (tmp_path / "beside.py").write_text("import jax\nTWO = jax.numpy.add(1, 1)\n")
    program = tmp_path / "program.py"
    program.write_text("import sys\nfrom beside import TWO\nprint(__name__, int(TWO), sys.argv[1:])\n")
    command = ("-m", "tangrad.compat.jax")
    assert run("", *command, str(program), "--flag").split(maxsplit=2)[:2] == ["__main__", "2"]
    assert run("", *command, "-m", "program", "a", PYTHONPATH=str(tmp_path)) == "__main__ 2 ['a']\n"
    assert run("", *command, "--help").startswith("usage: python -m tangrad.compat.jax")


@pytest.mark.parametrize("backend", BACKENDS)
def test_primitives_with_rules_in_the_tables_of_jax(backend):
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.extend.core import Primitive
        from jax.interpreters import ad, batching, mlir

        both_p = Primitive("sum and difference")
        both_p.multiple_results = True
        both_p.def_impl(lambda x, y, *, scale: [scale * (x + y), scale * (x - y)])
        both_p.def_abstract_eval(lambda x, y, *, scale: [jax.core.ShapedArray(x.shape, x.dtype)] * 2)
        mlir.register_lowering(both_p, mlir.lower_fun(both_p.impl, multiple_results=True))

        def jvp(primals, tangents, **params):
            return both_p.bind(*primals, **params), both_p.bind(*map(ad.instantiate_zeros, tangents), **params)

        def transpose(cotangents, x, y, *, scale):
            assert ad.is_undefined_primal(x) and ad.is_undefined_primal(y)
            a, b = map(ad.instantiate_zeros, cotangents)
            return both_p.bind(a, b, scale=scale)

        def batch(args, dims, **params):
            x, y = (batching.bdim_at_front(arg, dim, 3) for arg, dim in zip(args, dims))
            return both_p.bind(x, y, **params), [0, 0]

        ad.primitive_jvps[both_p] = jvp
        ad.primitive_transposes[both_p] = transpose
        batching.primitive_batchers[both_p] = batch
        assert ad.primitive_jvps[both_p] is jvp

        def f(x, y):
            total, difference = both_p.bind(x, y, scale=2.0)
            return jnp.sum(total * difference)  # 4 (x² - y²)

        x, y = jnp.arange(3.0), jnp.ones(3)
        assert "sum_and_difference[scale=2.0]" in str(jax.make_jaxpr(f)(x, y))
        for apply in (f, jax.jit(f)):
            assert float(apply(x, y)) == 8.0
            gradient = jax.grad(apply, (0, 1))(x, y)
            assert [g.tolist() for g in gradient] == [[0, 8, 16], [-8, -8, -8]]
            assert jax.vmap(apply, (0, None))(jnp.stack([x, x, y]), y).tolist() == [8, 8, 0]
        equation = jax.make_jaxpr(jnp.tanh)(1.0).eqns[0]
        assert equation.primitive is jax.lax.tanh_p and isinstance(equation.primitive, Primitive)

        ad.primitive_jvps[both_p] = lambda primals, tangents, **params: (both_p.bind(*primals, **params), [
            ad.Zero.from_primal_value(primals[0])] * 2)
        assert jax.grad(f)(x, y).tolist() == [0, 0, 0]  # a rule that is assigned anew replaces the other

        written_p = Primitive("written")
        written_p.def_abstract_eval(lambda x: x)
        mlir.register_lowering(written_p, lambda ctx, x: ctx.module_context.builder)
        try:
            jax.jit(lambda x: written_p.bind(x))(x)
        except NotImplementedError as error:
            assert "ctx.module_context" in str(error), error
        else:
            raise AssertionError("MLIR was built")
        """,
        backend=backend,
    )


def test_settings_by_their_names_in_jax():
    run(
        """
        import tangrad
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        assert tangrad.config.enable_x64  # by JAX_ENABLE_X64, when jax was imported
        jax.config.update("jax_enable_x64", False)
        assert not jax.config.jax_enable_x64 and not jax.config.x64_enabled and not jax.config.read("jax_enable_x64")
        jax.config.update("jax_default_prng_impl", "threefry2x32")
        with jax.debug_key_reuse(False), jax.transfer_guard("allow"), jax.enable_checks(True):
            assert tangrad.config.check_jaxprs
        with jax.default_prng_impl("rbg"):
            assert jax.random.key_impl(jax.random.key(0)) == "rbg"
        jax.config.jax_debug_nans = True
        assert tangrad.config.debug_nans and jax.config.values["jax_debug_nans"]
        for name, value, kind in (
            ("jax_transfer_guard", "perhaps", ValueError),
            ("jax_nonsense", 1, AttributeError),
            ("jax_enable_x64", "perhaps", (TypeError, ValueError)),
        ):
            try:
                jax.config.update(name, value)
            except kind as error:
                assert name.removeprefix("jax_") in str(error), error
            else:
                raise AssertionError(name)
        """,
        JAX_ENABLE_X64="1",
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_settings_of_the_environment(backend):
    run(
        """
        import warnings
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            import tangrad.compat.jax
            tangrad.compat.jax.install()
            import jax
        # Tangrad's own variable goes before; a value that is refused is reported, and not used.
        assert jax.config.jax_debug_nans and not jax.config.jax_enable_x64 and jax.config.jax_pprint_use_color is False
        (warning,) = warned
        assert "JAX_THREAD_GUARD='true'" in str(warning.message) and "cannot be True" in str(warning.message)
        assert jax.config.values["jax_thread_guard"] is False and jax.config.jax_platforms in (None, ("cpu",))
        """,
        backend=backend,
        JAX_DEBUG_NANS="true",
        JAX_ENABLE_X64="1",
        TANGRAD_ENABLE_X64="0",
        JAX_PPRINT_USE_COLOR="0",
        JAX_PLATFORMS="",
        JAX_THREAD_GUARD="true",
    )


def test_what_is_experimental_or_of_examples_is_handed_on():
    run(
        """
        import numpy as np
        import tangrad
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax import dlpack, monitoring, profiler, stages
        from jax.example_libraries import optimizers, stax
        from jax.experimental import checkify
        from jax.experimental.ode import odeint
        from jax.experimental.sparse import BCOO

        error, _ = jax.jit(checkify.checkify(lambda x: checkify.check(x > 0, "of {}", x) or x))(-1.0)
        assert "of -1.0" in error.get()
        assert (BCOO.fromdense(jnp.eye(2)) @ jnp.arange(2.0)).tolist() == [0, 1]
        ends = odeint(lambda y, t: -y, jnp.float32(1.0), jnp.array([0.0, 1.0]))
        np.testing.assert_allclose(ends, [1.0, np.exp(-1)], rtol=1e-5)
        shape, _ = stax.Dense(3)[0](jax.random.key(0), (2, 4))
        assert shape == (2, 3) and optimizers.sgd is tangrad.example_libraries.optimizers.sgd
        assert dlpack.from_dlpack(np.arange(2.0, dtype="float32")).tolist() == [0, 1]
        assert isinstance(jax.jit(jnp.sin), stages.Wrapped) and stages.Lowered is tangrad.stages.Lowered
        heard = []
        monitoring.register_event_listener(lambda event, **details: heard.append(event))
        jax.monitoring.record_event("/it")
        assert heard == ["/it"] and profiler.trace is tangrad.profiler.trace
        """
    )


def test_classes_of_values_with_a_type():
    run(
        """
        import numpy as np
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.interpreters import xla

        class Held:  # a value that looks like an array of NumPy, and is none
            def __init__(self, held):
                self.held = held

            def __array__(self, dtype=None, copy=None):
                return np.asarray(self.held, dtype)

        assert Held not in xla.pytype_aval_mappings
        xla.pytype_aval_mappings[Held] = jax.core.pytype_aval_mappings[np.ndarray]
        xla.canonicalize_dtype_handlers[Held] = xla.canonicalize_dtype_handlers[np.ndarray]
        held = Held([1.0, 2.0])
        assert jax.typeof(held).shape == (2,) and jax.core.pytype_aval_mappings[Held](held) == jax.typeof(held)
        assert jax.jit(lambda x: x + 1)(held).tolist() == [2, 3] and jax.lax.neg(held).tolist() == [-1, -2]
        assert jax.core.pytype_aval_mappings[float](1.5) == jax.typeof(1.5)
        for change, kind in (
            (lambda: xla.canonicalize_dtype_handlers.__setitem__(Held, lambda x: x.held), NotImplementedError),
            (lambda: xla.pytype_aval_mappings.pop(Held), TypeError),
        ):
            try:
                change()
            except kind as error:
                assert "Held" in str(error)
            else:
                raise AssertionError("it was accepted")
        assert jnp.shape(None) == () and jnp.expand_dims(jnp.ones(2), range(2)).shape == (1, 1, 2)
        assert jnp.shape(held.held) == (2,) and jnp.expand_dims(jnp.ones(2), 1).shape == (2, 1)
        """
    )


def test_what_packages_take_from_elsewhere():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        import numpy as np
        import jax._src.traceback_util as traceback_util
        from jax._src.core import trace_state_clean
        from jax.api_util import debug_info, flatten_fun, flatten_fun_nokwargs
        from jax.extend import linear_util as lu
        from jax.extend.core import get_opaque_trace_state, jaxpr_as_fun
        from jax.interpreters import partial_eval as pe
        from jax.test_util import check_grads
        from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

        import inspect
        from jax._src.api_util import infer_argnums_and_argnames
        from jax._src.lax.control_flow import scan
        from jax.experimental.layout import Layout

        assert scan is jax.lax.scan and "(1, 0)" in repr(Layout((1, 0)))
        signature = inspect.signature(lambda x, y, *, z=0: x)
        assert infer_argnums_and_argnames(signature, 1, None) == ((1,), ("y",))
        assert infer_argnums_and_argnames(signature, None, ["x", "z"]) == ((0,), ("x", "z"))
        assert jax.typeof(1).at_least_vspace() == jax.typeof(1).to_tangent_aval() == jax.core.ShapedArray(
            (), jax.dtypes.float0)
        cut = NamedSharding(AbstractMesh((1,), "x", AxisType.Explicit), P("x"))
        assert jax.core.ShapedArray((4,), jnp.float32, sharding=cut).sharding.spec == P("x")
        assert issubclass(pe.JaxprTracer, jax.core.Tracer)

        traceback_util.register_exclusion(__file__ if "__file__" in dir() else "x")
        seen = []
        jax.make_jaxpr(lambda x: seen.append((trace_state_clean(), get_opaque_trace_state())) or x)(1.0)
        assert trace_state_clean() and not seen[0][0] and seen[0][1] != get_opaque_trace_state()
        assert get_opaque_trace_state() == get_opaque_trace_state()

        def with_references(x):
            states = [get_opaque_trace_state()]
            ref = jax.new_ref(x)  # a trace for references comes on top of that of the function
            states.append(get_opaque_trace_state())
            ref[...] = jax.vmap(lambda y: states.append(get_opaque_trace_state()) or y + 1)(ref[...])
            states.append(get_opaque_trace_state())
            assert states[0] == states[1] == states[3] != states[2], states
            return ref[...]

        for transformed in (with_references, jax.jit(with_references), jax.vmap(with_references)):
            assert transformed(jax.numpy.zeros((2, 3))).sum() == 6

        check_grads(lambda x: jnp.sin(x) * x, (jnp.arange(1.0, 3.0),), order=2)
        bad = jax.custom_jvp(jnp.sin)
        bad.defjvp(lambda primals, tangents: (bad(*primals), tangents[0]))
        for mode in ("fwd", "rev"):
            try:
                check_grads(bad, (1.0,), order=1, modes=[mode])
            except AssertionError:
                pass
            else:
                raise RuntimeError(mode)

        def captured(factor):
            product = jax.custom_vjp(lambda x: x * factor)
            product.defvjp(lambda x: (product(x), None), lambda residuals, cotangent: (cotangent,))
            return product(2.0)

        try:
            jax.grad(captured)(3.0)
        except jax._src.interpreters.ad.CustomVJPException:
            pass
        else:
            raise RuntimeError("the derivative of what a custom_vjp function closes over")

        leaves, structure = jax.tree.flatten(({"a": 1.0}, {}))
        flat, out_tree = flatten_fun(lu.wrap_init(lambda x: (x["a"], [2.0])), jax.tree.structure((({"a": 1.0},), {})))
        assert flat.call_wrapped(3.0) == [3.0, 2.0] and out_tree() == jax.tree.structure((0, [0]))

        # What depends on known arguments alone is computed.
        pair = jax.jit(lambda x, y: (x * 2, y))
        f = lambda known, unknown: (jnp.sin(known), known + unknown, pair(known, unknown)[0])
        flat, out_tree = flatten_fun_nokwargs(lu.wrap_init(f), jax.tree.structure((0, 0)))
        unknown = pe.PartialVal.unknown(jax.core.ShapedArray((2,), np.float32))
        _, results, _ = pe.trace_to_jaxpr_nounits(flat, [pe.PartialVal.known(jnp.ones(2)), unknown])
        assert [result.is_known() for result in results] == [True, False, True]
        assert results[2].const.tolist() == [2, 2] and results[1].aval.shape == (2,)

        @lu.transformation
        def doubled(factor, *args):
            out = yield [factor * arg for arg in args], {}
            yield out + 1

        assert doubled(lu.wrap_init(lambda x: x), 2).call_wrapped(3) == 7
        assert jaxpr_as_fun(jax.make_jaxpr(jnp.negative)(1.0))(2.0)[0] == -2
        import importlib
        from tangrad._compat.module_names import HELD
        for name in [name for name in HELD if not name.startswith("jaxlib")]:
            assert "alias" in repr(importlib.import_module(f"jax.{name}".rstrip(".")))
        """
    )


def test_its_docstrings():
    run(
        """
        import doctest, importlib, pkgutil
        import tangrad._compat
        found = [doctest.testmod(importlib.import_module(module.name), optionflags=doctest.ELLIPSIS)
                 for module in pkgutil.walk_packages(tangrad._compat.__path__, "tangrad._compat.")
                 if not module.name.endswith("__main__")]
        assert sum(result.attempted for result in found) >= 10 and not sum(result.failed for result in found), found
        """
    )


def test_examples_of_the_alias():
    run(
        """
        import doctest, importlib, pkgutil
        import tangrad._compat
        import tangrad.compat.jax as alias

        tried = 0
        for module in [alias, *[importlib.import_module(f"tangrad._compat.{m.name}")
                                for m in pkgutil.iter_modules(tangrad._compat.__path__) if m.name != "names"]]:
            found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            assert not found.failed
            tried += found.attempted
        assert tried > 5, tried
        """
    )


def test_what_libraries_of_checkpoints_take():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax._src import distributed
        from jax.experimental import colocated_python, layout
        from jax.experimental.array_serialization import serialization
        from jax.extend import ifrt_programs

        state = distributed.global_state
        assert (state.client, state.process_id, state.num_processes) == (None, 0, 1)
        assert not hasattr(jax.devices()[0].client, "pathways") and jax.devices()[0].client.runtime_type
        assert not vars(ifrt_programs.ifrt_programs)
        sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        assert sharding._addressable_device_assignment == (jax.devices()[0],)
        x = jax.device_put(jnp.arange(3), layout.Format(layout.Layout((0,)), sharding))
        assert x.tolist() == [0, 1, 2] and x.sharding == sharding
        pair = jax.device_put({"a": 1.0, "b": 2.0}, {"a": None, "b": layout.Format(None, sharding)})
        assert float(pair["b"]) == 2 and jax.device_put(3).sharding == sharding

        rows = layout.Format(layout.Layout((0, 1)), sharding)
        matrix = jnp.ones((2, 3))
        assert matrix.format == rows and hash(matrix.format) == hash(rows)
        assert rows != layout.Format(layout.Layout((1, 0)), sharding)
        assert jax.device_put(matrix, matrix.format).format == rows
        for format in (rows, layout.Format(layout.Layout.AUTO), layout.Format(layout.Layout.AUTO, sharding)):
            double = jax.jit(lambda x: x * 2, in_shardings=format, out_shardings=format)
            assert double(matrix).tolist() == [[2.0] * 3] * 2
            assert jax.jit(lambda x, *, y: x + y, in_shardings=None, out_shardings=format)(matrix, y=1).sum() == 12
        added = jax.jit(lambda x, y: {"sum": x + y}, out_shardings=layout.Format(layout.Layout.AUTO))
        compiled = added.lower(matrix, 1.0).compile()
        (first, second), keywords = compiled.input_formats
        assert (first.layout, second.layout) == (rows.layout, layout.Layout(())) and not keywords
        assert jax.device_put(matrix, compiled.output_formats["sum"]).format == rows
        partly = jax.jit(lambda x: {"sum": x, "none": None}).lower(matrix).compile()
        assert partly.output_formats == {"sum": rows, "none": None}
        for wrong in (layout.Format(layout.Layout.AUTO, sharding), layout.Format(layout.Layout((0,)), sharding)):
            for error in (TypeError, ValueError):
                try:
                    jax.device_put(matrix, wrong)
                except error as raised:
                    assert "should be concrete" in str(raised) or "rank of the value" in str(raised)
                else:
                    raise AssertionError("it was accepted")
        typed = jax.ShapeDtypeStruct((2, 3), "float32", sharding=rows)
        assert typed.format == rows
        assert typed.sharding == sharding and double.lower(typed).compile()(matrix).sum() == 12
        for function, options in ((jax.ShapeDtypeStruct, {"sharding": 3}), (jax.jit, {"in_shardings": 3})):
            try:
                function(*((2,), "int32") if function is jax.ShapeDtypeStruct else (jnp.sin,), **options)
            except TypeError as error:
                assert "takes shardings and partition specs, got 3" in str(error)
            else:
                raise AssertionError("it was accepted")
        try:
            colocated_python.colocated_python(lambda: None)
        except NotImplementedError as error:
            assert "cluster" in str(error)
        else:
            raise AssertionError("it was accepted")

        class Manager(serialization.GlobalAsyncCheckpointManagerBase):
            pass

        try:
            Manager()
        except TypeError as error:
            assert "serialize" in str(error)
        else:
            raise AssertionError("an abstract class was made")
        for made in (serialization.GlobalAsyncCheckpointManager, serialization.get_tensorstore_spec):
            try:
                made("folder")
            except NotImplementedError as error:
                assert "Orbax" in str(error)
            else:
                raise AssertionError("it was made")
        """
    )


def test_references_have_the_names_that_jax_gives_them():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.ref
        from jax._src.state.types import AbstractRef

        ref = jax.new_ref(jax.numpy.zeros(2))
        jax.ref.set(ref, 0, 5.0)
        assert isinstance(ref, jax.Ref) and AbstractRef is jax.ref.AbstractRef and jax.freeze(ref)[0] == 5
        """
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels_of_packages_import_and_run(backend):
    out = run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.experimental import pallas as pl
        from jax.experimental.pallas import tpu as pltpu
        from jax.experimental.pallas import triton as plgpu

        def add(x_ref, y_ref, o_ref):
            o_ref[...] = x_ref[...] + plgpu.load(y_ref)

        half = pl.BlockSpec((2,), lambda i: (i,), memory_space=pltpu.VMEM)
        kernel = pl.pallas_call(
            add,
            out_shape=jax.ShapeDtypeStruct((4,), jnp.float32),
            grid_spec=pl.GridSpec(grid=(2,), in_specs=[half, half], out_specs=half),
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
            interpret=True,
        )
        print(kernel(jnp.arange(4.0), jnp.ones(4)).tolist())
        try:
            pltpu.make_async_copy(None, None, None)
        except NotImplementedError as error:
            print(error)
        """,
        backend=backend,
    )
    assert out.startswith(
        "[1.0, 2.0, 3.0, 4.0]\npallas.tpu.make_async_copy: the interpreted form of Pallas has no copies"
    )


def test_hints_to_compilers_have_the_names_of_jax():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        from jax._src.custom_partitioning_sharding_rule import SdyShardingRule
        from jax.experimental.compute_on import compute_on, compute_on2
        from jax.experimental.custom_partitioning import custom_partitioning, custom_partitioning_p
        from jax.experimental.layout import Layout, with_layout_constraint
        from jax.experimental.roofline import roofline
        from jax.experimental.xla_metadata import set_xla_metadata
        from jax.profiler import ProfileData

        on_host = compute_on2(jax.lax.sin, compute_type="device_host", out_memory_spaces="device")
        assert compute_on2 is compute_on and on_host(0.0) == 0
        with compute_on("device_host"), set_xla_metadata(group="first"):
            assert jax.jit(jax.lax.cos)(0.0) == 1
        jaxpr = jax.make_jaxpr(custom_partitioning(jax.lax.sin))(0.0)
        assert jaxpr.eqns[0].primitive is custom_partitioning_p and SdyShardingRule
        seen = []
        jax.debug.inspect_array_sharding(jax.numpy.ones(3), callback=seen.append)
        assert len(seen) == 1 and not list(ProfileData(b"").planes)
        assert roofline(jax.lax.sin)(jax.numpy.ones(3))[1].unfused_flops == 3
        assert with_layout_constraint(1.0, Layout((0,))) == 1 and jax.host_id() == 0 and jax.host_count() == 1
        """
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_wait_in_the_memory_that_is_named(backend):
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        from jax.memory import Space
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

        assert jax.memory.Space is Space and len(Space) == 3
        far = "pinned_host" if "pinned_host" in jax.devices()[0].memory_kinds else "device"

        def kinds(array):
            return array.sharding.memory_kind, jax.device_put(array, Space.Device).sharding.memory_kind

        auto = Mesh(jax.devices(), "x", axis_types=jax.sharding.AxisType.Auto)
        explicit = jax.make_mesh((2,), ("x",))
        out = jax.jit(lambda x: jax.device_put(2 * x, Space.Host))
        back = jax.jit(lambda x: jax.device_put(jax.device_put(2 * x, Space.Host), Space.Device))
        over = [NamedSharding(mesh, P("x")) for mesh in (auto, explicit)]
        for place in (SingleDeviceSharding(jax.devices()[1]), *over):
            x = jax.device_put(jax.numpy.arange(4.0), place)
            waiting = jax.device_put(x, Space.Host)
            assert kinds(waiting) == (far, "device") and waiting.tolist() == x.tolist()
            assert waiting.sharding == place.with_memory_kind(far)
            assert jax.device_put(waiting, Space.Any).sharding == waiting.sharding
            if not isinstance(place, NamedSharding):
                continue
            with jax.set_mesh(place.mesh):
                assert kinds(out(x)) == kinds(out(waiting)) == (far, "device")
                assert back(x).sharding == place and back(x).tolist() == out(x).tolist() == [0, 2, 4, 6]
        assert kinds(jax.device_put(1.5, Space.Host)) == (far, "device")
        for call in (lambda: jax.jit(lambda x: x, out_shardings=Space.Host)(1.0), lambda: out(jax.numpy.arange(4.0))):
            try:
                call()
            except (TypeError, NotImplementedError) as error:
                assert "sharding.with_memory_kind(...)" in str(error)
            else:  # of one memory there is nothing to decide
                assert far == "device"
        """,
        backend=backend,
        TANGRAD_NUM_CPU_DEVICES="2",
    )


def test_the_settings_object_is_there_whatever_is_imported_first():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        from jax._src import config, dtypes
        import jax
        jax.config.parse_flags_with_absl()
        assert config.jax_enable_x64.value is config.enable_x64.value is False
        assert dtypes.canonicalize_dtype("float64", allow_extended_dtype=True) == "float32"
        from jax.config import config as older
        import jax.config
        assert older is jax.config and not older.jax_enable_x64
        from jax.experimental.sparse.util import CuSparseEfficiencyWarning
        assert issubclass(CuSparseEfficiencyWarning, Warning)
        """
    )


def test_flags_of_absl_have_their_defaults_where_a_program_uses_them():
    run(
        """
        import sys
        from types import ModuleType

        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax

        class Flags:  # as absl's: they have no values before they have seen a command line
            seen = []

            def is_parsed(self):
                return bool(self.seen)

            def __call__(self, argv, known_only=False):
                assert known_only
                self.seen.append(argv)

        jax.config.parse_flags_with_absl()  # a program without absl
        sys.modules["absl.flags"] = flags = ModuleType("absl.flags")
        flags.FLAGS = Flags()
        sys.argv = ["program", "--its_own"]
        jax.config.parse_flags_with_absl()
        jax.config.parse_flags_with_absl()
        assert Flags.seen == [["program"]], Flags.seen
        """
    )
