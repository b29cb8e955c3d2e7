"""`jit` with shardings, constraints within programs, and sharded arguments of compiled functions."""

import re
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad.core.settings import SETTINGS
from tangrad.experimental.pjit import pjit
from tangrad.export import export
from tangrad.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding, use_mesh
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, by, matrix, mesh

constrain = tangrad.lax.with_sharding_constraint
X = matrix()


def test_inputs_and_outputs() -> None:
    double = tangrad.jit(lambda a: a * 2, in_shardings=by("y"), out_shardings=by(None, "x"))
    for argument in (matrix(), jnp.asarray(matrix()), tangrad.device_put(matrix(), by("y")), matrix().tolist()):
        found = double(np.asarray(argument, np.float32)) if isinstance(argument, list) else double(argument)
        assert found.sharding == by(None, "x")
        assert_equal(found, 2 * matrix())
    assert double.trace_count == 1


def test_specs_mean_the_mesh_in_use() -> None:
    double = tangrad.jit(lambda a: a * 2, in_shardings=P("y"), out_shardings=P("x"))
    with pytest.raises(
        RuntimeError, match=r"jit in_shardings requires a non-empty mesh in context: .*, and there is none"
    ):
        double(matrix())
    for grid in (mesh(), mesh(4, 2), mesh()):
        with grid:
            found = double(matrix())
            assert found.sharding == NamedSharding(grid, P("x"))
            assert_equal(found, 2 * matrix())


def test_prefixes_donation_static_arguments() -> None:
    shardings = {"w": by("x", "y"), "b": by("y")}

    def step(parameters, batch, rate):
        def loss(p):
            return ((batch @ p["w"] + p["b"]) ** 2).mean()

        value, gradients = tangrad.value_and_grad(loss)(parameters)
        return value, tangrad.tree.map(lambda p, g: p - rate * g, parameters, gradients)

    start = {"w": matrix() / 10, "b": np.ones(8, np.float32)}
    batch = np.linspace(0, 1, 32, dtype=np.float32).reshape(4, 8)
    expected_loss, expected = tangrad.jit(step, static_argnums=2)(start, batch, 0.1)
    sharded = tangrad.jit(
        step, static_argnums=2, donate_argnums=0, in_shardings=(shardings, by("x")), out_shardings=(None, shardings)
    )
    given = tangrad.device_put(start, shardings)
    loss, found = sharded(given, batch, 0.1)
    assert_equal(loss, expected_loss)
    for name in start:
        assert_equal(found[name], expected[name], 1e-4)
        assert found[name].sharding == shardings[name]
    assert given["w"].is_deleted()


def test_nested_and_transformed() -> None:
    double = tangrad.jit(lambda a: a * 2, in_shardings=by("y"), out_shardings=by("x"))
    x = matrix()
    assert_equal(tangrad.jit(lambda a: jnp.sin(double(a)).sum(0))(x), np.sin(2 * x).sum(0), 1e-4)
    assert_equal(tangrad.grad(lambda a: double(a).sum())(x), np.full((8, 8), 2.0))
    assert_equal(tangrad.vmap(tangrad.jit(lambda a: a * 2, in_shardings=by("y")))(x), 2 * x)
    assert_equal(tangrad.jvp(double, (x,), (x,))[1], 2 * x)


def test_sharded_arguments_of_plain_functions() -> None:
    x = tangrad.device_put(matrix(), by("x", "y"))
    several = tangrad.jit(lambda a, b: (a @ b, a.sum(), b))
    for other in (x, tangrad.device_put(matrix(), by("y")), matrix()):
        for found, expected in zip(several(x, other), (matrix() @ matrix(), matrix().sum(), matrix()), strict=True):
            assert_equal(found, expected, 1e-3)
            assert found.sharding.num_devices == 8
    assert several.trace_count == 1
    assert tangrad.jit(lambda a: a * 2)(x).sharding == by("x", "y")
    carry, rows = tangrad.jit(lambda a: tangrad.lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(8), a))(x)
    sums = np.cumsum(matrix(), 0)
    assert_equal(carry, sums[-1])
    assert_equal(rows[1:], sums[:-1] * matrix()[1:], 1e-4)
    assert_equal(tangrad.lax.cond(True, lambda a: a + 1, lambda a: a, x), matrix() + 1)


