"""Samples for the conformance kit."""

from tangrad.conformance import Sample, draw
from tangrad_rmsnorm.primitive import rms_norm_p


def samples() -> list[Sample]:
    """Vectors, rows, and what is refused."""
    good = [Sample(rms_norm_p, (draw(*shape),), {"eps": 1e-3}) for shape in [(4,), (3, 5), (2, 1, 3)]]
    bad = [draw(dtype="float32"), draw(3, dtype="int32"), draw(3, dtype="float16")]
    return [*good, *[Sample(rms_norm_p, (x,), {"eps": 1e-3}, raises=TypeError) for x in bad]]
