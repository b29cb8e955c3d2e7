"""Samples of calls of functions with rules of their own, of checkpoints and of solves, for the conformance kit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad
from tangrad._custom_rules.checkpoint.primitives import name_p, remat_p
from tangrad._custom_rules.composites import composite, composite_p
from tangrad._custom_rules.dead_code import custom_dce, custom_dce_call_p
from tangrad._custom_rules.linear import linear_call, linear_call_p
from tangrad._custom_rules.mapped import custom_vmap, custom_vmap_call_p
from tangrad._custom_rules.primitives import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tangrad._custom_rules.roots import custom_root
from tangrad._custom_rules.solves import custom_linear_solve, custom_linear_solve_p, custom_root_p
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import Primitive, find_primitive, get_aval, literal, trace_to_closed_jaxpr
from tangrad.custom_derivatives import custom_jvp, custom_vjp

if TYPE_CHECKING:
    from tangrad.core import Literal
    from tangrad.typing import Value, Values


EXECUTED = ("abstract", "decomposition", "special", "dce")  # checks that apply a primitive without its transpose
FORWARD = "a function with a vjp rule has no forward-mode derivative"


def _bind(name: str, *args: object) -> Any:
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
        _, params = recorded(primitive, partial(function, x))
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

    def apply_one(self, *args: object) -> tuple[Any, ...]:
        count = self.params["num_res"]
        residuals, tangents = args[:count], args[count:]

        def applied(*values: object) -> tuple[Any, ...]:
            return self.results(self.primitive.bind(*self.operands(*residuals, *values), **self.params))

        avals = [aval for aval, has in zip(self.params["avals_out"], self.params["nonzero"], strict=True) if has]
        pulled = tangrad.linear_transpose(applied, *tangents)
        return tuple(tangrad.linear_transpose(lambda *cotangents: pulled(cotangents), *avals)(tangents))


def _wave(x: Value, y: Value) -> Values:
    sin, mul = find_primitive("elementwise.sin"), find_primitive("elementwise.mul")
    return mul.bind(sin.bind(x), y), sin.bind(mul.bind(x, y))


def checkpoint_samples() -> list[Sample]:
    """All of them. Programs are of double precision, as derivatives are checked in it."""
    args = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64", seed=1)
    jaxpr = trace_to_closed_jaxpr(_wave, tuple([get_aval(arg) for arg in args]))
    found = [Sample(name_p, (draw(2, 3, dtype=kind),), {"name": "kept"}) for kind in ("float32", "int32", "complex64")]
    for prevent in (False, True):
        params = {"jaxpr": jaxpr, "prevent_cse": prevent, "differentiated": False, "policy": None}
        found.append(Sample(remat_p, args, params))
    return found


def linear_samples() -> list[Sample]:
    """Of `linear_call`."""
    slope, x = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64")
    times = lambda r, v: _bind("mul", r, v)
    args, params = recorded(linear_call_p, lambda: linear_call(times, times, slope, x))
    return [Sample(linear_call_p, args, params)]


def mapped_samples() -> list[Sample]:
    """Of `custom_vmap_call`."""
    x = draw(2, 3, dtype="float64")
    wave = custom_vmap(lambda x: _bind("sin", x))
    wave.def_vmap(lambda size, batched, x: (_bind("sin", x), batched[0]))
    args, params = recorded(custom_vmap_call_p, lambda: wave(x))
    return [Sample(custom_vmap_call_p, args, params)]


def partial_samples() -> list[Sample]:
    """Of `custom_dce_call`."""
    x = draw(2, 3, dtype="float64")
    waves = custom_dce(lambda x: (_bind("sin", x), _bind("cos", x)))
    waves.def_dce(lambda used, x: (_bind("sin", x) if used[0] else None, _bind("cos", x) if used[1] else None))
    program = trace_to_closed_jaxpr(lambda x: waves(x), (get_aval(x),))
    (equation,) = program.eqns
    return [Sample(custom_dce_call_p, (x,), equation.params)]


def composite_samples() -> list[Sample]:
    """Of `composite`: with attributes of every type, and with a result that is an operand."""
    x = draw(2, 3, dtype="float64")
    waves = composite(lambda x, **_: (_bind("sin", x), x), "test.waves", 2)
    given = {"axis": 1, "fast": True, "name": "wave", "scales": (0.5, np.arange(3)), "more": {"kind": np.dtype("int8")}}
    args, params = recorded(composite_p, lambda: waves(x, **given))
    return [Sample(composite_p, args, params)]


def _number(value: float) -> Literal:
    return literal(value, np.dtype("float64"), False)


def solve_samples() -> list[Sample]:
    """All of them: a diagonal system, one with auxiliary values and without transpose, and a root."""
    diagonal = draw(2, 3, low=1.0, high=2.0, dtype="float64")
    b = draw(2, 3, dtype="float64", seed=1)
    return [_linear_solve(diagonal, b, True), _linear_solve(diagonal, b, False), _root(diagonal)]


def _tied(
    primitive: Primitive, run: Callable[..., object], *values: np.ndarray, without: Mapping[str, str] | None = None
) -> Sample:
    """A sample with `values` as arguments: several programs of a solve close over the same value, and it can only
    change for all of them at once.
    """
    found, params = recorded(primitive, lambda: run(*values))
    operands = [np.asarray(operand) for operand in found]  # of no backend
    sources = [next((i for i, v in enumerate(values) if np.array_equal(operand, v)), None) for operand in operands]

    def enter(*args: object) -> Any:
        pairs = zip(operands, sources, strict=True)
        return tuple([operand if source is None else args[source] for operand, source in pairs])

    return Sample(primitive, values, params, enter=enter, without=without or {})


def _linear_solve(diagonal: np.ndarray, b: np.ndarray, transposable: bool) -> Sample:
    def run(diagonal: object, b: object) -> Any:
        divide = lambda _, y: _bind("div", y, diagonal)
        with_aux = lambda _, y: (_bind("div", y, diagonal), _bind("neg", diagonal))
        solve = divide if transposable else with_aux
        matvec = lambda x: _bind("mul", diagonal, x)
        return custom_linear_solve(matvec, b, solve, symmetric=transposable, has_aux=not transposable)

    why = "the transposed equation has no solver"
    without = {} if transposable else {"transpose": why, "second": why, "jvp": "auxiliary values have no tangents"}
    return _tied(custom_linear_solve_p, run, diagonal, b, without=without)


def _root(a: np.ndarray) -> Sample:
    """The square root of `a`, by Newton's method."""

    def run(a: Any) -> np.ndarray:
        def f(x: object) -> Any:
            return _bind("sub", _bind("mul", x, x), a)

        def newton(f: Any, x: Any) -> Any:
            for _ in range(6):
                x = _bind("sub", x, _bind("div", f(x), _bind("mul", x, _number(2.0))))
            return x

        # The derivative of f is diagonal: applied to ones it gives the diagonal.
        return custom_root(f, np.full(a.shape, 1.3), newton, lambda g, y: _bind("div", y, g(np.ones(a.shape))))

    return _tied(custom_root_p, run, a)
