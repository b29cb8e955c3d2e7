"""Linear systems, and what is defined by them: inverses of several sorts and determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._lax.checks import check_same_dtype
from tangrad._lax.decompositions import solving
from tangrad._lax.linalg.checks import check_ranks, check_square, check_wide
from tangrad.core import PrimitiveSet, ShapedArray, dtypes

if TYPE_CHECKING:
    from tangrad.typing import Value

systems = PrimitiveSet("systems", api=1)


@systems.primitive(name="solve", decompose=solving.solve)
def solve_p(a: ShapedArray, b: ShapedArray) -> ShapedArray:
    """The X with a X = b, for square matrices a; infinities and NaN where a is singular."""
    name = "solve"
    for operand, argument in ((a, "a"), (b, "b")):
        check_wide(name, operand, argument)
    check_same_dtype(name, (a, b))
    check_ranks(name, (("a", a, 2), ("b", b, 2)))
    check_square(name, a, "a")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{name}: b must have as many rows as a, got shapes {a.shape} and {b.shape}")
    return ShapedArray(b.shape, b.dtype)


@systems.primitive(name="determinant", decompose=solving.determinant)
def determinant_p(a: ShapedArray) -> ShapedArray:
    """The determinants of square matrices."""
    check_wide("determinant", a, "a")
    check_ranks("determinant", (("a", a, 2),))
    check_square("determinant", a, "a")
    return ShapedArray(a.shape[:-2], a.dtype)


def _adjugate(a: Value) -> Value:
    return solving.adjugate(a, determinant_p.bind)


@systems.primitive(name="adjugate", decompose=_adjugate)
def adjugate_p(a: ShapedArray) -> ShapedArray:
    """The transposed cofactors: det(a) a⁻¹, where a is singular too."""
    check_wide("adjugate", a, "a")
    check_ranks("adjugate", (("a", a, 2),))
    check_square("adjugate", a, "a")
    return ShapedArray(a.shape, a.dtype)


@systems.primitive(name="pseudoinverse", decompose=solving.pseudoinverse)
def pseudoinverse_p(a: ShapedArray, rtol: ShapedArray, *, hermitian: bool) -> ShapedArray:
    """Moore and Penrose's inverse; singular values up to `rtol` times the greatest are taken for 0."""
    name = "pseudoinverse"
    check_wide(name, a, "a")
    check_ranks(name, (("a", a, 2), ("rtol", rtol, 0)))
    if hermitian:
        check_square(name, a, "a")
    if rtol.dtype != dtypes.to_floating_dtype(a.dtype):
        raise TypeError(f"{name}: rtol must be of the real dtype of a, got {dtypes.dtype_name(rtol.dtype)}")
    return ShapedArray((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


@systems.primitive(name="tridiagonal_solve")
def tridiagonal_solve_p(dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray) -> ShapedArray:
    """The X with T X = b, where T has the diagonals dl (its first element is not read), d, and du (nor its last)."""
    name = "tridiagonal_solve"
    operands = (("dl", dl), ("d", d), ("du", du), ("b", b))
    for argument, operand in operands:
        check_wide(name, operand, argument)
    check_same_dtype(name, [operand for _, operand in operands])
    check_ranks(name, (("dl", dl, 1), ("d", d, 1), ("du", du, 1), ("b", b, 2)))
    for argument, operand in operands[:3]:
        if operand.shape[-1] != b.shape[-2]:
            raise ValueError(
                f"{name}: {argument} must be as long as b has rows, got shapes {operand.shape} and {b.shape}"
            )
    return ShapedArray(b.shape, b.dtype)
