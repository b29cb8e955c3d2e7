"""Which loops are compiled: the setting, what a loop costs, and what the NumPy backend asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tangrad.core import JaxprEqn, Literal
from tangrad.core.settings import define_setting, is_checking_values
from tangrad.core.tools import own_fault, sub_jaxprs

if TYPE_CHECKING:
    import numpy as np

    from tangrad.core import ClosedJaxpr, Jaxpr, Primitive, ShapedArray
    from tangrad.typing import Params


# --- Which loops are compiled: the setting ----------------------------------------------------------------------------


CHOICES = ("auto", "always")


def _check(value: object) -> bool | str:
    """A value of the setting. Raises TypeError or ValueError for what is none."""
    if value is False or (isinstance(value, str) and value in CHOICES):
        return value
    expected = f"expected False or one of {', '.join(map(repr, CHOICES))}"
    raise ValueError(expected) if isinstance(value, (str, bool)) else TypeError(expected)


def _parse(text: str) -> object:
    word = text.strip().lower()
    return False if word in ("false", "0", "off", "no", "") else _check(word)


numba_loops = define_setting(
    "numba_loops",
    "auto",
    "Which loops of programs on the NumPy backend numba compiles: 'auto', False: none; 'always': also those that "
    "do not pay for it.",
    parse=_parse,
    check=_check,
    changes_results=True,
)


# --- What a loop costs in ordinary and in compiled code, estimated from its equations ---------------------------------


# Nanoseconds, measured over 4,096 elements in a loop (AVX-512, NumPy 2.4, numba 0.68): an equation and an element, in
# compiled code and in ordinary code.
EQUATION = (20.0, 600.0)
ELEMENT = (0.12, 0.3)
# Of functions: float32 compiled and ordinary, float64 compiled and ordinary. NumPy has vectors of many; numba has them
# of what `functions.py` writes out.
FUNCTIONS = {
    "exp": (0.7, 0.8, 4.4, 1.4),
    "exp2": (0.8, 1.0, 2.9, 1.3),
    "logistic": (0.8, 1.0, 4.6, 1.7),
    "tanh": (1.0, 0.5, 7.2, 1.8),
    "sin": (0.9, 0.65, 8.4, 8.4),
    "cos": (0.9, 0.65, 8.4, 8.4),
    "log": (3.1, 0.75, 3.2, 1.3),
    "log1p": (4.2, 0.7, 4.0, 1.4),
    "expm1": (3.3, 0.8, 3.2, 1.7),
    "sqrt": (0.2, 0.7, 0.6, 1.7),
    "rsqrt": (0.3, 1.0, 0.7, 2.5),
    "erf": (3.5, 6.3, 3.1, 14.0),
    "cumsum": (0.9, 5.0, 1.0, 4.4),
}
OTHERS = "log2 log10 cbrt tan asin acos atan sinh cosh asinh acosh atanh atan2 pow rem erfc lgamma"
OTHER_FUNCTIONS = frozenset(OTHERS.split())
OTHER = (11.5, 1.3, 11.5, 2.0)
PRODUCT = (0.35, 0.03)  # a multiplication of a product of matrices
UNKNOWN_TRIPS = 100  # of a while loop, whose number is not known before it runs
STRETCH = 2e7  # nanoseconds that compiled code may run before Python looks after signals


@dataclass(frozen=True)
class Cost:
    """Seconds of a call in `ordinary` and in `compiled` code; `stretch`: iterations that the latter does at a time."""

    ordinary: float
    compiled: float
    stretch: int


def cost_of_loop(identity: str, params: Params) -> Cost | None:
    """The cost of a scan or while loop; None where its sizes are not known."""
    trips = params["length"] if identity == "control_flow.scan" else UNKNOWN_TRIPS
    try:
        compiled, ordinary = _sum([_work(program) for program in sub_jaxprs(params)])
    except TypeError:  # a symbolic size is no number
        return None
    if not isinstance(trips, int):
        return None
    stretch = max(1, int(STRETCH / max(compiled, 1.0)))
    return Cost(trips * ordinary * 1e-9, trips * compiled * 1e-9, stretch)


def _sum(costs: list[tuple[float, float]]) -> tuple[float, float]:
    return sum([compiled for compiled, _ in costs]), sum([ordinary for _, ordinary in costs])


def _work(jaxpr: Jaxpr | ClosedJaxpr) -> tuple[float, float]:
    """Nanoseconds of a program: compiled and ordinary."""
    return _sum([_of_equation(eqn) for eqn in jaxpr.eqns])


def _of_equation(eqn: JaxprEqn) -> tuple[float, float]:
    inner = list(_inner(eqn))
    if inner:
        compiled, ordinary = _sum([_work(program) for program in inner])
        trips = int(eqn.params.get("length", 1))
        return trips * compiled, trips * ordinary
    size = max([prod([int(size) for size in atom.aval.shape]) for atom in (*eqn.invars, *eqn.outvars)], default=0)
    compiled, ordinary = _of_element(eqn)
    return EQUATION[0] + size * compiled, EQUATION[1] + size * ordinary


def _of_element(eqn: JaxprEqn) -> tuple[float, float]:
    name = eqn.primitive.name
    if name == "dot_general":
        terms = prod([int(eqn.invars[0].aval.shape[axis]) for axis in eqn.params["dimension_numbers"][0][0]])
        return PRODUCT[0] * terms, PRODUCT[1] * terms
    if name == "pow" and isinstance(eqn.invars[1], Literal) and float(eqn.invars[1].ndarray) == -1.5:
        name = "rsqrt"  # written out, of float32
    costs = FUNCTIONS.get(name) or (OTHER if name in OTHER_FUNCTIONS else None)
    if costs is None:
        return ELEMENT
    return costs[2:] if eqn.outvars[0].aval.dtype == "float64" else costs[:2]


def _inner(eqn: JaxprEqn) -> Iterator[Jaxpr | ClosedJaxpr]:
    return iter(sub_jaxprs(eqn.params)) if eqn.params else iter(())


# ----------------------------------------------------------------------------------------------------------------------
# What the NumPy backend asks for compiled loops. The size of a loop decides: importing numba takes a second.


LOOPS = frozenset(("control_flow.scan", "control_flow.while"))
# Seconds that the ordinary code of one call must take at least. numba's second pays after some two hundred such calls,
# or at the first one of what takes so long; measured in docs/speed.md.
PAYS = 0.005
GAIN = 0.7  # and so much of them that compiled code must take at most


def _pays(cost: Cost) -> bool:
    return cost.ordinary >= PAYS and cost.compiled < GAIN * cost.ordinary


class Loops:
    """The compiler of loops: see `tangrad.extend.backend_numpy.LoopCompiler`."""

    def compile_loop(
        self, primitive: Primitive, params: Params, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
    ) -> Callable[..., tuple[np.ndarray, ...]] | None:
        """A loop as function of arrays; None where it does not pay, or where there is something that has no code."""
        chosen = numba_loops.value
        if not chosen or primitive.identity not in LOOPS or is_checking_values():
            return None
        try:
            cost = cost_of_loop(primitive.identity, params)
            if cost is None or not (chosen == "always" or _pays(cost)):
                return None
            from tangrad._numba import compiled

            return compiled.loop_function(primitive.identity, params, in_avals, out_avals, cost.stretch)
        except own_fault(Exception):  # whatever keeps numba from it, the ordinary code does the same
            return None


loops = Loops()
