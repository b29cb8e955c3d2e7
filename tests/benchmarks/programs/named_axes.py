"""`xmap` on 8 devices, beside the last release of JAX that had it in full: calls, and tracing with lowering."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from .many_devices import mesh_of_eight


def within_mesh(side: Side) -> tuple[Any, Callable[..., Any]]:
    """The api of a side and its `xmap`; from now on the process is within a mesh of 2 x 4 devices."""
    api = side.api()
    mesh_of_eight(api).__enter__()
    return api, importlib.import_module(f"{side.module}.experimental.maps").xmap


def centred(api: Any, xmap: Callable[..., Any]) -> Callable[..., Any]:
    """Rows less their mean, over all devices."""
    return xmap(
        lambda row: row - api.lax.pmean(row, "i"),
        in_axes={0: "i"},
        out_axes={0: "i"},
        axis_resources={"i": ("x", "y")},
    )


def call_case(side: Side) -> Case:
    """Call a small mapped function on what it has returned, and wait for it."""
    api, xmap = within_mesh(side)
    function = centred(api, xmap)
    rows = function(numpy.ones((8, 8), "float32"))
    return Case(lambda: function(rows).block_until_ready())


def product_case(side: Side) -> Case:
    """A product of 256 x 256 floats, rows along x and columns along y."""
    api, xmap = within_mesh(side)
    function = xmap(
        api.numpy.dot,
        in_axes=({0: "rows"}, {1: "columns"}),
        out_axes={0: "rows", 1: "columns"},
        axis_resources={"rows": "x", "columns": "y"},
    )
    draw = numpy.random.default_rng(0).normal(size=(256, 256)).astype("float32")
    return Case(lambda: function(draw, draw).block_until_ready())


def lowering_case(side: Side) -> Case:
    """Trace and lower a fresh mapped function."""
    api, xmap = within_mesh(side)
    rows = api.numpy.ones((8, 8), "float32")
    return Case(lambda function: function.lower(rows), fresh=lambda: centred(api, xmap))


PROGRAMS = {
    "xmap: dispatch": call_case,
    "xmap: product 256 from the host": product_case,
    "xmap: trace + lower": lowering_case,
}
