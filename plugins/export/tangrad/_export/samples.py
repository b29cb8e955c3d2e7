"""Samples of calls of exported programs, for the conformance kit."""

from __future__ import annotations

from tangrad._export.exported import NUMPY
from tangrad._export.functions import export
from tangrad._export.primitives import call_exported_p, push_forward_p
from tangrad.conformance import Sample, draw
from tangrad.core import ShapedArray, backend_names, get_backend
from tangrad.extend.jit import jit
from tangrad.extend.symbolic import symbolic_shape

OF_ITS_DTYPES = "the kit takes derivatives in float64, and a program is for the dtypes that it was exported for"
MAPPED = "a program for arguments of certain types is not mapped"
WITHOUT = {
    **dict.fromkeys(("jvp", "transpose", "second", "points"), OF_ITS_DTYPES),
    **dict.fromkeys(("batch", "special"), MAPPED),
    "pickle": "programs are written to files of their own format",
}


def samples() -> list[Sample]:
    """All of them."""
    xla = [get_backend("xla").devices()[0].platform] if "xla" in backend_names() else []
    platforms = [NUMPY, *xla]
    fixed = export(jit(lambda x: -x), platforms=platforms)(ShapedArray((3,), "float32"))
    free = export(jit(lambda x: x + x), platforms=platforms)(ShapedArray(symbolic_shape("n, 2"), "float32"))
    curved = export(jit(lambda x: x * x * x), platforms=platforms)(ShapedArray((3,), "float32"))
    return [
        Sample(call_exported_p, (draw(3),), {"exported": fixed}, without=WITHOUT),
        Sample(call_exported_p, (draw(4, 2),), {"exported": free}, without=WITHOUT),
        Sample(call_exported_p, (draw(3),), {"exported": curved}, without=WITHOUT),
        Sample(push_forward_p, (draw(3), draw(3)), {"exported": curved}, without=WITHOUT),
        Sample(push_forward_p, (draw(4, 2), draw(4, 2)), {"exported": free}, without=WITHOUT),
        Sample(call_exported_p, (draw(4, 3),), {"exported": free}, raises=ValueError),
    ]
