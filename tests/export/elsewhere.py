"""Programs that are exported here and called in a process that has only read them: what may have to be registered.

Name -> (function, shapes or arrays of its arguments, whether it is differentiated too).
"""

import json
import sys
from pathlib import Path

import numpy

import tangrad
import tangrad.numpy as np
from tangrad import export, lax, nn, random, scipy

DRAW = numpy.random.default_rng(0)
WIDE, SQUARE, VECTOR = DRAW.normal(size=(3, 5)), DRAW.normal(size=(4, 4)), DRAW.normal(size=5)
POSITIVE = SQUARE @ SQUARE.T + 4 * numpy.eye(4)
DIAGONALS = numpy.full((3, 5), [[1.0], [4.0], [1.0]])
DIAGONALS[0, 0] = DIAGONALS[2, -1] = 0
COMPLEX = SQUARE + 1j * SQUARE.T
WHOLE = numpy.arange(6, dtype="int32") * 7 % 5


def of_key(draw):
    """A function of a seed that makes the key itself."""
    return lambda seed: draw(random.key(seed))


def halved(x):
    return lax.while_loop(lambda y: np.abs(y).max() > 0.1, lambda y: y / 2, x)


def scanned(x):
    return lax.scan(lambda total, row: (total + row, total * row), np.zeros(x.shape[1], x.dtype), x)


def factors(*functions):
    """The results of all, of one argument."""
    return lambda x: [function(x) for function in functions]


