"""The primitives: types 1, 2 and 3, each in one, two and three dimensions.

Operands of type 1: the d coordinates of the points, (n,) each, and strengths (..., n); of type 2: the coordinates, and
coefficients (..., *modes); of type 3: the coordinates of the points, those of the m frequencies, and strengths.
Axes in front are transforms over the same points. Modes of size n run from -(n // 2).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import finufft
import numpy

import tangrad
from tangrad.core import PrimitiveSet, ShapedArray

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from tangrad.core import Array, Primitive
    from tangrad.typing import Value

    Sizes: TypeAlias = tuple[int, ...]

nufft = PrimitiveSet("nufft", api=1)
# (type, number of dimensions) -> primitive.
TABLE: dict[tuple[int, int], Primitive[Array]] = {}
# The least relative error that FINUFFT reaches in each precision.
LEAST = {"complex64": 1e-6, "complex128": 1e-14}
REAL = {"complex64": "float32", "complex128": "float64"}
# With fewer points in all, FINUFFT's threads would wait for each other longer than they compute.
FEW = 30_000
# More points than that no grid of type 3 may have; beyond, phases would have lost most of their digits.
MOST = 1e9


def _checked(kind: int, dims: int, avals: Sequence[ShapedArray], modes: Sizes | None) -> Sizes:
    """The shape of the result. Raises TypeError and ValueError for operands that do not go together."""
    name, (*real, data) = f"nufft{kind}", avals
    if data.dtype.name not in REAL:
        raise TypeError(f"{name} expects complex numbers as strengths or coefficients, got {data.str_short()}")
    for coordinate in real:
        if coordinate.dtype.name != REAL[data.dtype.name] or coordinate.ndim != 1:
            raise TypeError(
                f"{name} expects coordinates of shape (n,) and dtype {REAL[data.dtype.name]} beside "
                f"{data.str_short()}, got {coordinate.str_short()}"
            )
    for group in (real[:dims], real[dims:]):
        if len({coordinate.shape for coordinate in group}) > 1:
            shapes = [coordinate.shape for coordinate in group]
            raise ValueError(f"{name}: the coordinates of the points have different shapes, {shapes}")
    inner = dims if kind == 2 else 1
    if data.ndim < inner or (kind != 2 and data.shape[-1:] != real[0].shape):
        raise ValueError(f"{name}: {real[0].shape[0]} points do not go with {data.str_short()} in {dims} dimensions")
    return data.shape[: data.ndim - inner] + _result_shape(kind, real, modes)


def _result_shape(kind: int, real: Sequence[ShapedArray] | Sequence[numpy.ndarray], modes: Sizes | None) -> Sizes:
    """The shape of the transform of one vector; `modes` are those of type 1."""
    if kind == 1:
        assert modes is not None
        return tuple(modes)
    return real[0].shape if kind == 2 else real[-1].shape


def on_host(
    kind: int, dims: int, *operands: numpy.ndarray, modes: Sizes | None = None, sign: int, eps: float
) -> numpy.ndarray:
    """The transform by FINUFFT, of NumPy arrays. Points that are not finite give NaN."""
    *real, data = [numpy.ascontiguousarray(operand) for operand in operands]
    inner = data.shape[data.ndim - dims :] if kind == 2 else data.shape[-1:]
    batch = data.shape[: data.ndim - len(inner)]
    result = _result_shape(kind, real, modes)
    if 0 in batch + inner + result or real[0].size == 0:  # FINUFFT wants at least one of everything
        return numpy.zeros(batch + result, data.dtype)
    if not all(numpy.isfinite(coordinate).all() for coordinate in real):  # it would read outside of its arrays
        return numpy.full(batch + result, numpy.nan, data.dtype)
    points, targets = real[:dims], real[dims:]
    if kind == 3 and not _has_room(points, targets):  # it would ask for more memory than there is, and abort
        return numpy.full(batch + result, numpy.nan, data.dtype)
    if kind != 3:
        points = [numpy.mod(coordinate, 2 * numpy.pi).astype(coordinate.dtype) for coordinate in points]
    many = data.reshape(-1, *inner)
    sizes = (result,) if kind == 1 else ()
    eps = max(eps, LEAST[data.dtype.name])
    function = getattr(finufft, f"nufft{dims}d{kind}")
    threads = 1 if len(many) * real[0].size < FEW else 0  # 0: as many as there are processors
    found: numpy.ndarray = function(*points, many, *targets, *sizes, eps=eps, isign=sign, nthreads=threads)
    return found.reshape(batch + result)


def _has_room(points: Sequence[numpy.ndarray], targets: Sequence[numpy.ndarray]) -> bool:
    """Whether the grid of type 3, whose sizes grow with the products of what both sides span, can be made."""
    sizes = [
        1 + numpy.abs(x.astype("float64")).max() * numpy.abs(s.astype("float64")).max()
        for x, s in zip(points, targets, strict=True)
    ]
    return bool(numpy.prod(sizes) < MOST)


def _make(kind: int, dims: int) -> None:
    def infer(*avals: ShapedArray, sign: int, eps: float, modes: Sizes | None = None) -> ShapedArray:
        return ShapedArray(_checked(kind, dims, avals, modes), avals[-1].dtype)

    def by_callback(*operands: Value, sign: int, eps: float, modes: Sizes | None = None) -> Array:
        declared = infer(*[operand.aval for operand in operands], sign=sign, eps=eps, modes=modes)
        transform = partial(on_host, kind, dims, modes=modes, sign=sign, eps=eps)
        found: Array = tangrad.pure_callback(transform, declared, *operands)
        return found

    infer.__doc__ = f"The transform of type {kind} in {dims} dimensions."
    TABLE[kind, dims] = nufft.primitive(infer, name=f"nufft{dims}d{kind}", decompose=by_callback)


for kind in (1, 2, 3):
    for dims in (1, 2, 3):
        _make(kind, dims)
