"""Programs with names that packages take from jax: the alias prints what jax prints."""

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

from tests.compat.test_alias import run

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="the programs are run by jax, too")
ALIAS = "import tangrad.compat.jax\ntangrad.compat.jax.install()\n"


def prints_the_same(program, backend="xla"):
    """Assert that a program prints something, and the same with jax itself as with the alias."""
    program = textwrap.dedent(program)
    variables = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=300, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr
    assert run(ALIAS + program, backend=backend) == done.stdout


def test_classes_that_say_how_they_are_mapped():
    prints_the_same(
        """
        import jax
        import jax.numpy as jnp
        from jax.interpreters import batching

        @jax.tree_util.register_pytree_node_class
        class State:  # as a simulator has it: some arrays are for all examples
            def __init__(self, each, shared):
                self.each, self.shared = each, shared

            shape = property(lambda self: self.each.shape)

            def tree_flatten(self):
                return (self.each, self.shared), None

            @classmethod
            def tree_unflatten(cls, _, children):
                return cls(*children)

        def to_elt(cont, get_index, state, axis):
            return State(cont(state.each, axis), state.shared)

        def from_elt(cont, size, state, axis):
            return State(cont(size, state.each, axis), state.shared)

        batching.register_vmappable(State, int, int, to_elt, from_elt, None)
        state = State(jnp.arange(6.0).reshape(3, 2), jnp.arange(4.0))

        def step(state, x):
            return State(state.each * x, state.shared * 2), state.each.sum() + state.shared.sum()

        def show(out):
            print([(leaf.shape, leaf.tolist()) for leaf in jax.tree.leaves(out)])

        show(jax.vmap(step, in_axes=(0, None))(state, 2.0))
        show(jax.vmap(step, in_axes=(1, None), out_axes=(1, 0))(state, 2.0))
        show(jax.vmap(step, in_axes=(-1, None), out_axes=(-1, 0))(state, 2.0))
        show(jax.jit(jax.vmap(step))(state, jnp.arange(3.0)))
        show(jax.vmap(jax.vmap(lambda state: State(state.each + 1, state.shared)))(state))
        show(jax.vmap(lambda x: State(x, state.shared))(jnp.arange(2.0)))
        show(jax.grad(lambda state: jax.vmap(step)(state, jnp.ones(3))[1].sum())(state))
        print(batching.is_vmappable(state) if hasattr(batching, "is_vmappable") else True)
        try:
            jax.vmap(step)(state, jnp.arange(2.0))
        except ValueError as error:
            print(type(error).__name__)
        """
    )


def test_rules_that_map_over_zeros_by_structure():
    # As Equinox maps the rules of its primitives: what has no tangent is a zero among the results of what is mapped.
    prints_the_same(
        """
        import jax
        import jax.numpy as jnp
        from jax.extend.core import Primitive
        from jax.interpreters import ad, mlir

        def parts(x, y):
            return [jnp.sin(x) * y, jnp.floor(x)]

        parts_p = Primitive("parts")
        parts_p.multiple_results = True
        parts_p.def_impl(parts)
        parts_p.def_abstract_eval(lambda x, y: [jax.core.ShapedArray(x.shape, x.dtype)] * 2)
        mlir.register_lowering(parts_p, mlir.lower_fun(parts, multiple_results=True))

        def rule(primals, tangents):
            def one(x, y, t):
                outs = parts(x, y)
                return outs, [t * jnp.cos(x) * y, ad.Zero(jax.core.ShapedArray(x.shape, x.dtype))]

            outs, (first, second) = jax.vmap(jax.vmap(one), out_axes=1)(*primals, ad.instantiate_zeros(tangents[0]))
            assert type(second) is ad.Zero
            return [out.T for out in outs], [first.T, ad.Zero(jax.core.ShapedArray(primals[0].shape, first.dtype))]

        ad.primitive_jvps[parts_p] = rule
        x, y = jnp.arange(6.0).reshape(2, 3) / 4, jnp.arange(6.0).reshape(2, 3)

        def f(x):
            sine, floor = parts_p.bind(x, y)
            return sine + floor

        def show(out):
            print(jax.tree.map(lambda leaf: jnp.round(1000 * leaf).astype(int).tolist(), out))

        for wrap in (lambda f: f, jax.jit):
            show(wrap(lambda x, t: jax.jvp(f, (x,), (t,)))(x, y))
            show(wrap(jax.grad(lambda x: f(x).sum()))(x))
            show(wrap(lambda x: jax.linearize(f, x)[1](y))(x))
        """
    )


