"""Samples of calls of functions with rules of their own, for the conformance kit."""

from __future__ import annotations

from typing import Any

import numpy as np

import tangrad
from tangrad._custom_rules.primitives import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import find_primitive, get_aval, trace_to_closed_jaxpr
from tangrad.custom_derivatives import custom_jvp, custom_vjp

EXECUTED = ("abstract", "decomposition", "special", "dce")  # checks that apply a primitive without its transpose
FORWARD = "a function with a vjp rule has no forward-mode derivative"


def _bind(name: str, *args: Any) -> Any:
    return find_primitive(f"elementwise.{name}").bind(*args)


def samples() -> list[Sample]:
    """All of them."""
    x = draw(2, 3, dtype="float64")
    wave = custom_jvp(lambda x: _bind("sin", x))
    wave.defjvp(lambda primals, tangents: (wave(*primals), _bind("mul", tangents[0], _bind("cos", primals[0]))))
    back = custom_vjp(lambda x: _bind("sin", x))
    back.defvjp(lambda x: (back(x), _bind("cos", x)), lambda slope, ct: (_bind("mul", ct, slope),))
    found = []
    for primitive, function in ((custom_jvp_call_p, wave), (custom_vjp_call_p, back)):
        _, params = recorded(primitive, lambda function=function: function(x))  # type: ignore[misc]
        staged = trace_to_closed_jaxpr(lambda x: (_bind("sin", x),), (get_aval(x),))
        without = {"jvp": FORWARD, "second": FORWARD} if function is back else {}
        for jaxpr in (params["jaxpr"], staged):
            found.append(Sample(primitive, (x,), {**params, "jaxpr": jaxpr}, without=without))
    return [*found, _linear(x)]


def _linear(x: np.ndarray) -> Sample:
    params = {
        "bwd": lambda residuals, cotangents: (_bind("mul", cotangents[0], residuals[0]),),
        "num_res": 1,
        "active": (True,),
        "avals_out": (get_aval(x),),
        "nonzero": (True,),
        "name": "back",
    }
    return _Transposed(
        custom_lin_p, (x, x), params, without=dict.fromkeys(EXECUTED, "it is transposed, never executed")
    )


class _Transposed(Sample):
    """A linear map of which only the transpose is known: it is applied by transposing that."""

    def apply_one(self, *args: Any) -> tuple[Any, ...]:
        count = self.params["num_res"]
        residuals, tangents = args[:count], args[count:]

        def applied(*values: Any) -> tuple[Any, ...]:
            return self.results(self.primitive.bind(*self.operands(*residuals, *values), **self.params))

        avals = [aval for aval, has in zip(self.params["avals_out"], self.params["nonzero"], strict=True) if has]
        pulled = tangrad.linear_transpose(applied, *tangents)
        return tuple(tangrad.linear_transpose(lambda *cotangents: pulled(cotangents), *avals)(tangents))
