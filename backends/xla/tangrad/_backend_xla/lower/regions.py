"""How calls of regions become StableHLO: calls of one function, which XLA is asked to keep.

Not where the function may return an argument as it is, once XLA has simplified it: XLA lets later operations
overwrite what a kept call hands on, though others still read the argument. What it simplifies is not for us to list:
a result counts as computed only where no simplification can undo the operations, and whatever is not in the tables
here may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from tangrad._backend_xla.helpers import KEPT
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, RuleSet, ShapedArray, dtypes
from tangrad.core.tools import sub_jaxprs
from tangrad.extend.jit import region_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(region_p)
def _region(ctx: FunctionContext, *operands: IrValue, jaxpr: ClosedJaxpr, name: str) -> tuple[IrValue, ...]:
    kept = ctx.module.keeps_calls and not _hands_on(jaxpr)
    ctx.module.kept_calls += kept
    return tuple(ctx.call(jaxpr, operands, name, ctx.vocabulary.parsed(KEPT) if kept else None))


# What a value is known to be, in the order in which it spoils what is made of it:
CONSTANT = 0  # the same for all arguments, perhaps 0 or 1
NUMBER = 1  # a number, neither 0 nor 1
VARIED = 2  # constant, of elements that differ: masks and positions
COMPUTED = 3  # not constant, and no argument
PATCHED = 4  # the same, but parts of it may be anything
GIVEN = 5  # not constant, perhaps an argument
UNKNOWN = 6
Kinds = list[int]
Rule = Callable[[JaxprEqn, Kinds], int]


_KNOWN: WeakKeyDictionary[ClosedJaxpr, bool] = WeakKeyDictionary()  # the calls of a region have one program


def _hands_on(program: ClosedJaxpr) -> bool:
    found = _KNOWN.get(program)
    if found is None:
        found = _KNOWN[program] = may_hand_on(program)
    return found


def may_hand_on(program: ClosedJaxpr) -> bool:
    """Return whether a result may share the memory of an argument."""
    jaxpr = program.jaxpr
    sizes = {_extent(var.aval) for var in jaxpr.invars}
    kinds = _kinds(jaxpr, [GIVEN] * len(jaxpr.invars))
    return any([kind >= GIVEN and _extent(var.aval) in sizes for kind, var in zip(kinds, jaxpr.outvars, strict=True)])


def _extent(aval: ShapedArray) -> tuple[object, object]:
    return getattr(aval, "size", None), getattr(aval, "dtype", None)


def _kinds(jaxpr: Jaxpr, given: Sequence[int]) -> Kinds:
    """The kinds of a program's results, by those of its arguments."""
    known = dict(zip(jaxpr.invars, given, strict=True))
    of = lambda atom: _of_literal(atom) if type(atom) is Literal else known.get(atom, CONSTANT)
    for equation in jaxpr.eqns:
        kinds = _of_equation(equation, [of(atom) for atom in equation.invars])
        known.update(zip(equation.outvars, kinds, strict=True))
    return [of(atom) for atom in jaxpr.outvars]


def _of_literal(atom: Literal) -> int:
    return NUMBER if atom.ndarray.ndim == 0 and atom.ndarray not in (0, 1) else CONSTANT


def _of_equation(equation: JaxprEqn, kinds: Kinds) -> Kinds:
    name, results = equation.primitive.name, len(equation.outvars)
    if all([kind <= VARIED for kind in kinds]):
        varied = name == "iota" or VARIED in kinds
        return [VARIED if varied else NUMBER if NUMBER in kinds and name in _WHOLE else CONSTANT] * results
    rule = _RULES.get(name)
    if rule is not None:
        return [rule(equation, kinds)] * results
    programs = [sub.jaxpr if isinstance(sub, ClosedJaxpr) else sub for sub in sub_jaxprs(equation.params)]
    if name == "scan":
        return _of_scan(equation, kinds)
    if name == "cond":
        return [_one_of(cases) for cases in zip(*[_kinds(program, kinds[1:]) for program in programs], strict=True)]
    if name in _INLINED and len(programs) == 1 and len(programs[0].invars) == len(kinds):
        return _kinds(programs[0], kinds)
    return [UNKNOWN] * results


def _one_of(cases: Sequence[int]) -> int:
    """Of a branch whose condition may be constant."""
    return UNKNOWN if CONSTANT in cases else max(*cases, COMPUTED)


def _of_scan(equation: JaxprEqn, kinds: Kinds) -> Kinds:
    """The results of one iteration and of those that follow: what the body does not change is taken out of the loop."""
    params = equation.params
    first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
    outs: Kinds = [UNKNOWN] * len(equation.outvars)
    if not isinstance(params["length"], int) or params["length"] < 1:
        return outs
    rows = [UNKNOWN if kind == PATCHED else kind for kind in kinds[last:]]
    carry = kinds[first:last]
    for _ in range(2):
        outs = _kinds(params["jaxpr"].jaxpr, [*kinds[:first], *carry, *rows])
        carry = list(map(max, carry, outs))
    return outs


def _is_real(equation: JaxprEqn) -> bool:
    """Whether the numbers are floating: of integers XLA knows that x·0 is 0 and x - x too."""
    return bool(dtypes.issubdtype(equation.outvars[0].aval.dtype, np.inexact))


def _whole(equation: JaxprEqn, kinds: Kinds) -> int:
    """Another form of the operand, which the inverse undoes."""
    return kinds[0]


