"""Exporting: programs for any sizes and several platforms, called, differentiated, exchanged with jax."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export
from tangrad.core import ShapedArray

jax = pytest.importorskip("jax")

SPECS = ("a, b", "b, 2*a + 1")
CONSTRAINTS = ("b >= 2",)
SIZES = ((3, 4), (5, 2))
CPU = ("cpu",)


def program(x, y):
    return {"product": np.sin(x) @ y, "running": np.cumsum(x, 1), "flat": (np.reshape(x, (-1,))[::-1], x.mean(0))}


def arguments(a, b):
    draw = numpy.random.default_rng(a)
    return draw.normal(size=(a, b)).astype("float32"), draw.normal(size=(b, 2 * a + 1)).astype("float32")


def exported(function=program, **options):
    spec = export.symbolic_args_specs(arguments(3, 4), SPECS, constraints=CONSTRAINTS)
    return export.export(tangrad.jit(function), **options)(*spec)


def assert_same(found, expected):
    assert tangrad.tree.structure(found) == tangrad.tree.structure(expected)
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected)):
        numpy.testing.assert_allclose(numpy.asarray(one), numpy.asarray(other), rtol=2e-5, atol=1e-5)


@pytest.fixture(scope="module")
def made():
    return exported()


@pytest.mark.parametrize("sizes", SIZES)
def test_one_program_runs_at_any_sizes(made, sizes):
    x, y = arguments(*sizes)
    expected = program(np.asarray(x), np.asarray(y))
    assert_same(made.call(x, y), expected)
    assert_same(tangrad.jit(made.call)(x, y), expected)
    assert_same(tangrad.jit(lambda x, y: made.call(2 * x, y)["product"])(x, y), program(2 * x, y)["product"])


def test_it_is_differentiated_under_jit_and_in_files(made):
    def loss(function):
        return lambda x, y: sum((leaf**2).sum() for leaf in tangrad.tree.leaves(function(x, y)))

    read = export.deserialize(made.serialize(vjp_order=1))
    for sizes in SIZES:
        x, y = arguments(*sizes)
        expected = tangrad.grad(loss(program), (0, 1))(x, y)
        for call in (made.call, tangrad.jit(made.call), read.call):
            assert_same(tangrad.grad(loss(call), (0, 1))(x, y), expected)
    assert read.has_vjp() and not read.vjp().has_vjp()
    again = export.deserialize(made.serialize())
    assert not again.has_vjp()
    with pytest.raises(ValueError, match="vjp_order=1"):
        again.vjp()


def test_what_users_find_there(made):
    assert made.fun_name == "program" and made.platforms == ("cpu",) and made.nr_devices == 1
    assert [str(aval) for aval in made.in_avals] == ["float32[a,b]", "float32[b,2*a + 1]"]
    assert [str(aval) for aval in made.out_avals] == [
        "float32[a*b]", "float32[b]", "float32[a,2*a + 1]", "float32[a,b]",
    ]  # fmt: skip
    assert made.in_tree == tangrad.tree.structure(((0, 0), {})) and made.module_kept_var_idx == (0, 1)
    text = made.mlir_module()
    assert "func.func public @main(%arg0: tensor<?x?xf32>, %arg1: tensor<?x?xf32>)" in text
    assert "@wrapped_program(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<?x?xf32>" in text
    assert "jax.uses_shape_polymorphism = true" in text
    assert "jax.uses_shape_polymorphism" not in export.export(tangrad.jit(np.sin))(np.ones(3)).mlir_module()
    assert "stablehlo.custom_call @shape_assertion" in text and "the constraint b >= 2 does not hold" in text
    assert export.minimum_supported_calling_convention_version <= made.calling_convention_version
    assert made.calling_convention_version <= export.maximum_supported_calling_convention_version


def test_functions_within_take_the_sizes_first():
    inner = tangrad.jit(lambda x: np.ones(x.shape) + x)
    text = exported(lambda x, y: inner(x).sum() + inner(x.T).sum()).mlir_module()
    assert text.count("(tensor<i32>, tensor<i32>, tensor<?x?xf32>) -> tensor<?x?xf32>") >= 2


def test_programs_are_nested_in_programs(made):
    outer = exported(lambda x, y: made.call(x + 1, y)["product"].sum(1))
    x, y = arguments(4, 3)
    assert str(outer.out_avals[0]) == "float32[a]"
    assert_same(outer.call(x, y), program(x + 1, y)["product"].sum(1))


def test_several_platforms_in_one_module():
    both = exported(platforms=["cuda", "cpu"])
    assert both.platforms == ("cuda", "cpu") and both.uses_global_constants
    assert exported().uses_global_constants  # sizes are known when it is called
    assert '(%arg0: tensor<i32> {jax.global_constant = "_platform_index"}' in both.mlir_module()
    x, y = arguments(2, 2)
    assert_same(both.call(x, y), program(x, y))
    solve = export.export(tangrad.jit(np.linalg.cholesky), platforms=["cpu", "cuda"])(np.eye(3))
    assert "stablehlo.case" in solve.mlir_module()
    assert_same(solve.call(4 * np.eye(3)), 2 * np.eye(3))


def test_what_is_alike_on_all_platforms_is_there_once():
    x = np.arange(5.0)
    scan = tangrad.jit(lambda x: tangrad.lax.scan(lambda c, v: (np.sin(c) + v, np.where(v > 2, c, 0)), 0.0, x))
    text = export.export(scan, platforms=["cpu", "cuda", "tpu"])(x).mlir_module()
    assert text.count("stablehlo.sine") == text.count("stablehlo.while") == 1 and "stablehlo.case" not in text
    where = tangrad.jit(lambda x: tangrad.lax.platform_dependent(np.sin(x), cpu=lambda y: y + 2, cuda=lambda y: y + 3))
    several = export.export(where, platforms=["cpu", "cuda"])(x)
    text = several.mlir_module()  # branches that add other numbers are not alike
    assert text.count("stablehlo.sine") == 1 and text.count("stablehlo.case") == 1
    assert_same(several.call(x), np.sin(x) + 2)
    turned = tangrad.jit(lambda x: np.fft.fft(x) * numpy.complex64(1 + 2j))
    assert_same(export.export(turned, platforms=["cuda", "cpu"])(x).call(x), np.fft.fft(x) * (1 + 2j))


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        (
            ((3, 4), (4, 8)),
            ValueError,
            r"args\[1\] .* 1 has size 8, where 2\*a \+ 1 is 7 \(a = 3 by dimension 0",
        ),
        (((3, 4), (5, 7)), ValueError, r"args\[1\] .* dimension 0 has size 5, where b is 4"),
        (((3, 1), (1, 7)), ValueError, r"b is 1; its constraints \(b >= 2\) say that it is at least 2"),
        (
            ((3, 4, 1), (4, 7)),
            ValueError,
            r"Rank mismatch for args\[0\], .* with 2 dimensions: got one of shape \(3, 4, 1\)",
        ),
        (((3, 4),), TypeError, "was exported for arguments"),
        (((3, 4),), ValueError, "was exported for arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_named(made, arrays, error, message):
    with pytest.raises(error, match=message):
        made.call(*[np.ones(shape) for shape in arrays])


def test_other_bad_input(made):
    for caught in (TypeError, ValueError):
        with pytest.raises(caught, match=r"Dtype mismatch for args\[0\], .* f32\[a,b\] in .*, got i32"):
            made.call(np.ones((3, 4), int), np.ones((4, 7)))
        with pytest.raises(caught, match="strings as keys"):
            export.export(tangrad.jit(lambda d: d[0, 1]))({(0, 1): 1.0}).serialize()
    (size,) = export.symbolic_shape("m", constraints=["m >= n"])
    with pytest.raises(ValueError, match="variable 'n' in the constraint m >= n, and no argument has it"):
        export.export(tangrad.jit(np.sin))(tangrad.ShapeDtypeStruct((size,), "float32"))
    mixed = [tangrad.ShapeDtypeStruct(export.symbolic_shape(f"w, {h}"), "float32") for h in ("a", "b")]
    with pytest.raises(ValueError, match=r"dimensions of args\[0\] are of one, w of kwargs\['y'\] is of another"):
        export.export(tangrad.jit(lambda x, y: np.concatenate([x, y], 1)))(mixed[0], y=mixed[1])
    for shape in (None, 3):  # of a static argument
        static = type("Config", (), {"shape": shape})
        export.export(tangrad.jit(lambda x, config: x, static_argnums=1))(mixed[0], static)
    with pytest.raises(TypeError, match="takes a function"):
        export.export("program")
    with pytest.raises(ValueError, match="different names"):
        exported(platforms=["cpu", "cpu"])
    with pytest.raises(ValueError, match=r"platforms has 'cudda', .* did you mean 'cuda'"):
        exported(platforms=["cudda"])
    with pytest.raises(TypeError, match="sequence of names"):
        exported(platforms="cpu")
    with pytest.raises(export.InconclusiveDimensionOperation, match=r'"a >= 5"'):
        exported(lambda x, y: x[4])
    with pytest.raises(ValueError, match="do not determine a, b"):
        export.export(tangrad.jit(np.sin))(ShapedArray(export.symbolic_shape("a*b"), "float32"))
    extended = export.export(tangrad.jit(np.sin), platforms=["neuron", "cpu"])(np.ones(3))
    assert_same(export.deserialize(extended.serialize()).call(np.ones(3)), np.sin(np.ones(3)))
    elsewhere = export.export(tangrad.jit(np.sin), platforms=["tpu"])(np.ones(3))
    with pytest.raises(ValueError, match="was exported for tpu, and is called on cpu"):
        elsewhere.call(np.ones(3))
    unchecked = export.export(
        tangrad.jit(np.sin), platforms=["tpu"], disabled_checks=[export.DisabledSafetyCheck.platform()]
    )(np.ones(3))
    assert_same(unchecked.call(np.ones(3)), np.sin(np.ones(3)))


def test_calls_of_python_are_not_exported():
    def function(x):
        return tangrad.pure_callback(lambda x: x, tangrad.ShapeDtypeStruct((3,), "float32"), x)

    with pytest.raises(ValueError, match="callbacks to Python never are"):
        export.export(tangrad.jit(function))(np.ones(3))


# --- with jax -------------------------------------------------------------------------------------------------------


def test_jax_runs_what_is_exported_here():
    made = exported(lambda x, y: (np.sin(x) @ y, np.sort(x, 1)), platforms=["cpu", "cuda"])
    structs = jax.export.symbolic_args_specs(tuple(map(jax.numpy.asarray, arguments(3, 4))), SPECS, CONSTRAINTS)
    (a, b), _ = [struct.shape for struct in structs]

    def avals(*shapes):
        return tuple([jax.core.ShapedArray(shape, jax.numpy.float32) for shape in shapes])

    fields = dict.fromkeys(jax.export.Exported.__dataclass_fields__, ()) | {
        "fun_name": made.fun_name,
        "in_tree": jax.tree_util.tree_structure(((0, 0), {})),
        "in_avals": avals(*[struct.shape for struct in structs]),
        "out_tree": jax.tree_util.tree_structure((0, 0)),
        "out_avals": avals((a, 2 * a + 1), (a, b)),
        "in_shardings_hlo": (None, None),
        "out_shardings_hlo": (None, None),
        "_has_named_shardings": False,
        "_in_named_shardings": (None, None),
        "_out_named_shardings": (None, None),
        "nr_devices": 1,
        "platforms": made.platforms,
        "mlir_module_serialized": made.mlir_module_serialized,
        "calling_convention_version": made.calling_convention_version,
        "module_kept_var_idx": made.module_kept_var_idx,
        "uses_global_constants": made.uses_global_constants,
        "_get_vjp": None,
    }
    theirs = jax.export.Exported(**fields)
    for sizes in SIZES:
        x, y = arguments(*sizes)
        assert_same(tuple(theirs.call(x, y)), (np.sin(x) @ y, np.sort(x, 1)))


def test_what_jax_exports_runs_here():
    numbers = jax.numpy

    def function(x, y):
        return numbers.tanh(x) @ y, x.mean(0), jax.lax.fori_loop(0, 3, lambda i, c: c * 2.0, x), numbers.sort(x, 1)

    structs = jax.export.symbolic_args_specs(tuple(map(numbers.asarray, arguments(3, 4))), SPECS, CONSTRAINTS)
    theirs = jax.export.export(jax.jit(function), platforms=["cpu", "tpu"])(*structs)
    scope = export.SymbolicScope(CONSTRAINTS)

    def avals(given):
        shapes = [export.symbolic_shape(", ".join(map(str, aval.shape)), scope=scope) for aval in given]
        return tuple([ShapedArray(shape, aval.dtype) for shape, aval in zip(shapes, given)])

    ours = export.Exported(
        fun_name=theirs.fun_name,
        in_tree=tangrad.tree.structure(((0, 0), {})),
        in_avals=avals(theirs.in_avals),
        out_tree=tangrad.tree.structure((0,) * 4),
        out_avals=avals(theirs.out_avals),
        platforms=tuple(theirs.platforms),
        mlir_module_serialized=bytes(theirs.mlir_module_serialized),
        calling_convention_version=theirs.calling_convention_version,
        uses_global_constants=theirs.uses_global_constants,
    )
    again = export.deserialize(ours.serialize())
    for sizes in SIZES:
        x, y = arguments(*sizes)
        expected = tuple(map(numpy.asarray, function(x, y)))
        assert_same(ours.call(x, y), expected)
        assert_same(again.call(x, y), expected)


def test_functions_that_are_not_jitted():
    exported = export.export(lambda x: 2 * x)(tangrad.ShapeDtypeStruct((3,), "float32"))
    assert exported.call(np.arange(3.0)).tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="takes a function, got 3 of type int"):
        export.export(3)


def test_bounds_of_dimensions():
    a, b = export.symbolic_shape("a, b", constraints=["a >= 2", "b <= 8"])
    assert export.symbolic_dim_bounds(a + 1) == (3, float("inf")) and export.symbolic_dim_bounds(2 * b) == (2, 16)
    assert export.symbolic_dim_bounds(5) == (5, 5)
    with pytest.raises(TypeError, match="takes a dimension"):
        export.symbolic_dim_bounds("a")