def test_constraints() -> None:
    assert constrain(matrix(), by("x", "y")).sharding == by("x", "y")
    found = tangrad.jit(lambda a: constrain(a * 2, by("y")))(matrix())
    assert found.sharding == by("y")
    assert_equal(found, 2 * matrix())
    with mesh():
        assert tangrad.jit(lambda a: constrain(a, P("y")))(matrix()).sharding == by("y")
    tree = constrain({"a": matrix(), "b": 1.0}, {"a": by("x"), "b": None})
    assert tree["a"].sharding == by("x") and tree["b"] == 1.0
    x = matrix()
    gradient = tangrad.jit(tangrad.grad(lambda a: (constrain(jnp.sin(a), by("x", "y")) ** 2).sum()))(x)
    assert_equal(gradient, np.sin(2 * x), 1e-4)
    assert_equal(tangrad.jvp(lambda a: constrain(3 * a, by("x")), (x,), (x,))[1], 3 * x)


def test_mapped_constraints() -> None:
    x = matrix()
    plain = tangrad.jit(tangrad.vmap(lambda a: constrain(a, by("x"))))
    assert_equal(plain(x), x)
    over = tangrad.jit(tangrad.vmap(lambda a: constrain(2 * a, by("x")), spmd_axis_name="y"))
    assert_equal(over(x), 2 * x)
    assert over(x).sharding == by("y", "x")
    with pytest.raises(ValueError, match="'x' twice"):
        tangrad.vmap(lambda a: constrain(a, by("x")), spmd_axis_name="x")(x)
    free = tangrad.jit(lambda a: constrain(a * 2, by(P.UNCONSTRAINED, "x")))
    assert_equal(free(tangrad.device_put(x, by("y"))), 2 * x)


def test_ahead_of_time() -> None:
    x = tangrad.device_put(matrix(), by("x", "y"))
    compiled = tangrad.jit(lambda a: a @ a, in_shardings=by("x", "y"), out_shardings=by("x")).lower(matrix()).compile()
    assert_equal(compiled(x), matrix() @ matrix(), 1e-3)
    assert compiled(x).sharding == by("x")
    described = tangrad.ShapeDtypeStruct((8, 8), np.float32, sharding=by("y"))
    assert_equal(tangrad.jit(lambda a: a * 2).lower(described).compile()(matrix()), 2 * matrix())


@pytest.mark.skipif(not ON_XLA, reason="NumPy has no compiler that would put them in")
def test_collectives_in_the_compiled_program() -> None:
    def collectives(function, *specs, out):
        jitted = tangrad.jit(function, in_shardings=tuple([by(*spec) for spec in specs]), out_shardings=by(*out))
        text = jitted.lower(*[matrix()] * len(specs)).compile().as_text()
        return sorted(set(re.findall(r" (all-\w+|collective-permute|reduce-scatter)\(", text)))

    assert collectives(lambda a, b: a @ b, ("x",), (None, "y"), out=("x", "y")) == []
    assert collectives(lambda a, b: a @ b, (None, "y"), ("y",), out=()) == ["all-reduce"]
    assert collectives(lambda a: a, ("x",), out=()) == ["all-gather"]


