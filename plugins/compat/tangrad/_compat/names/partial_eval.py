"""`jax.interpreters.partial_eval`: what of a function is known where some of its arguments are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._compat.names.linear_util import WrappedFun
from tangrad.autodiff import TapeTracer
from tangrad.core import AbstractValue, ClosedJaxpr, Jaxpr, Literal, trace_to_closed_jaxpr
from tangrad.core import dce_jaxpr as dce_jaxpr
from tangrad.core.transformations import StagingTracer

if TYPE_CHECKING:
    from tangrad.core import Array, Var


DynamicJaxprTracer = StagingTracer
JaxprTracer = TapeTracer  # what stands for an unknown value while known ones are computed


# Rules that packages give primitives of their own. Nothing reads them: programs are split as their equations say.
custom_partial_eval_rules: dict[object, object] = {}
dce_rules: dict[object, object] = {}
partial_eval_jaxpr_custom_rules: dict[object, object] = {}


class PartialVal(NamedTuple):
    """A value that is known (`(None, value)`), or of which only the type is (`(aval, None)`)."""

    aval: AbstractValue | None
    const: object

    @classmethod
    def known(cls, value: object) -> PartialVal:
        """One that is known."""
        return cls(None, value)

    @classmethod
    def unknown(cls, aval: AbstractValue) -> PartialVal:
        """One of which only the type is known."""
        return cls(aval, None)

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.aval is None


def trace_to_jaxpr_dynamic(
    function: WrappedFun, in_avals: Sequence[AbstractValue], *, keep_inputs: Sequence[bool] | None = None, **_: object
) -> tuple[Jaxpr, list[AbstractValue], list[Array]]:
    """The program of a function of flat arguments and results.

    Args:
        function: what `linear_util.wrap_init` returned.
        in_avals: the types of its arguments.
        keep_inputs: which of the arguments the function is called with, all by default.

    Returns: the jaxpr, the types of its results, and the values of its constants.

    >>> import tangrad
    >>> from tangrad._compat.names.linear_util import wrap_init
    >>> jaxpr, out_avals, consts = trace_to_jaxpr_dynamic(wrap_init(lambda x: [x * 2]), [tangrad.typeof(1.0)])
    >>> print(jaxpr)
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    kept = [True] * len(in_avals) if keep_inputs is None else keep_inputs

    def of_kept(*args: object) -> Sequence[object]:
        return function.call_wrapped(*[arg for arg, keep in zip(args, kept, strict=True) if keep])

    program = trace_to_closed_jaxpr(of_kept, list(in_avals), function.__name__)
    return program.jaxpr, list(program.out_avals), list(program.consts)


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """As `dce_jaxpr`, and for each constant of the program whether it is left."""
    found, used = dce_jaxpr(jaxpr, list(used_outputs), instantiate)
    return found, [variable in found.constvars for variable in jaxpr.constvars], used


def trace_to_jaxpr_nounits(
    function: WrappedFun, values: Sequence[PartialVal], instantiate: bool = False
) -> tuple[ClosedJaxpr, list[PartialVal], list[object]]:
    """Compute of a flat function what depends on known arguments alone.

    Returns:
        the whole program of the unknown arguments, a partial value for each result, and no residuals: the program has
        what it needs as constants.
    """
    places = [place for place, value in enumerate(values) if not value.is_known()]

    def of_unknown(*args: object) -> Sequence[object]:
        given = dict(zip(places, args, strict=True))
        return function.call_wrapped(*[given.get(place, value.const) for place, value in enumerate(values)])

    program = trace_to_closed_jaxpr(of_unknown, [values[place].aval for place in places], "trace_to_jaxpr_nounits")
    found = _known_results(program, [_UNKNOWN] * len(places))
    return (
        program,
        [
            PartialVal.unknown(aval) if value is _UNKNOWN or instantiate else PartialVal.known(value)
            for value, aval in zip(found, program.out_avals, strict=True)
        ],
        [],
    )


_UNKNOWN: object = object()


def _known_results(program: ClosedJaxpr, args: Sequence[object]) -> list[object]:
    """Evaluate the equations whose operands are all known; functions that are compiled are looked into."""
    jaxpr = program.jaxpr
    env = {**dict(zip(jaxpr.constvars, program.consts, strict=True)), **dict(zip(jaxpr.invars, args, strict=True))}

    def read(atom: Var | Literal) -> object:
        return atom if isinstance(atom, Literal) else env[atom]

    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        if all(operand is not _UNKNOWN for operand in operands):
            out = equation.primitive.bind(*operands, **equation.params)
            outs = out if equation.primitive.multiple_results else (out,)
        elif equation.primitive.name == "jit":
            outs = _known_results(equation.params["jaxpr"], operands)
        else:
            outs = [_UNKNOWN] * len(equation.outvars)
        env.update(zip(equation.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]
