"""Programs for GPUs and TPUs, which no test can run: they call what JAX's call, with the same operands."""

import contextlib
import re

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import tangrad
from tangrad import ShapeDtypeStruct, export, lax
from tangrad._backend_xla import lowering
from tangrad.conformance import find_samples
from tangrad.core import trace_to_closed_jaxpr
from tangrad.errors import BackendError, MissingRuleError

GPUS, ALL = ("cuda", "rocm"), ("cuda", "rocm", "tpu")
SQUARE, TALL, WIDE = (2, 4, 4), (2, 4, 3), (2, 3, 4)


@pytest.fixture(autouse=True)
def on_xla():
    with tangrad.use_backend("xla"):
        yield


def calls(text: str) -> list[tuple[object, ...]]:
    """The custom calls of a module, in order: target, configuration, aliases, layouts, types."""
    found = []
    for line in text.splitlines():
        target = re.search(r"custom_call @(\w+)", line)
        if target is not None:
            config = re.search(r"backend_config = (\{[^}]*\}|\"[^\"]+\")", line)
            configured = sorted(config[1].strip("{}").split(", ")) if config else []
            aliases = re.findall(r"output_tuple_indices = \[\d*\], operand_index = \d+", line)
            layouts = re.findall(r"(?:operand|result)_layouts = \[(.*?>)\]", line)
            types = re.search(r": (\(.*?\) -> .*?)(?: loc\(.*)?$", line)
            found.append((target[1], [one for one in configured if one], aliases, layouts, types[1]))
    return found


def both(function, specs, platform):
    """The custom calls of a function of `lax.linalg` in a program of ours and in one of JAX's."""
    avals = [tangrad.core.ShapedArray(shape, dtype) for shape, dtype in specs]
    closed = trace_to_closed_jaxpr(lambda *args: function(tangrad, *args), avals)
    module = lowering.lower_to_module(closed, "program", platform).module
    assert module.operation.verify()
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in specs]
    with jax.enable_x64(True):
        theirs = jax.jit(lambda *args: function(jax, *args)).trace(*structs).lower(lowering_platforms=(platform,))
        return calls(str(module)), calls(theirs.as_text())


def svd(**options):
    return lambda api, x: api.lax.linalg.svd(x, **options)


def eigh(**options):
    return lambda api, x: api.lax.linalg.eigh(x, **options)


CASES = {
    "cholesky": (lambda api, x: api.lax.linalg.cholesky(x), [SQUARE], ALL),
    "lu": (lambda api, x: api.lax.linalg.lu(x), [TALL], ALL),
    "lu, one wide matrix": (lambda api, x: api.lax.linalg.lu(x), [(3, 4)], ALL),
    "qr": (lambda api, x: api.lax.linalg.qr(x), [TALL], ALL),
    "qr, reduced": (lambda api, x: api.lax.linalg.qr(x, full_matrices=False), [(5, 3)], ALL),
    "qr, pivoting": (lambda api, x: api.lax.linalg.qr(x, pivoting=True), [(4, 3)], GPUS),
    "householder_product": (lambda api, a, t: api.lax.linalg.householder_product(a, t), [TALL, (2, 3)], ALL),
    "svd": (svd(), [TALL], GPUS),
    "svd, wide": (svd(), [WIDE], GPUS),
    "svd, values": (svd(compute_uv=False), [TALL], GPUS),
    "svd, reduced": (svd(full_matrices=False), [TALL], GPUS),
    "svd, reduced, wide": (svd(full_matrices=False), [WIDE], GPUS),
    "svd, reduced, larger": (svd(full_matrices=False), [(2, 40, 33)], GPUS),
    "svd, reduced, larger, wide": (svd(full_matrices=False), [(33, 40)], GPUS),
    "svd, large": (svd(), [(2, 1025, 3)], GPUS),
    "svd, large, wide": (svd(), [(2, 3, 1025)], GPUS),
    "svd, large, reduced": (svd(full_matrices=False), [(1025, 3)], GPUS),
    "svd, large, wide, reduced": (svd(full_matrices=False), [(2, 3, 1025)], GPUS),
    "svd, large, values": (svd(compute_uv=False), [(2, 1025, 3)], GPUS),
    "svd, large, wide, values": (svd(compute_uv=False), [(3, 1025)], GPUS),
    "eigh": (eigh(), [SQUARE], ALL),
    "eigh, upper": (eigh(lower=False, symmetrize_input=False), [(3, 3)], ALL),
    "eig": (lambda api, x: api.lax.linalg.eig(x), [SQUARE], GPUS),
    "eig, values": (
        lambda api, x: api.lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False),
        [(4, 4)],
        GPUS,
    ),
    "tridiagonal": (lambda api, x: api.lax.linalg.tridiagonal(x), [SQUARE], GPUS),
    "tridiagonal, upper": (lambda api, x: api.lax.linalg.tridiagonal(x, lower=False), [(4, 4)], GPUS),
    "triangular_solve": (
        lambda api, a, b: api.lax.linalg.triangular_solve(a, b, left_side=True),
        [SQUARE, TALL],
        ALL,
    ),
    "tridiagonal_solve": (
        lambda api, *args: api.lax.linalg.tridiagonal_solve(*args),
        [(2, 4), (2, 4), (2, 4), TALL],
        GPUS,
    ),
    "cholesky_update": (lambda api, m, v: api.lax.linalg.cholesky_update(m, v), [(4, 4), (4,)], ALL),
    "fft": (lambda api, x: api.numpy.fft.rfft(x), [(3, 8)], ALL),
    "top_k": (lambda api, x: api.lax.top_k(x, 3), [(3, 8)], ALL),
}
REAL_ALONE = ("cholesky_update", "fft", "top_k", "tridiagonal_solve")
ROWS = [
    (name, dtype, platform)
    for name, (_, _, platforms) in CASES.items()
    for platform in platforms
    for dtype in (("float32",) if name in REAL_ALONE or platform != "cuda" else ("float32", "complex128"))
]