def test_what_interpreters_and_rules_look_at():
    prints_the_same(
        """
        import jax
        import jax.numpy as jnp
        from jax.extend.core import Primitive

        @jax.custom_jvp
        def f(x, y):
            return x * jnp.sin(y)

        @f.defjvp
        def f_jvp(primals, tangents):
            (x, y), (tx, ty) = primals, tangents
            return f(x, y), 3 * tx + ty

        equation = jax.make_jaxpr(lambda x, y: f(x, y) + 1)(2.0, 3.0).jaxpr.eqns[0]
        params = equation.primitive.get_bind_params(equation.params)
        function, rule = params["subfuns"]
        print(equation.primitive is jax.custom_derivatives.custom_jvp_call_p)
        print(function.call_wrapped(2.0, 3.0), rule.call_wrapped(2.0, 3.0, 1.0, 1.0))
        print(jax.jvp(lambda *args: equation.primitive.bind(*args, **params)[0], (2.0, 3.0), (1.0, 1.0)))

        def abstract(x):
            assert type(x) is jax.core.ShapedArray
            return x

        same_p = Primitive("same")
        same_p.def_abstract_eval(abstract)
        print(jax.eval_shape(same_p.bind, 1.0), jax.core.ShapedArray((2,), jnp.float32, sharding=None))

        def numbers(values):
            print([type(x) in (int, float) for x in jax.tree.leaves(values)])

        numbers(jax.jvp(lambda x: x, (2.0,), (3.0,)))
        numbers(jax.jvp(lambda x, y: {"a": y, "b": x * 2}, (2.0, 3.0), (3.0, 4.0)))
        numbers(jax.jvp(jax.jit(lambda x: x), (2.0,), (3.0,)))
        numbers(jax.jvp(lambda x: (x, x), (2.0,), (3.0,), has_aux=True)[:2])
        numbers(jax.jvp(lambda x: x, (jnp.ones(2),), (jnp.ones(2),)))
        """
    )


def test_functions_of_functions_and_of_sequences():
    prints_the_same(
        """
        import jax
        import jax.numpy as jnp
        import numpy as np
        from jax._src import util
        from jax.api_util import argnums_partial, debug_info, donation_vector, rebase_donate_argnums, safe_map
        from jax.extend import linear_util as lu
        from jax.extend import random
        from jax.interpreters import partial_eval as pe

        def f(x, y):
            return [x * 2, y + x]

        def wrapped(f, *args):
            return lu.wrap_init(f, debug_info=debug_info("test", f, args, {}))

        avals = [jax.core.ShapedArray((2,), np.dtype("float32"))] * 2
        jaxpr, out_avals, consts = pe.trace_to_jaxpr_dynamic(wrapped(f, 1, 2), avals)
        print(jaxpr, out_avals, consts)
        print(jax.core.eval_jaxpr(jaxpr, consts, jnp.ones(2), jnp.ones(2)))
        equation = jaxpr.eqns[0]
        primitive = equation.primitive
        print(primitive.bind(2.0, 3.0, **primitive.get_bind_params(equation.params)), primitive is jax.lax.mul_p)

        partial, dynamic = argnums_partial(wrapped(lambda x, y, z: x - y * z, 1, 2, 3), (2, 0), (5, 3, 2))
        print(partial.call_wrapped(*dynamic), partial.call_wrapped(1, 1), dynamic)
        print(donation_vector((1,), ("z",), jax.tree.structure(((0, (1, 2)), {"y": 3, "z": 4}))))
        print(rebase_donate_argnums((3, 4), (0, 1)), safe_map(pow, [2, 3], [3, 2]))

        @lu.transformation_with_aux2
        def counted(function, store, scale, *args):
            out = function(*[scale * arg for arg in args])
            store.store(len(args))
            return out

        function, count = counted(wrapped(lambda x, y: x + y, 1, 2), 10)
        print(function.call_wrapped(1, 2), count())

        print(util.split_list([1, 2, 3, 4], [1, 2]), util.partition_list([True, False, True], "abc"))
        print(util.merge_lists([True, False, True], ["b"], ["a", "c"]), util.unzip2([(1, 2), (3, 4)]), util.unzip3([]))
        print(util.subvals([1, 2], [(0, 5)]), util.tuple_insert((1, 2), 1, 7), util.tuple_delete((1, 2), 0))
        print(util.canonicalize_axis(-1, 3), util.ceil_of_ratio(7, 2), util.concatenate([[1], [2, 3]]))
        print(util.safe_zip([1], [2]), util.unflatten([1, 2, 3], [2, 1]), util.wrap_name("vmap", "f"))
        for wrong in (lambda: util.safe_map(pow, [1], []), lambda: util.safe_zip([1], [])):
            try:
                wrong()
            except (ValueError, AssertionError):
                print("refused")

        print(random.threefry_2x32((np.uint32(1), np.uint32(2)), jnp.arange(5, dtype="uint32")))
        print(random.seed_with_impl(random.rbg_prng_impl, jnp.arange(3)).shape)
        """
    )