def test_bad_calls() -> None:
    x = tangrad.device_put(matrix(), by("x", "y"))
    jit = tangrad.jit
    for error, call, words in [
        (ValueError, lambda: jit(lambda a: a, in_shardings=by("y"))(x), "is sharded by .* in_shardings say .*'y'"),
        (ValueError, lambda: jit(lambda a: a, in_shardings=by("y"))(np.ones((6, 8))),
         r"argument args\[0\] of shape \(6, 8\).*dimension 0, of size 6.*'y' of size 4"),
        (ValueError, lambda: jit(lambda a: a, out_shardings=by("y"))(np.ones((6, 8))), "result of shape"),
        (ValueError, lambda: jit(lambda a: {"k": a}, out_shardings=by("y"))(np.ones((6, 8))),
         r"result\['k'\] of shape \(6, 8\)"),
        (ValueError, lambda: jit(lambda a, b: a, in_shardings=(by("y"),))(x, x), "tuple of length 1"),
        (ValueError, lambda: jit(lambda a: (a, a), out_shardings=(by("y"),))(x), "tuple of length 1"),
        (ValueError, lambda: jit(lambda a: a, in_shardings=by("y"))(a=x), "by position: a"),
        (ValueError, lambda: jit(lambda a: a, in_shardings=by("y"))(tangrad.device_put(matrix(), tangrad.devices()[3])),
         "incompatible devices"),
        (ValueError, lambda: jit(lambda a: a, in_shardings=by("y"), backend="numpy"), "no device or backend beside"),
        (TypeError, lambda: jit(lambda a: a, in_shardings=3), "got 3 of type int"),
        (ValueError, lambda: jit(lambda a: a, in_shardings=by(P.UNCONSTRAINED)), "in_shardings: Unconstrained dims"),
        (ValueError, lambda: jit(lambda a: a, out_shardings=(P("x", P.UNCONSTRAINED),)), "Unconstrained dims"),
        (TypeError, lambda: constrain(matrix(), 3), "got 3 of type int"),
        (ValueError, lambda: constrain({"k": np.ones(3)}, by("x")), r"x\['k'\] of shape \(3,\)"),
        (RuntimeError, lambda: constrain(matrix(), P("x")), "there is none"),
        (ValueError, lambda: jit(lambda a: constrain(constrain(a, by("x")),
                                                     NamedSharding(tangrad.make_mesh((4,), ("z",)), P())))(matrix()),
         "two sets of devices"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    assert_equal(x, matrix())


def test_a_device_goes_before_the_sharding_of_an_argument() -> None:
    """As in JAX an argument of other devices is moved there."""
    x = tangrad.device_put(matrix(), NamedSharding(Mesh(tangrad.devices()[:4], ("z",)), P("z")))
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        found = tangrad.jit(lambda a: 2 * a, device=tangrad.devices()[5])(x)
    assert found.devices() == {tangrad.devices()[5]}
    assert_equal(found, 2 * matrix())


def test_a_device_is_not_beside_shardings_within() -> None:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        for by_place in ({"device": tangrad.devices()[0]}, {"backend": "cpu"}):
            function = tangrad.jit(lambda a: constrain(2 * a, by("x")), **by_place)
            for call in (function, function.lower):
                with pytest.raises(ValueError, match=r"Received incompatible devices for jitted .*leave"):
                    call(matrix())


def test_open_shardings_state_nothing_beside_references() -> None:
    total = tangrad.new_ref(jnp.zeros(()))

    def add(x: Any) -> Any:
        total[...] += x.sum()
        return x

    assert_equal(tangrad.jit(add, in_shardings=(None,), out_shardings=None)(matrix()), matrix())
    assert_equal(total[...], matrix().sum())


def test_python_functions_that_programs_call() -> None:
    x = tangrad.device_put(matrix(), by("x", "y"))
    calls = []

    def note(total):
        calls.append(float(total))

    def double(a):
        return tangrad.pure_callback(lambda b: np.asarray(b) * 2, tangrad.ShapeDtypeStruct(a.shape, a.dtype), a)

    def function(a):
        tangrad.debug.callback(note, a.sum())
        return double(a)

    assert_equal(tangrad.jit(function)(x), 2 * matrix())
    tangrad.effects_barrier()
    assert calls == [matrix().sum()]


@pytest.mark.skipif(not ON_XLA, reason="NumPy keeps no programs on disk")
def test_programs_that_are_kept_on_disk(tmp_path) -> None:
    x = tangrad.device_put(matrix(), by("x", "y"))
    with SETTINGS["compilation_cache_dir"](str(tmp_path)), SETTINGS["xla_cache_min_compile_seconds"](0.0):
        for _ in range(2):
            found = tangrad.jit(lambda a: jnp.tanh(a @ a), out_shardings=by("x"))(x)
            assert_equal(found, np.tanh(matrix() @ matrix()), 1e-3)
            assert found.sharding == by("x")
            tangrad.clear_caches()
    assert list(tmp_path.rglob("*"))


def test_what_is_donated_stands_once_among_the_arguments() -> None:
    spread = tangrad.device_put(X, by("x"))
    add = tangrad.jit(lambda a, b: (a + 1, b), donate_argnums=0)
    message = r"argument args\[0\] is donated, and its array is both args\[0\] and args\[1\]"
    for call in (
        lambda: add(spread, spread),
        lambda: add.lower(spread, spread).compile()(spread, spread),
        lambda: tangrad.pmap(lambda a, b: (a + 1, b), donate_argnums=0)(*[tangrad.pmap(lambda a: a)(X)] * 2),
        lambda: tangrad.jit(lambda t: {"a": t["a"] + 1, "b": t["b"] + 2}, donate_argnums=0)({"a": spread, "b": spread}),
    ):
        with pytest.raises(ValueError, match=r"is donated, and its array is both args"):
            call()
    with pytest.raises(ValueError, match=message):
        add(spread, spread)
    assert_equal(spread, X)  # nothing was overwritten
    assert_equal(add(spread, X)[0], X + 1)


def test_what_was_donated_is_refused() -> None:
    spread = tangrad.device_put(X, by("x"))
    tangrad.jit(lambda a: a + 1, donate_argnums=0)(spread)
    for use in (
        lambda a: a + 1,
        tangrad.jit(lambda a: a * 2),
        lambda a: tangrad.device_put(a, by("y")),
        tangrad.shard_map(lambda a: a, mesh=mesh(), in_specs=P("x"), out_specs=P("x")),
        np.asarray,
    ):
        with pytest.raises(RuntimeError, match=r"deleted, or .*donated"):
            use(spread)


def test_specs_of_more_dimensions_name_the_argument() -> None:
    long = by("x", "y", None)
    for call, where in (
        (lambda: tangrad.jit(lambda t: t, in_shardings=long)({"a": X}), r"argument args\[0\]\['a'\] of shape \(8, 8\)"),
        (lambda: tangrad.jit(lambda a: a.sum(), out_shardings=by("x"))(X), r"result of shape \(\)"),
        (lambda: tangrad.device_put(X, long), "device_put: an array of shape"),
        (lambda: constrain(X, long), "with_sharding_constraint: x of shape"),
    ):
        with pytest.raises(ValueError, match=where + ".*cannot be sharded by .* rank . or more"):
            call()


def test_shardings_of_arguments_and_results() -> None:
    x = matrix()

    def placements(function: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
        compiled = tangrad.jit(function, **options).lower(*args).compile()
        return compiled.input_shardings, compiled.output_shardings

    one = tangrad.sharding.SingleDeviceSharding(tangrad.devices()[0])
    assert placements(lambda a, b: {"sum": a + b["u"]}, x, {"u": x}) == (((one, {"u": one}), {}), {"sum": one})
    ins, outs = placements(lambda a, b: (a + b, a.sum()), x, x, in_shardings=(by("x"), None))
    assert ins == ((by("x"), by()), {}) and outs[1].is_fully_replicated
    assert placements(lambda a: a * 2, x, out_shardings=by("y")) == (((by(),), {}), by("y"))
    assert placements(lambda a: a * 2, tangrad.device_put(x, by("x", "y"))) == (((by("x", "y"),), {}), by("x", "y"))
    struct = tangrad.ShapeDtypeStruct((8, 8), "float32", sharding=by("x"))
    assert placements(lambda a: a.sum(), struct)[0] == ((by("x"),), {})
    assert placements(lambda a, b: 2.0 * b, x, x)[0] == ((None, one), {})  # what is not read is placed nowhere
    compiled = tangrad.jit(lambda a, *, b: a + b).lower(x, b=x).compile()
    assert compiled.input_shardings == ((one,), {"b": one}) and compiled.output_shardings == one
    assert compiled(x, b=x).sharding == one


# --- The input and output shardings of compiled programs. The expected answers are those of JAX 0.10 ---


FIRST = SingleDeviceSharding(tangrad.devices()[0])


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_shardings_is_of_a_list_or_a_tuple(kind: type) -> None:
    rows, columns = by("x"), by(None, "y")
    x = matrix()
    f = tangrad.jit(lambda x: kind([x, kind([x, x])]), in_shardings=[rows], out_shardings=[columns, rows])
    found = f(x)
    assert type(found) is kind and type(found[1]) is kind
    assert [leaf.sharding for leaf in tangrad.tree.leaves(found)] == [columns, rows, rows]
    nested = tangrad.jit(lambda x: [x, kind([x, x])], out_shardings=[rows, kind([columns, rows])])
    assert [leaf.sharding for leaf in tangrad.tree.leaves(nested(x))] == [rows, columns, rows]
    with pytest.raises(ValueError, match="jit out_shardings must be a tree prefix"):
        tangrad.jit(lambda x: kind([x, x]), out_shardings=[rows])(x)


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
    moved = tangrad.jit(jnp.sin, device=third).lower(matrix()).compile()
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
    tangrad.jit(lambda s: (seen.append(outer(s)), s)[1])(jnp.float32(2))
    assert seen == [((rows,), {})]


def test_a_backend_that_does_not_say() -> None:
    compiled = tangrad.jit(jnp.sin).lower(matrix()).compile()

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


def test_a_constraint_that_does_not_divide_is_a_hint() -> None:
    """Within compiled functions; what is put somewhere must divide, and so must dimensions of types."""
    odd = np.arange(21, dtype=np.float32).reshape(3, 7)
    for spec in (P("x"), P(None, ("x", "y")), P("x", "y")):
        hinted = lambda a, spec=spec: constrain(2 * a, by(*spec)) + 1
        assert_equal(tangrad.jit(hinted)(odd), 2 * odd + 1)
        assert_equal(tangrad.jit(tangrad.grad(lambda a, f=hinted: (f(a) ** 2).sum()))(odd), 4 * (2 * odd + 1))
        assert_equal(tangrad.jit(tangrad.vmap(hinted))(np.stack([odd, odd])), np.stack([2 * odd + 1] * 2))
        with pytest.raises(ValueError, match="is not divisible"):
            constrain(odd, by(*spec))
    half = tangrad.jit(lambda a: constrain(a, by("x", "y")))(np.ones((3, 8), np.float32))
    assert half.sharding.is_equivalent_to(by(None, "y"), 2)
    with pytest.raises(ValueError, match="for arrays of rank 2 or more"):
        tangrad.jit(lambda a: constrain(a, by("x", "y")))(odd[0])


def test_pjit_runs_on_the_mesh_in_use() -> None:
    """What nothing has placed is on all its devices, under `with mesh:` too; what is committed stays."""
    double, outside = pjit(lambda a: 2 * a), jnp.arange(8.0)
    with mesh():
        for found in (double(outside), double(np.arange(8.0)), pjit(lambda: 2 * jnp.arange(8.0))()):
            assert found.sharding == by() and found.committed
            assert_equal(found, 2 * np.arange(8))
        third = tangrad.devices()[3]
        assert double(tangrad.device_put(outside, third)).devices() == {third}
        assert double(tangrad.device_put(outside, by("x"))).sharding.spec == P("x")
    assert double(outside).devices() == outside.devices()


def test_what_is_on_the_mesh_by_default_is_moved_where_shardings_are_stated() -> None:
    cut = NamedSharding(mesh(), P("x", "y"))
    by_mesh = tangrad.jit(lambda a: 2 * a, in_shardings=cut, out_shardings=cut)
    by_spec = pjit(lambda a: 2 * a, in_shardings=P("x", "y"), out_shardings=P("x", "y"))
    for used in (tangrad.set_mesh, use_mesh):
        for double in (by_mesh, by_spec):
            with used(mesh()):
                for given in (matrix(), jnp.asarray(matrix()), matrix(), tangrad.device_put(matrix(), cut)):
                    found = double(given)
                    assert found.sharding == cut
                    assert_equal(found, 2 * matrix())
    with tangrad.set_mesh(mesh()), pytest.raises(ValueError, match="is sharded by"):
        by_mesh(tangrad.device_put(matrix(), P("y")))


def test_pjit_keeps_what_jit_was_given() -> None:
    scaled = pjit(lambda x, count: x * count if count else x, static_argnums=1)
    assert_equal(export(scaled)(np.ones(3, "float32"), 2).call(np.ones(3, "float32")), [2, 2, 2])
    assert scaled.trace_count == 1
    double = pjit(lambda a: 2 * a, in_shardings=by("x", "y"), out_shardings=by("x", "y"))
    assert export(double)(matrix()).nr_devices == 8
    with mesh():
        assert len(pjit(lambda a: 2 * a).lower(matrix()).compile()(matrix()).devices()) == 8


def test_a_lowered_program_is_compiled_for_the_devices_that_it_is_for() -> None:
    grid = tangrad.make_mesh((4,), ("x",), (AxisType.Auto,))
    struct = tangrad.ShapeDtypeStruct((8,), "float32", sharding=NamedSharding(grid.abstract_mesh, P("x")))
    lowered = tangrad.jit(lambda a: 2 * a).lower(struct)
    given = tangrad.device_put(np.ones(8, np.float32), NamedSharding(grid, P("x")))
    assert lowered.compile(device_assignment=grid.devices.flat)(given).devices() == set(grid.devices.flat)
    with pytest.raises(RuntimeError, match=r"Length of device_assignment: .* lowered for 4 devices, .* given 8"):
        lowered.compile(device_assignment=tangrad.devices())
    with pytest.raises(ValueError, match=r"device_assignment is .*, and .* was lowered for"):
        lowered.compile(device_assignment=tangrad.devices()[4:])
    first = tangrad.devices()[:1]
    assert_equal(tangrad.jit(lambda a: 2 * a).lower(matrix()).compile(device_assignment=first)(matrix()), 2 * matrix())
    other = tangrad.devices()[5]
    committed = tangrad.device_put(matrix(), other)
    lowered = tangrad.jit(lambda a: 2 * a).lower(committed)
    assert lowered.compile(device_assignment=[other])(committed).devices() == {other}
    with pytest.raises(ValueError, match=r"device_assignment is .*, and .* was lowered for"):
        lowered.compile(device_assignment=first)
    if ON_XLA:
        read = tangrad.jit(lambda a: 2 * a).trace(struct).lower(lowering_platforms=("tpu",))
        assert_equal(read.compile(device_assignment=grid.devices.flat)(given), 2 * np.ones(8))


def test_types_of_arguments_have_the_shardings_that_are_stated() -> None:
    cut = NamedSharding(tangrad.make_mesh((8,), ("x",), (AxisType.Explicit,)), P("x"))
    lowered = tangrad.jit(lambda a: 2 * a, in_shardings=cut, out_shardings=cut).lower(matrix())
    for stage in (lowered, lowered.compile()):
        assert stage.in_avals[0][0].sharding == NamedSharding(cut.mesh.abstract_mesh, P("x", None))
    found = tangrad.eval_shape(lambda a: 2 * a, tangrad.device_put(matrix(), cut))
    assert found.sharding == NamedSharding(cut.mesh.abstract_mesh, P("x", None))


def test_pjit_is_for_the_devices_of_the_mesh_in_use() -> None:
    half = NamedSharding(tangrad.make_mesh((4,), ("x",), (AxisType.Auto,)), P("x"))
    double = pjit(lambda a: 2 * a)
    with mesh():
        with pytest.raises(ValueError, match=r"Received incompatible devices for jitted computation .* mesh in use"):
            double(tangrad.device_put(matrix(), half))
        with pytest.raises(ValueError, match=r"Received incompatible devices for jitted computation partial"):
            pjit(partial(jnp.multiply, 2))(tangrad.device_put(matrix(), half))
        traced = double.trace(matrix())
        assert len(traced.lower().compile()(matrix()).devices()) == 8
    assert_equal(double(tangrad.device_put(matrix(), half)), 2 * matrix())


def test_what_is_put_nowhere_while_a_mesh_is_in_use_is_on_one_device() -> None:
    with tangrad.set_mesh(mesh()):
        x = tangrad.device_put(matrix())
        assert x.sharding == SingleDeviceSharding(tangrad.devices()[0]) and not x.committed
        assert len(tangrad.jit(lambda a: 2 * a)(x).devices()) == len((x + jnp.ones(8)).devices()) == 8
        assert (x + tangrad.device_put(matrix(), P("x"))).sharding.spec == P("x")
