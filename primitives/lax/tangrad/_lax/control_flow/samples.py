"""Samples of the primitives that carry programs, for the conformance kit.

Their programs are of double precision, as derivatives are checked in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tangrad._lax.control_flow.primitives import control_flow
from tangrad.conformance import Sample, draw
from tangrad.core import ClosedJaxpr, ShapedArray, find_primitive, get_aval, trace_to_closed_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

P = control_flow.primitives
VECTOR, SCALAR = draw(3, dtype="float64"), draw(dtype="float64")


def samples() -> list[Sample]:
    """All of them."""
    return [*_conditionals(), *_loops(), *_scans()]


def _program(function: Callable[..., tuple[object, ...]], *args: np.ndarray | np.generic) -> ClosedJaxpr:
    return trace_to_closed_jaxpr(function, tuple([get_aval(arg) for arg in args]))


def _apply(name: str, *args: object) -> Value:
    return find_primitive(f"elementwise.{name}").bind(*args)


def _conditionals() -> list[Sample]:
    x, y = VECTOR, draw(3, dtype="float64", seed=1)
    branches = (
        _program(lambda a, b: (_apply("sin", a), b), x, y),
        _program(lambda a, b: (_apply("mul", a, b), a), x, y),
        _program(lambda a, b: (b, _apply("neg", a)), x, y),
    )
    found = [Sample(P["cond"], (np.int32(index), x, y), {"branches": branches}) for index in (0, 1, 2)]
    for platforms in (("cpu", "cuda", None), ("tpu", "none such", None)):
        found.append(Sample(P["platform_dependent"], (x, y), {"branches": branches, "platforms": platforms}))
    return found


def _loops() -> list[Sample]:
    count = np.int32(3)
    condition = _program(lambda i, x: (_apply("gt", i, np.int32(0)),), count, VECTOR)
    scaled = _program(_step, SCALAR, count, VECTOR)
    params = {"cond_jaxpr": condition, "body_jaxpr": scaled, "cond_nconsts": 0, "body_nconsts": 1}
    backward = "a loop of unknown length has no reverse derivative"
    without = {"transpose": backward, "second": backward}
    return [Sample(P["while"], (SCALAR, count, VECTOR), params, without=without)]


def _step(a: Value, i: Value, x: Value) -> Values:
    return _apply("sub", i, np.int32(1)), _apply("mul", _apply("sin", x), a)


def _scans() -> list[Sample]:
    xs, carry = draw(4, 3, dtype="float64", seed=1), VECTOR

    def body(a: Value, c: Value, x: Value) -> Values:
        new = _apply("sin", _apply("add", _apply("mul", c, a), x))
        return new, _apply("mul", new, x)

    row = ShapedArray((3,), np.float64)
    jaxpr = trace_to_closed_jaxpr(body, (get_aval(SCALAR), get_aval(carry), row))
    found = []
    for reverse, unroll in ((False, 1), (True, 1), (False, 2)):
        params = {
            "jaxpr": jaxpr, "num_consts": 1, "num_carry": 1, "length": 4, "reverse": reverse, "unroll": unroll,
        }  # fmt: skip
        found.append(Sample(P["scan"], (SCALAR, carry, xs), params))
    return found