def test_forward_and_backward_functions():
    prints_the_same(
        """
        import jax
        import jax.numpy as jnp

        def f(x, w, scale):
            return (x @ w) * scale, {"total": x.sum()}

        x, w = jnp.arange(6.0).reshape(2, 3), jnp.ones((3, 2))
        fwd, bwd = jax.fwd_and_bwd(f, argnums=(0, 1), has_aux=True)
        for _ in range(2):
            value, residuals, aux = fwd(x, w, 2.0)
            print(value.tolist(), aux["total"], [c.tolist() for c in bwd(residuals, jnp.ones((2, 2)))])
        fwd, bwd = jax.fwd_and_bwd(lambda x, y: x * y, 1, jitted=False)
        value, residuals = fwd(2.0, 3.0)
        print(value, bwd(residuals, 1.0))
        """
    )


def test_functions_mapped_over_one_axis_of_a_mesh():
    prints_the_same(
        """
        import jax
        jax.config.update("jax_num_cpu_devices", 4)
        import jax.numpy as jnp
        from jax import lax
        from jax.sharding import ManualAxisType

        x = jnp.arange(16.0).reshape(4, 4)
        mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
        with jax.set_mesh(mesh):
            for axis, out_axis in ((0, 0), (1, 1)):
                scaled = jax.smap(lambda x: x * lax.axis_index("i"), in_axes=axis, out_axes=out_axis, axis_name="i")
                print(jax.jit(scaled)(x).tolist())

            @jax.smap(in_axes=(0, None), out_axes=None, axis_name="i")
            def total(x, y):
                return {"total": lax.psum(x.sum(), "i") + y}

            print(float(jax.jit(total)(x, 1.0)["total"]))
            try:
                jax.smap(lambda x: x, in_axes=0, out_axes=0, axis_name=("i", "j"))
            except TypeError:
                print("refused")
        print(ManualAxisType(varying=frozenset(["i"])).varying, ManualAxisType().reduced)
        try:
            ManualAxisType(varying=frozenset(["i"]), reduced=frozenset(["i"]))
        except ValueError:
            print("refused")
        """
    )


def test_names_of_functions_and_what_modules_hold():
    prints_the_same(
        """
        import jax
        import jax.numpy as jnp
        from jax import lax

        for name in ("abs", "acos", "amax", "around", "conj", "degrees", "invert", "mod", "pow", "true_divide", "sin"):
            function = vars(jnp)[name]
            print(name, function.__name__, function is getattr(jnp, name))
        print(jnp.mod(7, 3), jnp.abs(-2.0), jax.grad(jnp.abs)(-2.0), jax.vmap(jnp.amax)(jnp.ones((2, 3))))
        print([name for name in ("scan", "dot_general", "linalg", "sin_p") if name in vars(lax) or hasattr(lax, name)])
        wrapped = {name: value for name, value in vars(jnp).items() if callable(value) and not name.startswith("_")}
        print(len(wrapped) > 380, wrapped["einsum"] is jnp.einsum)
        print(jax.config.jax_enable_x64, hasattr(jax.config, "config_with_absl"))
        """
    )


