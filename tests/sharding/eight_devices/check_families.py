"""Rules of kind `sharding` of linear algebra, transforms, windows and callbacks, and the numbers of what they allow.

The expected types are those of JAX 0.10 for the same programs, and so is what is refused.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax
from tangrad._collectives.named_axes import subst_axis_names
from tangrad._sharding.samples import samples as of_constraints
from tangrad._sharding.samples import shard_map_samples as of_sharded_maps
from tangrad._sharding.xmap.samples import samples as of_mapped_programs
from tangrad.batching import AxisInfo
from tangrad.conformance import Sample, check
from tangrad.core import Primitive, RuleSet, find_primitive, register
from tangrad.sharding import AxisType, NamedSharding, ShardingTypeError, use_mesh
from tangrad.sharding import PartitionSpec as P
from tests.primitives.test_mutants import original, tangent_out
from tests.primitives.test_mutants_named_axes import forgetful
from tests.primitives.test_mutants_programs import (
    everything_dropped,
    inputs_turned,
    last_dims,
    negated,
    other_known,
    other_primals,
    other_residuals,
    other_results,
    primals,
    results_of,
    results_turned,
    rows_reversed,
    tangents,
)
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, mesh

EXPLICIT = mesh().update_axis_types({"x": AxisType.Explicit, "y": AxisType.Explicit})
_random = np.random.default_rng(3)


def positive(*stack: int) -> np.ndarray:
    """Symmetric matrices of 4 x 4, positive definite."""
    parts = _random.normal(size=(*stack, 4, 4)).astype(np.float32)
    return parts @ np.swapaxes(parts, -1, -2) + 4 * np.eye(4, dtype=np.float32)


MATRICES = positive(8)
STACKS = positive(2, 4)
ONE = positive()
SIGNAL = _random.normal(size=(8, 16)).astype(np.float32)
IMAGES = _random.normal(size=(8, 4, 16)).astype(np.float32)
KERNEL = _random.normal(size=(4, 4, 3)).astype(np.float32)
DIAGONALS = _random.uniform(1, 2, size=(8, 4)).astype(np.float32)

# Name -> the function, how many dimensions at the end each result has that are not of the stack.
OF_MATRICES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "cholesky": (tnp.linalg.cholesky, (2,)),
    "eigh": (lambda a: tuple(tnp.linalg.eigh(a)), (1, 2)),
    "eigvalsh": (tnp.linalg.eigvalsh, (1,)),
    "eig": (lambda a: tuple(tnp.linalg.eig(a)), (1, 2)),
    "svd": (lambda a: tuple(tnp.linalg.svd(a)), (2, 1, 2)),
    "singular values": (lambda a: tnp.linalg.svd(a, compute_uv=False), (1,)),
    "qr": (lambda a: tuple(tnp.linalg.qr(a)), (2, 2)),
    "lu": (lax.linalg.lu, (2, 1, 1)),
    "inv": (tnp.linalg.inv, (2,)),
    "det": (tnp.linalg.det, (0,)),
    "slogdet": (lambda a: tuple(tnp.linalg.slogdet(a)), (0, 0)),
    "pinv": (tnp.linalg.pinv, (2,)),
    "rank": (tnp.linalg.matrix_rank, (0,)),
    "schur": (lax.linalg.schur, (2, 2)),
    "hessenberg": (lax.linalg.hessenberg, (2, 1)),
    "tridiagonal": (lax.linalg.tridiagonal, (2, 1, 1, 1)),
    "solve": (lambda a: tnp.linalg.solve(a, a), (2,)),
    "triangular": (lambda a: lax.linalg.triangular_solve(a, a, left_side=True, lower=True), (2,)),
    "triangular from the right": (lambda a: lax.linalg.triangular_solve(a, a, lower=True), (2,)),
    "gradient of a factor": (tangrad.grad(lambda a: tnp.linalg.cholesky(a).sum()), (2,)),
    "gradient of a solution": (tangrad.grad(lambda a: tnp.linalg.solve(a, a[..., :1]).sum()), (2,)),
    "gradient of eigenvalues": (tangrad.grad(lambda a: tnp.linalg.eigvalsh(a).sum()), (2,)),
}


@pytest.fixture
def _mesh() -> Iterator[None]:
    with use_mesh(EXPLICIT):
        yield


def sharded(contents: np.ndarray, spec: P) -> Any:
    return tangrad.device_put(contents, NamedSharding(EXPLICIT, spec))


def checked(function: Callable[..., Any], arrays: Any, specs: Any, expected: Any) -> None:
    whole = tangrad.tree.leaves(function(*arrays))
    given = [sharded(array, spec) for array, spec in zip(arrays, specs, strict=True)]
    for run in (function, tangrad.jit(function)):
        results = tangrad.tree.leaves(run(*given))
        assert [tangrad.typeof(result).sharding.spec for result in results] == list(expected)
        for result, spec, plain in zip(results, expected, whole, strict=True):
            assert result.sharding.is_equivalent_to(NamedSharding(EXPLICIT, spec), result.ndim)
            assert_equal(result, np.asarray(plain), 2e-3)


@pytest.mark.usefixtures("_mesh")
@pytest.mark.parametrize("name", OF_MATRICES)
def test_stacks_of_matrices_keep_their_shardings(name: str) -> None:
    function, ranks = OF_MATRICES[name]
    checked(function, (MATRICES,), (P("x"),), [P("x", *[None] * rank) for rank in ranks])
    types = tangrad.make_jaxpr(function)(sharded(STACKS, P("x", "y"))).out_avals
    assert [aval.sharding.spec for aval in types] == [P("x", "y", *[None] * rank) for rank in ranks]


@pytest.mark.usefixtures("_mesh")
@pytest.mark.parametrize("name", [name for name in OF_MATRICES if not name.startswith("gradient")])
@pytest.mark.parametrize("spec", [P("x"), P(None, "y")], ids=str)
def test_matrices_must_be_whole(name: str, spec: P) -> None:
    with pytest.raises(ShardingTypeError):
        OF_MATRICES[name][0](sharded(ONE, spec))


@pytest.mark.usefixtures("_mesh")
def test_which_dimension_must_be_whole_is_said() -> None:
    with pytest.raises(ShardingTypeError, match=r"svd needs dimension 1 whole, and it is cut along \('y',\)"):
        tnp.linalg.svd(sharded(ONE, P(None, "y")))


@pytest.mark.usefixtures("_mesh")
def test_right_hand_sides_may_be_sharded() -> None:
    specs = (P("x"), P("x", None, "y"))
    checked(tnp.linalg.solve, (MATRICES, MATRICES), specs, [specs[1]])
    triangular = lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    checked(triangular, (MATRICES, MATRICES), specs, [specs[1]])
    with pytest.raises(ShardingTypeError, match="a linear system needs dimension 1 whole"):
        tnp.linalg.solve(sharded(MATRICES, P("x")), sharded(MATRICES, P("x", "y")))
    with pytest.raises(ShardingTypeError, match=r"dimension 0 is cut along .'x',. and along .'y',."):
        tnp.linalg.solve(sharded(MATRICES, P("x")), sharded(MATRICES, P("y")))


@pytest.mark.usefixtures("_mesh")
def test_systems_of_vectors() -> None:
    checked(lax.linalg.householder_product, (MATRICES, DIAGONALS / 4), (P("x"), P("x")), [P("x", None, None)])
    checked(
        lax.linalg.tridiagonal_solve,
        (DIAGONALS, 4 * DIAGONALS, DIAGONALS, MATRICES),
        (P("x"),) * 4,
        [P("x", None, None)],
    )
    pivots = np.tile(np.arange(4, dtype=np.int32), (8, 1))
    checked(lambda p: lax.linalg.lu_pivots_to_permutation(p, 4), (pivots,), (P("x"),), [P("x", None)])


@pytest.mark.usefixtures("_mesh")
@pytest.mark.parametrize("spec", [P("x", None), P("x", "y"), P(("x", "y"), None)], ids=str)
def test_transforms_are_sharded_as_their_operands(spec: P) -> None:
    for transform in (tnp.fft.fft, tnp.fft.ifft, tnp.fft.fft2, lambda a: tnp.fft.fft(a, axis=0)):
        checked(transform, (SIGNAL,), (spec,), [spec])


@pytest.mark.usefixtures("_mesh")
def test_transforms_whose_results_do_not_divide() -> None:
    checked(tnp.fft.rfft, (SIGNAL,), (P("x"),), [P("x", None)])
    checked(lambda a: tnp.fft.irfft(a), (SIGNAL,), (P("x"),), [P("x", None)])
    checked(tangrad.grad(lambda a: abs(tnp.fft.fft(a)).sum()), (SIGNAL,), (P("x"),), [P("x", None)])
    with pytest.raises(ShardingTypeError, match="dimension 1 of the result, of size 9, does not divide into 4 parts"):
        tnp.fft.rfft(sharded(SIGNAL, P("x", "y")))


@pytest.mark.usefixtures("_mesh")
def test_windows_are_sharded_as_what_they_move_over() -> None:
    convolution = lambda a, k: lax.conv_general_dilated(a, k, (1,), "SAME")
    checked(convolution, (IMAGES, KERNEL), (P("x", None, "y"), P()), [P("x", None, "y")])
    highest = lambda a: lax.reduce_window(a, -np.inf, lax.max, (2, 1), (2, 1), "VALID")
    checked(highest, (SIGNAL,), (P("x"),), [P("x", None)])
    running = lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 3), (1, 1), "SAME")
    checked(running, (SIGNAL,), (P("x", "y"),), [P("x", "y")])
    with pytest.raises(ShardingTypeError, match="dimension 1 of the result, of size 14, does not divide into 4 parts"):
        lax.reduce_window(sharded(SIGNAL, P("x", "y")), 0.0, lax.add, (1, 3), (1, 1), "VALID")


@pytest.mark.usefixtures("_mesh")
def test_a_matrix_of_a_diagonal_has_its_rows() -> None:
    checked(lambda a: tnp.diag(a, 2), (SIGNAL[:6, 0],), (P("x"),), [P("x", None)])


@pytest.mark.usefixtures("_mesh")
@pytest.mark.parametrize("types", [AxisType.Auto, AxisType.Explicit], ids=str)
def test_every_device_has_the_results_of_callbacks(types: AxisType) -> None:
    used = mesh().update_axis_types({"x": types, "y": types})
    x = tangrad.device_put(SIGNAL, NamedSharding(used, P("x")))

    def call(a: Any) -> Any:
        return tangrad.pure_callback(np.sin, tangrad.ShapeDtypeStruct(SIGNAL.shape, "float32"), a)

    with use_mesh(used):
        for run in (call, tangrad.jit(call)):
            result = run(x)
            for shard in result.addressable_shards:
                assert_equal(shard.data, np.sin(SIGNAL[shard.index]))
            assert_equal(result + x, np.sin(SIGNAL) + SIGNAL)
            if types is AxisType.Explicit:
                assert tangrad.typeof(result).sharding.spec == P(None, None)


@pytest.mark.usefixtures("_mesh")
def test_derivatives_of_windows_are_sharded_as_the_operand() -> None:
    for shape in ((1, 2), (2, 1)):
        highest = lambda a, shape=shape: lax.reduce_window(a, -np.inf, lax.max, shape, shape, "VALID")
        checked(tangrad.grad(lambda a, highest=highest: highest(a).sum()), (SIGNAL,), (P("x"),), [P("x", None)])
        checked(lambda a, highest=highest: tangrad.jvp(highest, (a,), (a,))[1], (SIGNAL,), (P("x"),), [P("x", None)])
    product = lambda a: lax.reduce_window(a, 1.0, lambda p, q: p * q, (1, 2), (1, 2), "VALID")
    checked(product, (SIGNAL,), (P("x"),), [P("x", None)])


WORDS = np.arange(16, dtype=np.uint32).reshape(8, 2)
# Of words of keys, cut by x: what is made of them, and how many dimensions each key's has.
OF_KEYS: dict[str, tuple[Callable[..., Any], int]] = {
    "words": (tangrad.random.key_data, 1),
    "numbers": (tangrad.vmap(lambda key: tangrad.random.normal(key, (3,))), 1),
    "bits": (tangrad.vmap(lambda key: tangrad.random.bits(key, (2,))), 1),
    "split": (lambda keys: tangrad.random.key_data(tangrad.vmap(tangrad.random.split)(keys)), 2),
    "folded": (
        lambda keys: tangrad.random.key_data(tangrad.vmap(tangrad.random.fold_in, (0, None))(keys, 3)),
        1,
    ),
}


@pytest.mark.usefixtures("_mesh")
@pytest.mark.parametrize("name", OF_KEYS)
def test_what_is_drawn_is_sharded_as_its_keys(name: str) -> None:
    function, rank = OF_KEYS[name]
    expected = P("x", *[None] * rank)
    checked(lambda words: function(tangrad.random.wrap_key_data(words)), (WORDS,), (P("x"),), [expected])


@pytest.mark.usefixtures("_mesh")
def test_keys_must_be_whole() -> None:
    keys = tangrad.jit(tangrad.random.wrap_key_data)(sharded(WORDS, P("x")))
    assert tangrad.typeof(keys).sharding.spec == P("x") and keys.shape == (8,)
    with pytest.raises(ShardingTypeError, match="a key needs dimension 1 whole"):
        tangrad.random.wrap_key_data(sharded(WORDS, P(None, "x")))


@pytest.mark.usefixtures("_mesh")
@pytest.mark.parametrize("spec", [P("x"), P(None, "y"), P("x", "y"), P(("x", "y"))], ids=str)
def test_numbers_of_gamma_distributions_are_sharded_as_their_parameters(spec: Any) -> None:
    shapes = np.linspace(0.5, 3, 64, dtype=np.float32).reshape(8, 8)
    key = tangrad.random.key(0)
    samplers = (tangrad.random.gamma, tangrad.random.chisquare, tangrad.random.t, tangrad.random.dirichlet)
    with tangrad.set_mesh(EXPLICIT):
        x = sharded(shapes, spec)
        for draw in samplers:
            for found in (draw(key, x), tangrad.jit(draw)(key, x)):
                assert tangrad.typeof(found).sharding.spec == tangrad.typeof(x).sharding.spec
                np.testing.assert_allclose(found, draw(key, tnp.asarray(shapes)), rtol=1e-4)


# --- The conformance kit over sharding constraints and mapped calls on eight devices, and mutants of their rules ---
# On NumPy all checks, on XLA those that compile: the rules are the same on both.


MAKERS = {
    "shard_map.shard_map": of_sharded_maps,
    "xmapping.xmap": of_mapped_programs,
    "sharding.sharding_constraint": of_constraints,
    "sharding.auto_axes": of_constraints,
}
OWN = "xla" if ON_XLA else "numpy"
on_numpy = pytest.mark.skipif(ON_XLA, reason="rules are the same on all backends")


@cache
def samples_of(name: str) -> tuple[Sample, ...]:
    """Those on devices of the backend in use."""
    with enable_x64(True):
        made = MAKERS[name]()
    own = [sample for sample in made if sample.backends is None or OWN in sample.backends]
    return tuple([sample for sample in own if sample.primitive is find_primitive(name)])


@pytest.mark.parametrize("name", MAKERS)
def test_every_rule_is_right(name: str) -> None:
    checks = ["abstract", "jit"] if ON_XLA else None
    report = check(find_primitive(name), samples_of(name), checks, backends=[OWN])
    assert report.cells and not report.failures, report.text()


def test_samples_use_all_devices() -> None:
    for name, parameter in (("shard_map.shard_map", "mesh"), ("xmapping.xmap", "sharding")):
        found = [sample.params[parameter] for sample in samples_of(name) if sample.params[parameter] is not None]
        assert found and all([len(each.device_order) == 8 for each in found])


# --- mutants ----------------------------------------------------------------------------------------------------------


def capturing(rule: Any) -> Any:
    """Names that come in are taken for those that the call binds."""
    return lambda params, subst: {**params, "jaxpr": subst_axis_names(params["jaxpr"], subst)}


def nameless(rule: Any) -> Any:
    """Inside of the call the mapped axis is not known by its name."""

    def wrong(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
        return rule(args, dims, axis_info=AxisInfo(None, axis_info.size), **params)

    return wrong


def unshifted(rule: Any) -> Any:
    """The constraint is for an array without the mapped dimension."""

    def wrong(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
        return find_primitive("sharding.sharding_constraint").bind(*args, **params), dims[0]

    return wrong


CALLS = [
    ("jvp", tangents(negated), "jvp"),
    ("jvp", primals(negated), "jvp"),
    ("linearize", other_primals(negated), "transpose"),
    ("linearize", results_of(other_residuals), "transpose"),
    ("partial_eval", results_of(other_known), "transpose"),
    ("transpose", results_of(negated), "transpose"),
    ("batch", results_of(rows_reversed), "batch"),
    ("batch", results_of(last_dims), "batch"),
    ("batch", results_of(results_turned), "batch"),
    ("batch", nameless, "jit"),
    ("axis_subst", forgetful, "axis_subst"),
    ("axis_subst", capturing, "axis_subst"),
    ("dce", results_of(inputs_turned), "dce"),
    ("dce", results_of(everything_dropped), "dce"),
    ("dce", other_results, "dce"),
]
CONSTRAINTS = [
    ("jvp", tangent_out(lax.neg), "jvp"),
    ("transpose", results_of(negated), "transpose"),
    ("batch", results_of(rows_reversed), "batch"),
    ("batch", unshifted, "batch"),
    ("lower.numpy", lambda rule: original("lower.numpy", "elementwise.neg"), "jit"),
]
MUTANTS = [
    *[(name, *case) for name in ("shard_map.shard_map", "xmapping.xmap") for case in CALLS],
    *[("sharding.sharding_constraint", *case) for case in CONSTRAINTS],
]


def failures(primitive: Primitive, expected: str) -> Any:
    """Of the first sample that shows any, the last ones first: those within other axes are there."""
    for sample in reversed(samples_of(primitive.identity)):
        found = check(primitive, [sample], [expected], backends=["numpy"]).failures
        if found:
            return found
    return []


@on_numpy
@pytest.mark.parametrize(("name", "kind", "mutate", "expected"), MUTANTS)
def test_a_wrong_rule_is_caught(name: str, kind: str, mutate: Any, expected: str) -> None:
    primitive = find_primitive(name)
    mutant = RuleSet(kind, api=1, override=True)
    mutant.add(primitive, mutate(original(kind, name)))
    with register(mutant):
        assert failures(primitive, expected)