@pytest.mark.parametrize(("name", "dtype", "platform"), ROWS, ids=str)
def test_calls_are_those_of_jax(name, dtype, platform):
    function, shapes, _ = CASES[name]
    ours, theirs = both(function, [(shape, dtype) for shape in shapes], platform)
    assert ours == theirs


def test_permutations_of_pivots():
    ours, theirs = both(lambda api, p: api.lax.linalg.lu_pivots_to_permutation(p, 5), [((2, 3), "int32")], "cuda")
    assert ours == theirs and ours[0][0] == "cu_lu_pivots_to_permutation"


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "svd" in name and len(case[1][0]) == 3])
def test_empty_batches_call_nothing(name):
    function, ((_, *matrix),), _ = CASES[name]
    closed = trace_to_closed_jaxpr(lambda x: function(tangrad, x), [tangrad.core.ShapedArray((0, *matrix), "float32")])
    assert not calls(str(lowering.lower_to_module(closed, "program", "cuda").module))


# --- several platforms ---------------------------------------------------------------------------------------------


def test_a_program_for_several_platforms_has_the_calls_of_each():
    def program(x):
        return lax.linalg.lu(x), lax.linalg.eigh(x @ x.T), lax.linalg.qr(x, full_matrices=False)

    spec = ShapeDtypeStruct((4, 3), np.float32)
    made = export.export(tangrad.jit(program), platforms=["cpu", "cuda", "tpu"])(spec)
    functions = ("getrf", "syevd", "geqrf", "orgqr")
    wanted = {*[f"lapack_s{name}_ffi" for name in functions], *[f"cusolver_{name}_ffi" for name in functions]}
    wanted |= {"cu_lu_pivots_to_permutation", "LuDecomposition", "Eigh", "Qr"}
    wanted.add("ProductOfElementaryHouseholderReflectors")
    assert {call[0] for call in calls(made.mlir_module())} == wanted
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for found, expected in zip(tangrad.tree.leaves(made.call(x)), tangrad.tree.leaves(program(x)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_depends_on_the_platform_is_written_for_each():
    """Of a rule that serves all platforms, too: the function that calls Python has another name on GPUs."""
    program = tangrad.jit(lambda x: tangrad.pure_callback(np.sin, ShapeDtypeStruct((2,), np.float32), x))
    targets = ["xla_ffi_python_cpu_callback", "xla_ffi_python_gpu_callback"]
    checks = [export.DisabledSafetyCheck.custom_call(target) for target in targets]
    made = export.export(program, platforms=["cpu", "cuda"], disabled_checks=checks)
    assert [call[0] for call in calls(made(ShapeDtypeStruct((2,), np.float32)).mlir_module())] == targets


def test_what_does_not_depend_on_the_platform_is_written_once():
    made = export.export(tangrad.jit(lambda x: tangrad.numpy.logaddexp(x, x)), platforms=["cpu", "cuda", "tpu"])
    assert "stablehlo.case" not in made(ShapeDtypeStruct((2,), np.float32)).mlir_module()


def test_what_the_compiler_replaces_itself_is_right():
    """What a program for TPUs calls, XLA has an expansion of on CPUs, too."""
    x = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)

    def program(x):
        q, r = lax.linalg.qr(x, full_matrices=False)
        vectors, values = lax.linalg.eigh(x.mT @ x)
        return q @ r, (vectors * values[..., None, :]) @ vectors.mT, values

    made = export.export(
        tangrad.jit(program), platforms=["tpu"], disabled_checks=[export.DisabledSafetyCheck.platform()]
    )(ShapeDtypeStruct(x.shape, x.dtype))
    product, square, values = made.call(x)
    np.testing.assert_allclose(product, x, atol=1e-5)
    np.testing.assert_allclose(square, x.mT @ x, atol=1e-5)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(x.mT @ x), atol=1e-5)


# --- every primitive -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "platform"),
    [("schur", "cuda"), ("hessenberg", "rocm"), ("schur", "tpu"), ("svd", "tpu"), ("eig", "tpu")],
)
def test_what_a_platform_does_not_have_is_named(name, platform):
    closed = tangrad.make_jaxpr(getattr(lax.linalg, name))(np.eye(3, dtype=np.float32))
    with pytest.raises(MissingRuleError, match=rf"decompositions\.{name}.*(?s:.*)lower\.xla\.{platform}"):
        lowering.lower_to_module(closed, "program", platform)


def programs(samples):
    """Those samples as jaxprs that CPUs run."""
    for sample in samples:
        if sample.raises is None and "xla" in sample.tried_on():
            closed = tangrad.make_jaxpr(sample.apply)(*sample.args)
            with contextlib.suppress(Exception):  # what XLA does not have at all, is refused on all platforms alike
                lowering.lower_to_module(closed, "program", "cpu")
                yield closed


def refusal(samples, platform):
    """Why a primitive cannot be lowered for a platform, "" where it is."""
    for closed in programs(samples):
        try:
            lowering.lower_to_module(closed, "program", platform)
        except (NotImplementedError, BackendError, ValueError) as error:
            return "\n".join([str(error), *error.__notes__])
    return ""


@pytest.mark.sweep
@pytest.mark.parametrize("platform", ALL)
def test_every_primitive_is_lowered_or_named(platform):
    lowered = 0
    with tangrad.enable_x64(True):
        for primitive, samples in find_samples().items():
            reason = refusal(samples, platform)
            assert not reason or (primitive.name in reason and platform in reason), f"{primitive.identity}: {reason}"
            lowered += not reason
    assert lowered > 200
