"""Samples for the conformance kit."""

from tangrad.conformance import Sample, draw
from tangrad_finufft.primitives import TABLE

SIZES = (4, 3, 2)
SHAPES = "the sizes of points, modes and strengths go together"


def samples() -> list[Sample]:
    """One and several vectors, each type, one to three dimensions; refused dtypes."""
    return [_sample(kind, dims, batch) for kind, dims in TABLE for batch in [(), (2,)][: 3 - dims + 1]] + _bad()


def _sample(kind: int, dims: int, batch: tuple[int, ...]) -> Sample:
    real = [draw(5) for _ in range(dims)] + ([draw(3) for _ in range(dims)] if kind == 3 else [])
    data = draw(*batch, *(SIZES[:dims] if kind == 2 else (5,)), dtype="complex64")
    params: dict[str, object] = {"sign": 1, "eps": 1e-14}
    if kind == 1:
        params["modes"] = SIZES[:dims]
    return Sample(TABLE[kind, dims], (*real, data), params, tolerance=2e-3, without={"sizes": SHAPES})


def _bad() -> list[Sample]:
    params = {"sign": 1, "eps": 1e-6}
    numbers, points = draw(5, dtype="complex64"), draw(5)
    return [
        Sample(TABLE[2, 1], operands, params, raises=(TypeError, ValueError))
        for operands in [
            (points, points),
            (points.astype("int32"), numbers),
            (draw(5, 1), numbers),
            (points, numbers[0]),
        ]
    ]