LINEAR = {
    "cholesky": (np.linalg.cholesky, [POSITIVE], True),
    "solve": (np.linalg.solve, [POSITIVE, SQUARE], True),
    "lu": (scipy.linalg.lu, [SQUARE], True),
    "lu_factor": (scipy.linalg.lu_factor, [WIDE], False),
    "cho_solve": (lambda a, b: scipy.linalg.cho_solve((a, True), b), [POSITIVE, SQUARE], True),
    "triangular": (lambda a, b: scipy.linalg.solve_triangular(a, b, trans=1, lower=True), [POSITIVE, SQUARE], True),
    "inverse": (np.linalg.inv, [POSITIVE], True),
    "determinant": (factors(np.linalg.det, np.linalg.slogdet), [POSITIVE], True),
    "qr": (np.linalg.qr, [WIDE.T], True),
    "qr whole": (lambda x: np.linalg.qr(x, mode="complete"), [WIDE.T], False),
    "qr pivoted": (lambda x: scipy.linalg.qr(x, pivoting=True), [WIDE], False),
    "svd": (lambda x: np.linalg.svd(x, full_matrices=False), [WIDE], True),
    "svd whole": (np.linalg.svd, [WIDE.T], False),
    "singular values": (lambda x: np.linalg.svd(x, compute_uv=False), [WIDE], True),
    "eigh": (np.linalg.eigh, [POSITIVE], True),
    "eigvalsh": (np.linalg.eigvalsh, [POSITIVE], True),
    "eig": (np.linalg.eig, [SQUARE], False),
    "eigvals": (np.linalg.eigvals, [COMPLEX], False),
    "schur": (scipy.linalg.schur, [SQUARE], False),
    "hessenberg": (scipy.linalg.hessenberg, [SQUARE], False),
    "tridiagonal": (lambda d, b: lax.linalg.tridiagonal_solve(*d, b[:, None]), [DIAGONALS, VECTOR], True),
    "eigh_tridiagonal": (lambda d: lax.linalg.tridiagonal(d), [POSITIVE], False),
    "expm": (scipy.linalg.expm, [SQUARE], True),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], [WIDE.T, VECTOR], True),
    "pinv": (np.linalg.pinv, [WIDE], True),
    "rank": (np.linalg.matrix_rank, [WIDE], False),
    "batches": (tangrad.vmap(np.linalg.inv), [numpy.stack([POSITIVE, POSITIVE + 1])], True),
    "complex": (factors(np.linalg.inv, np.linalg.eigvals, np.linalg.svd), [COMPLEX], False),
    "cholesky in a loop": (
        lambda x: lax.fori_loop(0, 3, lambda _, y: np.linalg.cholesky(y) @ y.T / 4 + x, x),
        [POSITIVE],
        False,
    ),
    "solve in a branch": (lambda x: lax.cond(x[0, 0] > 0, np.linalg.inv, np.linalg.cholesky, x), [POSITIVE], True),
    "solve in a function": (
        lambda x: tangrad.jit(np.linalg.inv)(x) + tangrad.jit(np.linalg.cholesky)(x),
        [POSITIVE],
        True,
    ),
}
OTHERS = {
    "fft": (factors(np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.hfft), [VECTOR], False),
    "fft of matrices": (factors(np.fft.fft2, np.fft.rfftn), [SQUARE], False),
    "irfft": (np.fft.irfft, [COMPLEX], False),
    "dct": (lambda x: scipy.fft.dct(x), [VECTOR], True),
    "normal": (of_key(lambda key: random.normal(key, (3, 2))), [numpy.int32(3)], False),
    "bits": (of_key(lambda key: random.bits(key, (5,))), [numpy.int32(3)], False),
    "gamma": (of_key(lambda key: random.gamma(key, 2.5, (4,))), [numpy.int32(3)], False),
    "poisson": (of_key(lambda key: random.poisson(key, 4.0, (4,))), [numpy.int32(3)], False),
    "choice": (of_key(lambda key: random.choice(key, 9, (4,), replace=False)), [numpy.int32(3)], False),
    "categorical": (of_key(lambda key: random.categorical(key, np.zeros((4, 3)))), [numpy.int32(3)], False),
    "multivariate": (
        of_key(lambda key: random.multivariate_normal(key, np.zeros(4), np.asarray(POSITIVE, np.float32))),
        [numpy.int32(3)],
        False,
    ),
    "orthogonal": (of_key(lambda key: random.orthogonal(key, 3)), [numpy.int32(3)], False),
    "shuffled": (lambda x: random.permutation(random.split(random.key(1))[0], x), [VECTOR], False),
    "while": (halved, [VECTOR], False),
    "scan": (scanned, [WIDE], True),
    "switch": (lambda i, x: lax.switch(i, [np.sin, np.cos, np.exp], x), [numpy.int32(1), VECTOR], False),
    "associative": (lambda x: lax.associative_scan(np.multiply, x), [VECTOR], True),
    "map": (lambda x: lax.map(np.sum, x), [WIDE], True),
    "sorts": (factors(np.sort, np.argsort, np.median), [VECTOR], False),
    "stable": (lambda x: lax.sort((x, np.arange(6)), num_keys=1), [WHOLE], False),
    "top": (lambda x: lax.top_k(x, 2), [WIDE], False),
    "approximate top": (lambda x: lax.approx_max_k(x, 2), [WIDE], False),
    "sets": (lambda x: np.unique(x, size=5, return_counts=True), [WHOLE], False),
    "window": (lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "SAME"), [SQUARE], True),
    "running": (factors(np.cumsum, np.cumprod, lax.cummax, lax.cumlogsumexp), [VECTOR], True),
    "convolution": (
        lambda x: lax.conv_general_dilated(x[None, None], np.ones((2, 1, 3, 3), x.dtype), (1, 1), "SAME"),
        [SQUARE],
        True,
    ),
    "special": (
        factors(scipy.special.erf, scipy.special.gammaln, scipy.special.digamma, scipy.special.erfinv),
        [abs(VECTOR) / 4 + 0.1],
        True,
    ),
    "incomplete": (lambda x: scipy.special.gammainc(2.5, x), [abs(VECTOR)], False),
    "attention": (lambda x: nn.softmax(x @ x.T / 2) @ x, [WIDE], True),
    "indices": (lambda x: x.at[np.array([0, 2, 0])].add(1.5)[::-1], [VECTOR], True),
    "products": (lambda x: np.einsum("ij,kj->ik", x, x), [WIDE], True),
    "integers": (factors(lambda x: x // 2 % 3, lax.population_count, lambda x: x << 2), [WHOLE], False),
    "checkpoint": (tangrad.checkpoint(lambda x: np.sin(np.sin(x))), [VECTOR], True),
}
PROGRAMS = LINEAR | OTHERS


# --- Reads all exported programs of a folder, calls them, and compares ---
# This process makes no program of its own: whatever the programs call was registered because they were read.


def write(folder: Path, name: str, program: export.Exported, args, expected, cotangents=None, derivatives=()) -> None:
    """Put a program into a folder, with its arguments and what it returns for them, and maybe its derivative's."""
    arrays = {f"argument{number}": numpy.asarray(one) for number, one in enumerate(args)}
    arrays |= {f"expected{number}": numpy.asarray(one) for number, one in enumerate(tangrad.tree.leaves(expected))}
    if cotangents is not None:
        arrays |= {f"cotangent{number}": numpy.asarray(one) for number, one in enumerate(cotangents)}
        arrays |= {f"derivative{number}": numpy.asarray(one) for number, one in enumerate(derivatives)}
    (folder / f"{name}.exported").write_bytes(program.serialize(vjp_order=int(cotangents is not None)))
    numpy.savez(folder / f"{name}.npz", **arrays)


def numbered(arrays, word: str) -> list[numpy.ndarray]:
    return [arrays[f"{word}{number}"] for number in range(len(arrays)) if f"{word}{number}" in arrays]


def check(file: Path) -> None:
    """Raise AssertionError unless a program returns what was written beside it."""
    program = export.deserialize(file.read_bytes())
    with numpy.load(file.with_suffix(".npz")) as loaded:
        arrays = dict(loaded)
    args = numbered(arrays, "argument")
    compare(program.call(*args), numbered(arrays, "expected"))
    if program.has_vjp():
        compare(program.vjp().call(*args, *numbered(arrays, "cotangent")), numbered(arrays, "derivative"))


def compare(found, expected) -> None:
    found = [numpy.asarray(one) for one in tangrad.tree.leaves(found)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if other.dtype.kind in "biuV":
            numpy.testing.assert_array_equal(one, other)
        else:
            precise = other.dtype.itemsize >= 8 and other.dtype != "complex64"
            scale = numpy.abs(other[numpy.isfinite(other)]).max(initial=1)
            numpy.testing.assert_allclose(
                one, other, rtol=1e-9 if precise else 2e-4, atol=(1e-11 if precise else 2e-5) * scale
            )


def main(folder: str, backend: str) -> None:
    """Print, as JSON, the number of programs, and what is wrong with those that fail."""
    files, problems = sorted(Path(folder).glob("*.exported")), {}
    with tangrad.use_backend(backend), tangrad.enable_x64(True):
        for file in files:
            try:
                check(file)
            except Exception as error:
                problems[file.stem] = f"{type(error).__name__}: {error}"[:500]
    print(json.dumps({"count": len(files), "problems": problems}))


if __name__ == "__main__":
    main(*sys.argv[1:])
