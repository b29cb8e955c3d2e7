"""`scipy.optimize`, `sparse.linalg` and `spatial.transform`, against SciPy and closed forms."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend
from tangrad.scipy.optimize import minimize
from tangrad.scipy.sparse import linalg
from tangrad.scipy.spatial.transform import Rotation, Slerp
from tests.primitives import reference

transform = pytest.importorskip("scipy.spatial.transform")

DENSE = reference.normal((6, 6), "float64") + 5 * np.eye(6)
POSITIVE = DENSE @ DENSE.T
RIGHT = reference.normal(6, "float64", 1)
TURN = DENSE + 1j * reference.normal((6, 6), "float64", 2)


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param), enable_x64(True):
        yield request.param


# --- minima --------------------------------------------------------------------------------------------------------


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


PROBLEMS = [
    (rosenbrock, [-1.2, 1.0], [1.0, 1.0]),
    (himmelblau, [1.0, 1.0], [3.0, 2.0]),
    (matyas, [4.0, -3.0], [0.0, 0.0]),
    (lambda x: tnp.log(1 + (x - 2.5) ** 2).sum(), [30.0, -8.0, 2.0], [2.5] * 3),
]


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
@pytest.mark.parametrize("problem", range(len(PROBLEMS)))
def test_minima_are_found(on, method, problem):
    function, start, expected = PROBLEMS[problem]
    found = tangrad.jit(lambda x: minimize(function, x, method=method, tol=1e-7))(np.array(start))
    assert found.success and found.status == 0 and found.nit > 1 and found.nfev >= found.nit
    np.testing.assert_allclose(found.x, expected, atol=1e-4)
    np.testing.assert_allclose(found.jac, tangrad.grad(function)(found.x), atol=1e-12)
    if method == "BFGS":
        hessian = tangrad.jit(tangrad.hessian(function))(found.x)
        np.testing.assert_allclose(found.hess_inv @ hessian, np.eye(len(start)), atol=0.3)
    else:
        assert found.hess_inv is None


def test_searches_are_mapped_and_limited(on):
    starts = np.array([[1.0, 1.0], [-2.0, 3.0]])
    run = lambda x: minimize(lambda x, c: himmelblau(x) + c, x, (1.0,), method="BFGS")
    mapped = tangrad.vmap(run)(starts)
    for row, start in enumerate(starts):
        np.testing.assert_allclose(mapped.x[row], run(start).x, rtol=1e-6)
        np.testing.assert_allclose(mapped.fun[row], 1.0, atol=1e-9)
    short = minimize(rosenbrock, starts[1], method="BFGS", options={"maxiter": 2})
    assert not short.success and short.status == 1 and short.nit == 2
    endless = minimize(lambda x: x.sum() * np.nan, starts[0], method="BFGS")
    assert not endless.success and endless.status == 5


# --- linear systems ------------------------------------------------------------------------------------------------

SOLVERS = {"cg": linalg.cg, "bicgstab": linalg.bicgstab, "gmres": linalg.gmres}


@pytest.mark.parametrize("name", SOLVERS)
def test_systems_are_solved_with_derivatives(on, name):
    solve, matrix = SOLVERS[name], POSITIVE if name == "cg" else DENSE
    symmetric = (lambda a: 0.5 * (a + a.T)) if name == "cg" else (lambda a: a)
    run = lambda a, b: solve(symmetric(a), b, tol=1e-12, M=np.diag(1 / np.diag(matrix)))[0]
    np.testing.assert_allclose(run(matrix, RIGHT), np.linalg.solve(matrix, RIGHT), rtol=1e-8)
    assert solve(matrix, RIGHT)[1] is None
    pulled = tangrad.grad(lambda a, b: (run(a, b) * RIGHT).sum(), (0, 1))(matrix, RIGHT)
    direct = tangrad.grad(lambda a, b: (tnp.linalg.solve(symmetric(a), b) * RIGHT).sum(), (0, 1))(matrix, RIGHT)
    reference.close(list(pulled), list(direct), 1e4)
    if on == "numpy":
        reference.check_finite_differences(run, (matrix, RIGHT))
        mapped = tangrad.jit(tangrad.vmap(run, (None, 0)))(matrix, np.stack([RIGHT, 2 * RIGHT]))
        np.testing.assert_allclose(mapped[1], 2 * mapped[0], rtol=1e-8)


@pytest.mark.parametrize("name", SOLVERS)
def test_systems_of_trees_and_of_complex_numbers(on, name):
    solve = SOLVERS[name]
    b = {"a": RIGHT[:2], "b": RIGHT[2:].reshape(2, 2)}
    scaled = lambda x: {"a": 2 * x["a"], "b": x["b"] * 3 + 0.5 * x["b"].sum()}
    if name == "cg":
        scaled = lambda x: {"a": 2 * x["a"], "b": 3 * x["b"]}
    found = solve(scaled, b, tol=1e-12, x0=b)[0]
    reference.close(tangrad.tree.map(np.asarray, scaled(found)), b, 1e3)
    matrix = TURN @ TURN.conj().T if name == "cg" else TURN
    found = solve(matrix, RIGHT + 1j, tol=1e-12)[0]
    np.testing.assert_allclose(found, np.linalg.solve(matrix, RIGHT + 1j), rtol=1e-6)
    np.testing.assert_array_equal(solve(matrix.real, 0 * RIGHT)[0], 0)


@pytest.mark.parametrize("name", SOLVERS)
def test_derivatives_of_complex_systems(on, name):
    draw = np.random.default_rng(0)
    real, imaginary = draw.normal(size=(2, 2, 4, 3))
    (a, b), (c, cotangent) = [(x[:3], x[3]) for x in real + 1j * imaginary]
    matrix = (lambda x: x @ x.conj().T) if name == "cg" else (lambda x: x + 4 * np.eye(3))

    def solved(solve):
        value, pullback = tangrad.vjp(lambda x, y: solve(matrix(x), y), a, b)
        gradient = lambda x, y: tangrad.vjp(lambda x, y: solve(matrix(x), y), x, y)[1](cotangent)
        return value, pullback(cotangent), tangrad.jvp(gradient, (a, b), (c, cotangent))[1]

    with enable_x64(True):
        for M in (None, np.diag([1.0, 2.0, 0.5])):
            found = solved(lambda matrix, y, M=M: SOLVERS[name](matrix, y, tol=1e-14, M=M)[0])
            for one, other in zip(*map(tangrad.tree.leaves, (found, solved(tnp.linalg.solve))), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_restarts_and_limits(on):
    found = linalg.gmres(DENSE, RIGHT, restart=3, tol=1e-10)[0]
    np.testing.assert_allclose(found, np.linalg.solve(DENSE, RIGHT), rtol=1e-7)
    np.testing.assert_allclose(linalg.cg(POSITIVE, RIGHT, maxiter=0)[0], 0)


# --- rotations -----------------------------------------------------------------------------------------------------

QUATERNIONS = reference.normal((7, 4), "float64", 3)
THEIRS = transform.Rotation.from_quat(QUATERNIONS)
VECTORS = reference.normal((7, 3), "float64", 4)
SEQUENCES = [a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c]


@pytest.mark.parametrize("form", ["quat", "matrix", "rotvec", "mrp"])
def test_rotations_in_their_forms(on, form):
    ours = Rotation.from_quat(QUATERNIONS)
    expected = getattr(THEIRS, f"as_{form}")()
    np.testing.assert_allclose(getattr(ours, f"as_{form}")(), expected, rtol=1e-9, atol=1e-12)
    again = getattr(Rotation, f"from_{form}")(expected)
    np.testing.assert_allclose(again.as_matrix(), THEIRS.as_matrix(), atol=1e-12)
    if on == "numpy":
        back = lambda x: getattr(Rotation.from_quat(x), f"as_{form}")()
        reference.check_finite_differences(back, (QUATERNIONS,))
        reference.check_finite_differences(lambda x: getattr(Rotation, f"from_{form}")(x).as_matrix(), (expected,))


def test_angles_of_euler(on):
    for seq in SEQUENCES:
        for one in (seq, seq.upper()):
            for degrees in (False, True):
                expected = THEIRS.as_euler(one, degrees)
                found = Rotation.from_quat(QUATERNIONS).as_euler(one, degrees)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
                back = Rotation.from_euler(one, expected, degrees)
                np.testing.assert_allclose(back.as_matrix(), THEIRS.as_matrix(), atol=1e-12)


@pytest.mark.parametrize("seq", ["xyz", "ZYX", "zxz", "YXY"])
def test_angles_that_are_not_determined(on, seq):
    """One axis falls upon another: the rotation is the same, and the third angle 0."""
    middles = (0.0, np.pi) if seq[0] == seq[2] else (-0.5 * np.pi, 0.5 * np.pi)
    for middle in middles:
        made = Rotation.from_euler(seq, np.array([0.3, middle, -0.8]))
        angles = made.as_euler(seq)
        assert angles[2] == 0
        np.testing.assert_allclose(Rotation.from_euler(seq, angles).as_matrix(), made.as_matrix(), atol=1e-7)


def test_rotations_together(on):
    ours, other = Rotation.from_quat(QUATERNIONS), Rotation.from_rotvec(VECTORS[0])
    theirs = transform.Rotation.from_rotvec(VECTORS[0])
    np.testing.assert_allclose((ours * other).as_matrix(), (THEIRS * theirs).as_matrix(), atol=1e-12)
    np.testing.assert_allclose(ours.apply(VECTORS), THEIRS.apply(VECTORS), atol=1e-12)
    np.testing.assert_allclose(other.apply(VECTORS, inverse=True), theirs.apply(VECTORS, inverse=True), atol=1e-12)
    np.testing.assert_allclose(ours.inv().as_matrix(), THEIRS.inv().as_matrix(), atol=1e-12)
    np.testing.assert_allclose(ours.magnitude(), THEIRS.magnitude(), rtol=1e-9)
    weights = np.arange(1.0, 8)
    np.testing.assert_allclose(ours.mean(weights).as_matrix(), THEIRS.mean(weights).as_matrix(), atol=1e-9)
    np.testing.assert_allclose(ours.as_quat(True, True), THEIRS.as_quat(canonical=True, scalar_first=True), atol=1e-12)
    np.testing.assert_allclose(Rotation.concatenate([ours, other]).as_matrix()[7], theirs.as_matrix(), atol=1e-12)
    assert len(ours) == 7 and other.single and ours[2].single and len(Rotation.identity(3)) == 3
    np.testing.assert_allclose(Rotation.from_euler("y", 0.4).as_rotvec(), [0, 0.4, 0], atol=1e-12)
    many = Rotation.random(tangrad.random.key(1), 4000)
    np.testing.assert_allclose(many.as_matrix().mean(0), 0, atol=0.05)


def test_rotations_between_rotations(on):
    times = np.array([0.0, 1.0, 2.5, 4.0, 5.0, 7.0, 8.0])
    ours, theirs = Slerp.init(times, Rotation.from_quat(QUATERNIONS)), transform.Slerp(times, THEIRS)
    between = np.array([0.0, 0.4, 2.5, 4.9, 8.0])
    np.testing.assert_allclose(ours(between).as_matrix(), theirs(between).as_matrix(), atol=1e-9)
    assert ours(0.5).single


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: minimize(himmelblau, np.ones(2), method="no"), ValueError, "method"),
        (lambda: minimize(himmelblau, np.ones((2, 2)), method="BFGS"), ValueError, "x0"),
        (lambda: minimize(himmelblau, np.ones(2), [], method="BFGS"), TypeError, "args"),
        (lambda: minimize(lambda x: x, np.ones(2), method="BFGS"), ValueError, "fun must return a number"),
        (lambda: minimize(himmelblau, np.ones(2), method="BFGS", options={"no": 1}), TypeError, "'no'"),
        (lambda: linalg.cg(np.ones((2, 3)), np.ones(3)), ValueError, "A must be"),
        (lambda: linalg.cg(np.eye(2), np.ones(2), np.ones(3)), ValueError, "x0"),
        (lambda: linalg.gmres(np.eye(2), np.ones(2), solve_method="no"), ValueError, "solve_method"),
        (lambda: linalg.gmres(np.eye(2), np.ones(2), restart=0), ValueError, "restart"),
        (lambda: Rotation.from_quat(np.ones(3)), ValueError, "from_quat"),
        (lambda: Rotation.from_euler("xx", np.ones(2)), ValueError, "seq"),
        (lambda: Rotation.from_euler("xy", np.ones(3)), ValueError, "angles"),
        (lambda: Rotation.identity().as_euler("xy"), ValueError, "three axes"),
        (lambda: len(Rotation.identity()), TypeError, "no length"),
        (lambda: Slerp.init(np.ones(2), Rotation.identity(3)), ValueError, "times"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("solver", ["cg", "bicgstab", "gmres"])
def test_objects_that_multiply_are_operators(solver):
    class Twice:
        def __matmul__(self, x):
            return 2 * x

    found, _ = getattr(linalg, solver)(Twice(), tnp.ones(3))
    np.testing.assert_allclose(found, [0.5, 0.5, 0.5], rtol=1e-6)
