"""What authors of rules, backends and hooks write, for mypy: the lines that end in `# wrong` must be reported, alone.

A rule is reported where it is decorated; mypy's line of that is the decorator's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, assert_type

from tangrad import core
from tangrad.autodiff import Linearized, PartialEval
from tangrad.batching import AxisInfo
from tangrad.core import (
    Array,
    ClosedJaxpr,
    HookContext,
    JaxprEqn,
    PrimitiveSet,
    RuleSet,
    ShapedArray,
    hookimpl,
    protocols,
)

family = PrimitiveSet("typed_example", api=1)


@family.primitive(name="double")
def double_p(x: ShapedArray, *, twice: bool) -> ShapedArray:
    return x


@family.primitive(name="pair", multiple_results=True)
def pair_p(x: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    return x, x


@family.primitive(name="several", multiple_results=True)
def several_p(*avals: ShapedArray) -> list[ShapedArray]:
    return [*avals]


@family.primitive
def half_p(x: ShapedArray) -> ShapedArray:
    return x


assert_type(double_p.bind(1.0, twice=True), Array)
assert_type(half_p(1.0), Array)
assert_type(pair_p.bind(1.0), tuple[Array, Array])
assert_type(several_p.bind(1.0), tuple[Array, ...])


@family.primitive(name="number")  # wrong
def number_p(x: ShapedArray) -> int:
    return 3


# --- jvp ------------------------------------------------------------------------------------------------------------

jvp = RuleSet("jvp", api=1)
assert_type(jvp, RuleSet[protocols.JvpRule])


@jvp.rule(double_p)
def _(primals: Any, tangents: Any, *, twice: bool) -> Any:
    return primals, tangents


@jvp.rule(double_p, pair_p)
def _(primals: tuple[Any, Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return primals, tangents


@jvp.rule(double_p)  # wrong
def _(primals: Any, *, twice: bool) -> Any:
    return primals


@jvp.rule(double_p)  # wrong
def _(primals: Any, tangents: Any, *, twice: bool) -> int:
    return 3


@jvp.rule(double_p)  # wrong
def _(primals: int, tangents: Any, *, twice: bool) -> Any:
    return primals


jvp.add(double_p, lambda primals, tangents: (primals, tangents))
jvp.add(double_p, lambda primals: primals)  # wrong
jvp.table({double_p: lambda: None})  # wrong
jvp.rule("double_p")  # wrong

# --- transpose ------------------------------------------------------------------------------------------------------

transpose = RuleSet("transpose", api=1, override=True)


@transpose.rule(double_p)
def _(cotangent: Any, x: Any, *, twice: bool) -> tuple[Any]:
    return (cotangent,)


@transpose.rule(double_p)  # wrong
def _(*, twice: bool) -> tuple[Any]:
    return (0,)


@transpose.rule(double_p)  # wrong
def _(cotangent: Any, x: Any, *, twice: bool) -> None:
    return None


# --- linearize, partial_eval ----------------------------------------------------------------------------------------

linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


@linearize.rule(pair_p)
def _(primals: Any, active: tuple[bool, ...], *, jaxpr: ClosedJaxpr) -> Linearized:
    return Linearized(primals, (), jaxpr)


@linearize.rule(pair_p)  # wrong
def _(primals: Any, active: tuple[bool, ...]) -> tuple[Any, Any]:
    return primals, active


@partial_eval.rule(pair_p)
def _(known: tuple[bool, ...], args: Sequence[Any], *, jaxpr: ClosedJaxpr) -> PartialEval | None:
    return None


@partial_eval.rule(pair_p)  # wrong
def _(known: tuple[bool, ...]) -> None:
    return None


# --- dce, batch, axis_subst -----------------------------------------------------------------------------------------

dce = RuleSet("dce", api=1)
batch = RuleSet("batch", api=1)
axis_subst = RuleSet("axis_subst", api=1)


@dce.rule(pair_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    return list(used_outputs), equation


@dce.rule(pair_p)  # wrong
def _(used_outputs: Sequence[bool], equation: JaxprEqn, *, jaxpr: ClosedJaxpr) -> tuple[list[bool], JaxprEqn | None]:
    return list(used_outputs), equation


@batch.rule(double_p)
def _(args: Any, dims: Any, *, axis_info: AxisInfo, twice: bool) -> Any:
    return args[0], dims[0]


@batch.rule(double_p)  # wrong
def _(args: Any, *, axis_info: AxisInfo, twice: bool) -> Any:
    return args[0], 0


@batch.rule(double_p)  # wrong
def _(args: Any, dims: Any, *, axis_info: AxisInfo, twice: bool) -> list[Any]:
    return [args, dims]


@axis_subst.rule(pair_p)
def _(params: dict[str, Any], subst: Callable[[Any], tuple[Any, ...]]) -> dict[str, Any]:
    return params


@axis_subst.rule(pair_p)  # wrong
def _(params: dict[str, Any]) -> dict[str, Any]:
    return params


# --- lowerings, and kinds of one's own ------------------------------------------------------------------------------

lower: RuleSet[protocols.LoweringRule] = RuleSet("lower.numpy", api=1)
anything = RuleSet("bounds", api=1)


class BoundsRule(Protocol):
    def __call__(self, low: float, high: float) -> float: ...


bounds: RuleSet[BoundsRule] = RuleSet("bounds", api=1)


@lower.rule(double_p)
def _(ctx: Any, x: Any, *, twice: bool) -> Any:
    return x


@lower.rule(double_p)  # wrong
def _(*, twice: bool) -> Any:
    return twice


@anything.rule(double_p)
def _(low: float) -> float:
    return low


@bounds.rule(double_p)
def _(low: float, high: float) -> float:
    return high


@bounds.rule(double_p)  # wrong
def _(low: float) -> float:
    return low


# --- the kernel's classes and the protocols of the same names -------------------------------------------------------


class Halves(core.Backend):
    name = "halves"
    lowering_kind = "lower.halves"
    api = 1

    def devices(self) -> int:  # wrong
        return 2


class Nothing:
    name = "nothing"


def satisfied(
    backend: core.Backend, trace: core.Trace, tracer: core.Tracer, executable: core.Executable, axis: AxisInfo
) -> None:
    asked: protocols.Backend = backend
    mine: protocols.Backend = Nothing()  # wrong
    tracing: protocols.Trace = trace
    traced: protocols.Tracer = tracer
    program: protocols.Executable = executable
    operation: protocols.Primitive = double_p
    mapped: protocols.AxisInfo = axis
    print(asked, mine, tracing, traced, program, operation, mapped)


# --- hooks ----------------------------------------------------------------------------------------------------------


class Log:
    @hookimpl
    def tangrad_compiled(self, context: HookContext, executable: Any, seconds: float) -> None:
        print(context.function_name)

    @hookimpl(tryfirst=True)
    def tangrad_cache_hit(self, context: HookContext, cache: int) -> None:
        print(cache)


compiled: protocols.CompilationObserver = Log()
hits: protocols.CacheHitObserver = Log()  # wrong
