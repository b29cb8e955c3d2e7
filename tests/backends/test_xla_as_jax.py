"""Programs for XLA beside JAX's: for accelerators, windows and factorisations, integer division."""

import contextlib
import re
import subprocess
import sys

import numpy as np
import pytest

import tangrad
from tangrad import enable_x64, lax
from tangrad import use_backend as backend_setting
from tests.benchmarks.hlo import first_difference, normalised

pytest.importorskip("jaxlib")
pytest.importorskip("jax")

# --- Integer division by zero on the XLA backend: defined everywhere, and never the end of the process ---


import jax

from tangrad.core import dtypes
from tangrad.core.settings import SETTINGS

# Expression -> what it computes: the quotient by 0 is -1, the remainder the dividend. The divisors are such that XLA
# finds out while compiling that they are zero; run in one process of its own, since a failure would be its end.
FIVES, ZEROS, ARGUMENT = "np.full(2, 5)", "np.zeros(2, int)", "np.arange(2)"
DIVISIONS = {
    f"jit(lambda: {FIVES} // {ZEROS})()": [-2, -2],
    f"jit(lambda: lax.div({FIVES}, {ZEROS}))()": [-1, -1],
    f"jit(lambda: lax.rem({FIVES}, {ZEROS}))()": [5, 5],
    "jit(lambda: lax.div(np.full(2, 5, 'uint8'), np.zeros(2, 'uint8')))()": [255, 255],
    "jit(lambda: lax.rem(np.full(2, 5, 'int4'), np.zeros(2, 'int4')))().astype(int)": [5, 5],
    "jit(lambda: lax.div(np.full(2, 5, 'uint4'), np.zeros(2, 'uint4')))().astype(int)": [15, 15],
    "jit(lambda: np.divmod(5, 0))()[0]": -2,
    "jit(lambda: lax.div(np.int32(5), np.int32(0)))()": -1,
    "np.mean(np.zeros(0), dtype='int32')": -1,
    f"jit(lambda: lax.div({FIVES}, onp.array([0, 2], 'int32')))()": [-1, 2],
    f"jit(lambda x: lax.div({FIVES}, x * 0))({ARGUMENT})": [-1, -1],
    f"jit(lambda x: lax.div({FIVES}, x - x))({ARGUMENT})": [-1, -1],
    f"jit(lambda x: lax.rem(x - x, x - x))({ARGUMENT})": [0, 0],
    f"jit(lambda: lax.div({FIVES}, lax.dynamic_slice(np.zeros(5, int), (1,), (2,))))()": [-1, -1],
    f"jit(lambda p: lax.cond(p, lambda: lax.div({FIVES}, {ZEROS}), lambda: {FIVES}))(True)": [-1, -1],
    f"jit(lambda p: lax.cond(p, lax.div, lax.add, {FIVES}, {ZEROS}))(True)": [-1, -1],
    f"jit(lambda: jit(lax.div)({FIVES}, {ZEROS}))()": [-1, -1],
    f"lax.fori_loop(0, 3, lambda i, x: lax.div({FIVES}, {ZEROS}), {FIVES})": [-1, -1],
    f"jit(lambda: lax.scan(lambda c, x: (lax.div(c, x), x), np.int32(5), {ZEROS}, unroll=2))()[0]": -1,
    f"vmap(lambda x: lax.div(x, x * 0))({FIVES})": [-1, -1],
}


