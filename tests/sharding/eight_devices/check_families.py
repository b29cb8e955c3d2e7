"""Rules of kind `sharding` of linear algebra, transforms, windows and callbacks, and the numbers of what they allow.

The expected types are those of JAX 0.10 for the same programs, and so is what is refused.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax
from tangrad.sharding import AxisType, NamedSharding, ShardingTypeError, use_mesh
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import assert_equal, mesh

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


@pytest.fixture(autouse=True)
def _mesh() -> Iterator[None]:
    with use_mesh(EXPLICIT):
        yield


def sharded(contents: np.ndarray, spec: P) -> Any:
    return tangrad.device_put(contents, NamedSharding(EXPLICIT, spec))


def check(function: Callable[..., Any], arrays: Any, specs: Any, expected: Any) -> None:
    whole = tangrad.tree.leaves(function(*arrays))
    given = [sharded(array, spec) for array, spec in zip(arrays, specs, strict=True)]
    for run in (function, tangrad.jit(function)):
        results = tangrad.tree.leaves(run(*given))
        assert [tangrad.typeof(result).sharding.spec for result in results] == list(expected)
        for result, spec, plain in zip(results, expected, whole, strict=True):
            assert result.sharding.is_equivalent_to(NamedSharding(EXPLICIT, spec), result.ndim)
            assert_equal(result, np.asarray(plain), 2e-3)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_stacks_of_matrices_keep_their_shardings(name: str) -> None:
    function, ranks = OF_MATRICES[name]
    check(function, (MATRICES,), (P("x"),), [P("x", *[None] * rank) for rank in ranks])
    types = tangrad.make_jaxpr(function)(sharded(STACKS, P("x", "y"))).out_avals
    assert [aval.sharding.spec for aval in types] == [P("x", "y", *[None] * rank) for rank in ranks]


@pytest.mark.parametrize("name", [name for name in OF_MATRICES if not name.startswith("gradient")])
@pytest.mark.parametrize("spec", [P("x"), P(None, "y")], ids=str)
def test_matrices_must_be_whole(name: str, spec: P) -> None:
    with pytest.raises(ShardingTypeError):
        OF_MATRICES[name][0](sharded(ONE, spec))


def test_which_dimension_must_be_whole_is_said() -> None:
    with pytest.raises(ShardingTypeError, match=r"svd needs dimension 1 whole, and it is cut along \('y',\)"):
        tnp.linalg.svd(sharded(ONE, P(None, "y")))


def test_right_hand_sides_may_be_sharded() -> None:
    specs = (P("x"), P("x", None, "y"))
    check(tnp.linalg.solve, (MATRICES, MATRICES), specs, [specs[1]])
    triangular = lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    check(triangular, (MATRICES, MATRICES), specs, [specs[1]])
    with pytest.raises(ShardingTypeError, match="a linear system needs dimension 1 whole"):
        tnp.linalg.solve(sharded(MATRICES, P("x")), sharded(MATRICES, P("x", "y")))
    with pytest.raises(ShardingTypeError, match=r"dimension 0 is cut along .'x',. and along .'y',."):
        tnp.linalg.solve(sharded(MATRICES, P("x")), sharded(MATRICES, P("y")))


def test_systems_of_vectors() -> None:
    check(lax.linalg.householder_product, (MATRICES, DIAGONALS / 4), (P("x"), P("x")), [P("x", None, None)])
    check(
        lax.linalg.tridiagonal_solve,
        (DIAGONALS, 4 * DIAGONALS, DIAGONALS, MATRICES),
        (P("x"),) * 4,
        [P("x", None, None)],
    )
    pivots = np.tile(np.arange(4, dtype=np.int32), (8, 1))
    check(lambda p: lax.linalg.lu_pivots_to_permutation(p, 4), (pivots,), (P("x"),), [P("x", None)])


@pytest.mark.parametrize("spec", [P("x", None), P("x", "y"), P(("x", "y"), None)], ids=str)
def test_transforms_are_sharded_as_their_operands(spec: P) -> None:
    for transform in (tnp.fft.fft, tnp.fft.ifft, tnp.fft.fft2, lambda a: tnp.fft.fft(a, axis=0)):
        check(transform, (SIGNAL,), (spec,), [spec])


def test_transforms_whose_results_do_not_divide() -> None:
    check(tnp.fft.rfft, (SIGNAL,), (P("x"),), [P("x", None)])
    check(lambda a: tnp.fft.irfft(a), (SIGNAL,), (P("x"),), [P("x", None)])
    check(tangrad.grad(lambda a: abs(tnp.fft.fft(a)).sum()), (SIGNAL,), (P("x"),), [P("x", None)])
    with pytest.raises(ShardingTypeError, match="dimension 1 of the result, of size 9, does not divide into 4 parts"):
        tnp.fft.rfft(sharded(SIGNAL, P("x", "y")))


def test_windows_are_sharded_as_what_they_move_over() -> None:
    convolution = lambda a, k: lax.conv_general_dilated(a, k, (1,), "SAME")
    check(convolution, (IMAGES, KERNEL), (P("x", None, "y"), P()), [P("x", None, "y")])
    highest = lambda a: lax.reduce_window(a, -np.inf, lax.max, (2, 1), (2, 1), "VALID")
    check(highest, (SIGNAL,), (P("x"),), [P("x", None)])
    running = lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 3), (1, 1), "SAME")
    check(running, (SIGNAL,), (P("x", "y"),), [P("x", "y")])
    with pytest.raises(ShardingTypeError, match="dimension 1 of the result, of size 14, does not divide into 4 parts"):
        lax.reduce_window(sharded(SIGNAL, P("x", "y")), 0.0, lax.add, (1, 3), (1, 1), "VALID")


def test_a_matrix_of_a_diagonal_has_its_rows() -> None:
    check(lambda a: tnp.diag(a, 2), (SIGNAL[:6, 0],), (P("x"),), [P("x", None)])


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


def test_derivatives_of_windows_are_sharded_as_the_operand() -> None:
    for shape in ((1, 2), (2, 1)):
        highest = lambda a, shape=shape: lax.reduce_window(a, -np.inf, lax.max, shape, shape, "VALID")
        check(tangrad.grad(lambda a, highest=highest: highest(a).sum()), (SIGNAL,), (P("x"),), [P("x", None)])
        check(lambda a, highest=highest: tangrad.jvp(highest, (a,), (a,))[1], (SIGNAL,), (P("x"),), [P("x", None)])
    product = lambda a: lax.reduce_window(a, 1.0, lambda p, q: p * q, (1, 2), (1, 2), "VALID")
    check(product, (SIGNAL,), (P("x"),), [P("x", None)])


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


@pytest.mark.parametrize("name", OF_KEYS)
def test_what_is_drawn_is_sharded_as_its_keys(name: str) -> None:
    function, rank = OF_KEYS[name]
    expected = P("x", *[None] * rank)
    check(lambda words: function(tangrad.random.wrap_key_data(words)), (WORDS,), (P("x"),), [expected])


def test_keys_must_be_whole() -> None:
    keys = tangrad.jit(tangrad.random.wrap_key_data)(sharded(WORDS, P("x")))
    assert tangrad.typeof(keys).sharding.spec == P("x") and keys.shape == (8,)
    with pytest.raises(ShardingTypeError, match="a key needs dimension 1 whole"):
        tangrad.random.wrap_key_data(sharded(WORDS, P(None, "x")))


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