def test_private_modules_that_packages_import():
    prints_the_same(
        """
        import importlib
        import jax
        import jax.numpy as jnp

        for module, names in {
            "api": "jit vmap grad vjp jvp make_jaxpr",
            "ad_util": "Zero stop_gradient_p",
            "array": "make_array_from_callback",
            "checkify": "JaxException Out checkify",
            "config": "config enable_x64 update",
            "core": "full_lower physical_aval trace_state_clean TraceTag Primitive",
            "custom_derivatives": "custom_jvp custom_vjp custom_jvp_call_p",
            "dtypes": "canonicalize_dtype issubdtype",
            "interpreters.ad": "add_jaxvals_p get_primitive_transpose primitive_jvps",
            "interpreters.partial_eval": "JaxprTracer dce_jaxpr",
            "interpreters.pxla": "global_result_handlers",
            "lax.control_flow": "scan cond while_p",
            "lax.lax": "add_p dot_general reduce_sum_p",
            "lax.linalg": "cholesky_p lu qr_p",
            "lax.parallel": "psum_p all_gather",
            "lax.slicing": "gather_p dynamic_slice",
            "lib": "xla_client version",
            "literals": "TypedFloat TypedInt TypedNdArray",
            "mesh": "Mesh AxisType get_abstract_mesh",
            "nn.functions": "relu softmax",
            "numpy.lax_numpy": "where asarray",
            "numpy.reductions": "sum mean",
            "numpy.util": "promote_dtypes",
            "ops.scatter": "segment_sum",
            "ops.special": "logsumexp",
            "partition_spec": "PartitionSpec",
            "pjit": "jit_p",
            "random.prng": "random_seed",
            "random": "key split normal",
            "scipy.special": "gammaln",
            "sharding_impls": "NamedSharding",
            "tree_util": "tree_map register_pytree_node",
            "typing": "Array ArrayLike",
            "util": "safe_map unzip2 HashablePartial",
            "xla_bridge": "get_backend",
        }.items():
            found = importlib.import_module(f"jax._src.{module}")
            print(module, [name for name in names.split() if hasattr(found, name)])

        from jax.example_libraries import stax

        key = jax.random.key(0)
        print(stax.randn(0.1)(key, (2,), jnp.float32), stax.glorot()(key, (2, 2), jnp.float32).shape)
        """
    )


def test_classes_of_tests():  # jax's own need absl
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax.numpy as jnp
        from jax._src import test_util

        class Test(test_util.JaxTestCase):
            def test(self):
                self.assertAllClose({"a": jnp.ones(2)}, {"a": jnp.ones(2) + 1e-7})
                self.assertArraysEqual(jnp.ones(2), jnp.ones(2))
                for other in (jnp.ones(3), jnp.zeros(2), jnp.ones(2, int)):
                    with self.assertRaises(AssertionError):
                        self.assertAllClose(jnp.ones(2), other)
                assert test_util.test_device_matches(["cpu"]) and not test_util.is_device_tpu()
                assert test_util.num_float_bits(jnp.complex64) == 32
                x = test_util.rand_default(self.rng())((2, 3), "float32")
                assert x.shape == (2, 3) and x.dtype == "float32"
                self.assertAllClose(test_util.promote_like_jnp(lambda x: x * 2)(x), 2 * jnp.asarray(x))

        test = Test("test")
        test.setUp()
        test.test()
        test.doCleanups()
        """
    )


def test_what_the_alias_refuses_says_why():
    run(
        """
        import tangrad.compat.jax
        tangrad.compat.jax.install()
        import jax
        import jax.numpy as jnp
        from jax.experimental import multihost_utils
        from jax.extend import linear_util, random
        from jax.interpreters import ad, batching

        def refused(kind, action):
            try:
                action()
            except kind as error:
                return str(error)
            raise AssertionError("it was accepted")

        parts = dict.fromkeys(("seed", "split", "random_bits", "fold_in"), lambda *args: args)
        new = lambda: random.define_prng_impl(key_shape=(2,), name="mine", **parts)
        assert "'mine'" in refused(NotImplementedError, new)
        assert "data_type" in refused(TypeError, lambda: batching.register_vmappable(3, int, int, None, None, None))
        assert "uint32" in refused(TypeError, lambda: random.threefry_2x32((jnp.uint32(1),) * 2, jnp.arange(3)))
        assert "sin" in refused(NotImplementedError, lambda: ad.get_primitive_transpose(jax.lax.sin_p))
        nothing = linear_util.Store()
        refused(linear_util.StoreException, lambda: nothing.val)
        with multihost_utils.live_devices(jax.devices()) as devices:
            assert devices == jax.devices()
        refused(ValueError, lambda: multihost_utils.live_devices(["cpu:0"]).__enter__())
        never = jax.extend.core.primitives.closed_call_p
        assert never is jax.lax.closed_call_p if hasattr(jax.lax, "closed_call_p") else never.name == "closed_call"
        refused(AttributeError, lambda: jax.lax.nonsense_p)
        with jax.set_mesh(jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))):
            same = jax.smap(lambda x: x, in_axes=-1, out_axes=1, axis_name="i")
            assert same(jnp.ones((2, 3))).shape == (2, 3)
            from_the_end = jax.smap(lambda x: x, in_axes=0, out_axes=-1, axis_name="i")
            assert "out_axes" in refused(NotImplementedError, lambda: from_the_end(jnp.ones(2)))
            inferred = jax.smap(jnp.sin, out_axes=0, axis_name="i")
            assert "Explicit" in refused(TypeError, lambda: inferred(jnp.ones(2)))
        """
    )