def test_a_constant_divisor_of_zero_does_not_end_the_process() -> None:
    source = f"""
import numpy as onp
import tangrad, tangrad.numpy as np
from tangrad import lax, jit, vmap
for text in {list(DIVISIONS)!r}:
    print(text, flush=True)
    print(onp.asarray(eval(text)).tolist(), flush=True)
"""
    command = [sys.executable, "-c", "import os; os.environ['TANGRAD_BACKEND'] = 'xla'\n" + source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended by {done.returncode} at {lines[-1:]}\n{done.stderr}"
    assert dict(zip(lines[::2], map(eval, lines[1::2]), strict=True)) == DIVISIONS


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_a_guarded_division_is_the_plain_one(dtype: str) -> None:
    limits = np.iinfo(dtype)
    numbers = np.array([0, 1, 2, 7, limits.max, limits.min], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    with tangrad.enable_x64(True), SETTINGS["backend"]("xla"):
        for operation in (lax.div, lax.rem):
            plain = tangrad.jit(operation)(x, y)
            guarded = tangrad.jit(lambda x, y, operation=operation: operation(x, y + y - y))(x, y)
            assert plain.dtype == dtypes.as_dtype(dtype)
            np.testing.assert_array_equal(np.asarray(guarded), np.asarray(plain))
            with jax.enable_x64(True):
                expected = getattr(jax.lax, operation.__name__)(x, y)
            np.testing.assert_array_equal(np.asarray(guarded), np.asarray(expected))


@pytest.mark.parametrize(
    ("program", "guarded"),
    [
        (lambda x: lax.div(x, np.int32(3)), False),
        (lambda x: lax.div(x, np.arange(1, 5, dtype=np.int32)), False),
        (lambda x: lax.div(x, x), False),
        (lambda x: lax.div(x, x * 2), True),
    ],
)
def test_only_divisors_that_may_become_constants_are_guarded(program, guarded: bool) -> None:
    with SETTINGS["backend"]("xla"):
        text = tangrad.jit(program).lower(np.arange(4, dtype=np.int32)).as_text()
    assert ("compare EQ" in text) is guarded


# --- Programs for GPUs and TPUs, which no test can run: they call what JAX's call, with the same operands ---


from tangrad import ShapeDtypeStruct, export
from tangrad._backend_xla import lowering
from tangrad.conformance import find_samples
from tangrad.core import trace_to_closed_jaxpr
from tangrad.errors import BackendError, MissingRuleError

GPUS, ALL = ("cuda", "rocm"), ("cuda", "rocm", "tpu")
SQUARE, TALL, WIDE = (2, 4, 4), (2, 4, 3), (2, 3, 4)


@pytest.fixture
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
    "tridiagonal_solve, perturbed": (
        lambda api, *args: api.lax.linalg.tridiagonal_solve(*args, perturb_singular=True),
        [(2, 4), (2, 4), (2, 4), TALL],
        GPUS,
    ),
    "cholesky_update": (lambda api, m, v: api.lax.linalg.cholesky_update(m, v), [(4, 4), (4,)], ALL),
    "fft": (lambda api, x: api.numpy.fft.rfft(x), [(3, 8)], ALL),
    "top_k": (lambda api, x: api.lax.top_k(x, 3), [(3, 8)], ALL),
}
REAL_ALONE = ("cholesky_update", "fft", "top_k", "tridiagonal_solve", "tridiagonal_solve, perturbed")
ROWS = [
    (name, dtype, platform)
    for name, (_, _, platforms) in CASES.items()
    for platform in platforms
    for dtype in (("float32",) if name in REAL_ALONE or platform != "cuda" else ("float32", "complex128"))
]


@pytest.mark.usefixtures("on_xla")
@pytest.mark.parametrize(("name", "dtype", "platform"), ROWS, ids=str)
def test_calls_are_those_of_jax(name, dtype, platform):
    function, shapes, _ = CASES[name]
    ours, theirs = both(function, [(shape, dtype) for shape in shapes], platform)
    assert ours == theirs


@pytest.mark.usefixtures("on_xla")
def test_permutations_of_pivots():
    ours, theirs = both(lambda api, p: api.lax.linalg.lu_pivots_to_permutation(p, 5), [((2, 3), "int32")], "cuda")
    assert ours == theirs and ours[0][0] == "cu_lu_pivots_to_permutation"


@pytest.mark.usefixtures("on_xla")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "svd" in name and len(case[1][0]) == 3])
def test_empty_batches_call_nothing(name):
    function, ((_, *matrix),), _ = CASES[name]
    closed = trace_to_closed_jaxpr(lambda x: function(tangrad, x), [tangrad.core.ShapedArray((0, *matrix), "float32")])
    assert not calls(str(lowering.lower_to_module(closed, "program", "cuda").module))


# --- several platforms ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_xla")
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


@pytest.mark.usefixtures("on_xla")
def test_what_depends_on_the_platform_is_written_for_each():
    """Of a rule that serves all platforms, too: the function that calls Python has another name on GPUs."""
    program = tangrad.jit(lambda x: tangrad.pure_callback(np.sin, ShapeDtypeStruct((2,), np.float32), x))
    targets = ["xla_ffi_python_cpu_callback", "xla_ffi_python_gpu_callback"]
    checks = [export.DisabledSafetyCheck.custom_call(target) for target in targets]
    made = export.export(program, platforms=["cpu", "cuda"], disabled_checks=checks)
    assert [call[0] for call in calls(made(ShapeDtypeStruct((2,), np.float32)).mlir_module())] == targets


@pytest.mark.usefixtures("on_xla")
def test_what_does_not_depend_on_the_platform_is_written_once():
    made = export.export(tangrad.jit(lambda x: tangrad.numpy.logaddexp(x, x)), platforms=["cpu", "cuda", "tpu"])
    assert "stablehlo.case" not in made(ShapeDtypeStruct((2,), np.float32)).mlir_module()


@pytest.mark.usefixtures("on_xla")
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


@pytest.mark.usefixtures("on_xla")
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


@pytest.mark.usefixtures("on_xla")
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