def _part(equation: JaxprEqn, kinds: Kinds) -> int:
    return UNKNOWN if kinds[0] == PATCHED else kinds[0]


def _computing(equation: JaxprEqn, kinds: Kinds) -> int:
    """What no simplification undoes; of a part that may be constant it makes another."""
    worst = max(kinds)
    return worst if worst in (PATCHED, UNKNOWN) else COMPUTED


def _arithmetic(equation: JaxprEqn, kinds: Kinds) -> int:
    """Of two numbers that vary, something new; with a constant, which may be 0 or 1, the number itself."""
    worst, (one, other) = max(kinds), equation.invars
    if not _is_real(equation) or worst == UNKNOWN or (one is other and equation.primitive.name in ("sub", "div")):
        return UNKNOWN
    if min(kinds) <= VARIED or one is other:
        return worst
    return PATCHED if PATCHED in kinds and COMPUTED not in kinds else COMPUTED


def _choosing(equation: JaxprEqn, kinds: Kinds) -> int:
    """By a condition that may be constant, one of the cases as it is."""
    condition, *cases = kinds
    return (
        UNKNOWN if condition <= NUMBER and CONSTANT in cases else max(condition if condition == UNKNOWN else 0, *cases)
    )


def _comparing(equation: JaxprEqn, kinds: Kinds) -> int:
    one, other = equation.invars
    real = dtypes.issubdtype(one.aval.dtype, np.inexact)
    return _computing(equation, kinds) if real and one is not other else UNKNOWN


def _greatest(equation: JaxprEqn, kinds: Kinds) -> int:
    return max(kinds) if _is_real(equation) else UNKNOWN


def _contracting(equation: JaxprEqn, kinds: Kinds) -> int:
    """Where one number is contracted it is a multiplication; a constant may be 0."""
    (contracted, _), _ = equation.params["dimension_numbers"]
    long = any([equation.invars[0].aval.shape[axis] > 1 for axis in contracted])
    return COMPUTED if long and CONSTANT not in kinds and UNKNOWN not in kinds and _is_real(equation) else UNKNOWN


def _convolving(equation: JaxprEqn, kinds: Kinds) -> int:
    return UNKNOWN if CONSTANT in kinds or UNKNOWN in kinds or not _is_real(equation) else COMPUTED


def _growth(equation: JaxprEqn) -> int:
    """How many elements the result has more than the operand."""
    return int(equation.outvars[0].aval.size - equation.invars[0].aval.size)


def _spreading(equation: JaxprEqn, kinds: Kinds) -> int:
    """Something larger, whose parts are the operand."""
    return PATCHED if kinds[0] == GIVEN and _growth(equation) > 0 else kinds[0]


def _summing(equation: JaxprEqn, kinds: Kinds) -> int:
    new = kinds[0] == GIVEN and _growth(equation) < 0 and _is_real(equation)
    return COMPUTED if new else kinds[0]


def _selecting(equation: JaxprEqn, kinds: Kinds) -> int:
    return UNKNOWN if kinds[0] == PATCHED else _summing(equation, kinds)


def _filled(equation: JaxprEqn, kinds: Kinds) -> int:
    """A value with others around it, or within it; it may fill the result, and parts may make a whole again."""
    return UNKNOWN if UNKNOWN in kinds or _is_covered(equation, kinds) or kinds.count(GIVEN) > 1 else PATCHED


def _is_covered(equation: JaxprEqn, kinds: Kinds) -> bool:
    """Whether an operand that is not constant is as large as the result."""
    size = equation.outvars[0].aval.size
    return any([atom.aval.size == size for atom, kind in zip(equation.invars, kinds, strict=True) if kind > VARIED])


def _joined(equation: JaxprEqn, kinds: Kinds) -> int:
    """Parts of an argument may make a whole again; beside constants they cannot."""
    worst = max(kinds)
    patched = worst < UNKNOWN and not _is_covered(equation, kinds) and (PATCHED in kinds or min(kinds) <= VARIED)
    return PATCHED if patched else worst


_TABLE: dict[Rule, str] = {
    _whole: "reshape transpose rev copy optimization_barrier convert_element_type neg abs exp log "
    "sqrt square integer_pow reduce_precision cumsum cumprod cummax cummin move_axis relu "
    "set_weak_type stop_gradient name conj",
    _part: "slice split dynamic_slice gather squeeze sort",
    _computing: "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh logistic erf erfc erf_inv lgamma digamma "
    "rsqrt cbrt expm1 log1p atan2 softmax softplus gelu gelu_tanh silu mish log1mexp fft",
    _arithmetic: "add add_any sub mul div",
    _choosing: "select_n",
    _comparing: "eq ne lt le gt ge",
    _greatest: "max min clamp",
    _contracting: "dot_general",
    _convolving: "conv_general_dilated",
    _spreading: "broadcast_in_dim broadcast_axis append_dims",
    _summing: "reduce_sum sum_axes sum_trailing",
    _selecting: "reduce_prod reduce_max reduce_min",
    _joined: "concatenate",
    _filled: "pad dynamic_update_slice scatter scatter_add",
}
_RULES = {name: rule for rule, names in _TABLE.items() for name in names.split()}
_WHOLE = frozenset({"broadcast_in_dim", "reshape", "convert_element_type"})  # a number remains a number
_INLINED = frozenset(
    {"jit", "region", "remat", "custom_jvp_call", "custom_vjp_call", "custom_lin", "custom_vmap_call", "composite"}
)