# --- Windows and factorisations on XLA ---


def images(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


PROGRAMS = {
    "convolution": (
        lambda api, x, w: api.lax.conv_general_dilated(
            x, w, (2, 1), "SAME", None, (1, 2), ("NHWC", "HWIO", "NHWC"), precision="highest"
        ),
        (images(2, 8, 8, 3), images(3, 3, 3, 4)),
    ),
    "groups": (
        lambda api, x, w: api.lax.conv_general_dilated(x, w, (1,), "SAME", feature_group_count=3),
        (images(2, 6, 8), images(9, 2, 3)),
    ),
    "sums": (
        lambda api, x: api.lax.reduce_window(x, 0.0, api.lax.add, (1, 3, 2), (1, 2, 2), "SAME", (1, 2, 1)),
        (images(3, 8, 9),),
    ),
    "triangular": (
        lambda api, a, b: api.lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True),
        (images(2, 4, 4), images(2, 4, 3)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_their_gradients_are_those_of_jax(name):
    function, args = PROGRAMS[name]

    def gradients(api):
        def run(*args):
            out, pull = api.vjp(lambda *args: function(api, *args), *args)
            return out, pull(out)

        return run

    with backend_setting("xla"):
        ours = tangrad.jit(gradients(tangrad)).lower(*args).compile().as_text()
    theirs = jax.jit(gradients(jax)).lower(*args).compile().as_text()
    assert normalised(ours) == normalised(theirs), first_difference(normalised(ours), normalised(theirs))


def test_cholesky_is_that_of_jax():
    x = images(3, 5, 5)
    with backend_setting("xla"):
        ours = tangrad.jit(lax.linalg.cholesky).lower(x).compile().as_text()
    theirs = jax.jit(jax.lax.linalg.cholesky).lower(x).compile().as_text()
    assert normalised(ours) == normalised(theirs), first_difference(normalised(ours), normalised(theirs))


def test_lapack_needs_no_jax():
    program = (
        "import sys, numpy, tangrad\n"
        "found = tangrad.lax.linalg.cholesky(numpy.float32([[4, 2], [2, 5]]))\n"
        "assert found.tolist() == [[2, 0], [1, 2]] and 'jax' not in sys.modules"
    )
    environment = {"TANGRAD_BACKEND": "xla", "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=120)


# --- for GPUs ------------------------------------------------------------------------------------------------------


def operations(function, *args):
    """The operations of a program for GPUs, in the order of their names, and the targets of its custom calls."""
    with backend_setting("xla"):
        module = lowering.lower_to_module(tangrad.make_jaxpr(function)(*args), "program", "cuda").module
    assert module.operation.verify()
    text = str(module)
    return sorted(re.findall(r"= \"?(stablehlo\.\w+)", text)), re.findall(r"custom_call @(\w+)", text)


def test_factorisations_on_gpus_are_those_of_cusolver():
    x, vector = images(2, 4, 4), images(2, 4)
    assert operations(lax.linalg.cholesky, x)[1] == ["cusolver_potrf_ffi"]
    assert operations(lax.linalg.cholesky_update, x[0], vector[0])[1] == ["cu_cholesky_update_ffi"]
    assert "stablehlo.while" in operations(lax.linalg.cholesky_update, x, vector)[0]
    names, calls = operations(lambda a, b: lax.linalg.triangular_solve(a, b, conjugate_a=True), x + 0j, x + 0j)
    assert "stablehlo.triangular_solve" in names and "stablehlo.imag" in names and not calls


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_selected_tangents_on_gpus_are_found_as_in_jax(dtype):
    with enable_x64(True):
        x = images(3, 8, 8).astype(dtype)

        def slope(api):
            def pool(x):
                return api.lax.reduce_window(x, x.dtype.type(-np.inf), api.lax.max, (1, 2, 2), (1, 2, 2))

            return lambda x: api.jvp(pool, (x,), (x,))[1]

        ours, _ = operations(slope(tangrad), x)
        with jax.enable_x64(True):
            packs = jax.__version_info__ < (0, 12)
            if dtype == "float64" and packs:  # which says that half of the bits are lost
                with pytest.warns(UserWarning, match="reduced precision"):
                    theirs = jax.jit(slope(jax)).trace(x).lower(lowering_platforms=("cuda",)).as_text()
            else:
                theirs = jax.jit(slope(jax)).trace(x).lower(lowering_platforms=("cuda",)).as_text()
    kinds = ("bitcast_convert", "convert", "shift_left", "or", "select", "compare", "reduce_precision")
    for kind in kinds:
        expected = len(re.findall(rf"= \"?stablehlo\.{kind}\b", theirs))
        assert ours.count(f"stablehlo.{kind}") == expected, kind
