"""Operations and bytes of programs, counted by the rules of primitives: `experimental.roofline`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import tangrad
from tangrad import tree
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    Primitive,
    RuleKind,
    RuleSet,
    ShapedArray,
    Var,
    calls_rules,
    copy_identity,
    dce_jaxpr,
    decomposition_jaxpr,
    dtypes,
    register,
    rule_table,
)
from tangrad.core.tools import sub_jaxprs
from tangrad.typing import PyTree

if TYPE_CHECKING:
    import numpy as np

    from tangrad.core import JaxprEqn

F = TypeVar("F", bound=Callable[..., object])

# --- What a primitive costs, and what a program does ---


class RooflineShape(NamedTuple):
    """A shape and a dtype, with what they take.

    >>> import numpy
    >>> from tangrad.experimental.roofline import RooflineShape
    >>> RooflineShape((2, 3), numpy.dtype("float32")).bytes
    24
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def from_aval(cls, aval: ShapedArray) -> RooflineShape:
        """Those of a type."""
        return cls(tuple(aval.shape), aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """How many bytes they take."""
        if isinstance(self.dtype, dtypes.ExtendedDType):
            return RooflineShape.from_aval(self.dtype.physical_aval(ShapedArray(self.shape, self.dtype))).bytes  # type: ignore[attr-defined]
        return (self.size * dtypes.bit_width(self.dtype) + 7) // 8

    @classmethod
    def total_bytes(cls, avals: Sequence[object]) -> int:
        """How many bytes values of these types take; what is no array takes none."""
        return sum([cls.from_aval(aval).bytes for aval in avals if isinstance(aval, ShapedArray)])


class Cost(NamedTuple):
    """What calls of a primitive cost by themselves.

    Attributes:
        calls: how many there are.
        flops: operations of arithmetic, a fused multiplication and addition counted as two.
        bytes_read, bytes_written: of operands and results.
    """

    calls: int
    flops: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """What a program costs on one device: counted, not measured.

    Attributes:
        flops, hbm_bytes: of operations that compilers do not fuse into others: products of matrices, convolutions,
            factorisations. So many operations and bytes there are at least.
        unfused_flops, unfused_hbm_bytes: of all operations, each as if it read and wrote memory. So many at most.
        peak_hbm_bytes: of the values that are alive at once, where nothing is fused.
        ici_bytes: the axis of a mesh -> bytes that each device sends along it.
        by_primitive: the name of a primitive, with its family -> its `Cost`.

    Results can be added, and multiplied by a number of repetitions.

    >>> from tangrad.experimental.roofline import RooflineResult
    >>> (2 * RooflineResult(flops=3)).flops
    6
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: Mapping[Hashable, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0
    by_primitive: Mapping[str, Cost] = field(default_factory=dict)

    @classmethod
    def zeros(cls) -> RooflineResult:
        """That of a program that does nothing."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        if not isinstance(other, RooflineResult):
            return NotImplemented
        sent = {
            axis: self.ici_bytes.get(axis, 0) + other.ici_bytes.get(axis, 0)
            for axis in {**self.ici_bytes, **other.ici_bytes}
        }
        nothing = Cost(0, 0, 0, 0)
        costs = {
            name: Cost(
                *map(sum, zip(self.by_primitive.get(name, nothing), other.by_primitive.get(name, nothing), strict=True))
            )
            for name in {**self.by_primitive, **other.by_primitive}
        }
        return RooflineResult(
            flops=self.flops + other.flops,
            unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=sent,
            hbm_bytes=self.hbm_bytes + other.hbm_bytes,
            peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes,
            by_primitive=costs,
        )

    def __mul__(self, times: float) -> RooflineResult:
        return RooflineResult(
            flops=int(self.flops * times),
            unfused_flops=int(self.unfused_flops * times),
            ici_bytes={axis: int(count * times) for axis, count in self.ici_bytes.items()},
            hbm_bytes=int(self.hbm_bytes * times),
            peak_hbm_bytes=self.peak_hbm_bytes,
            unfused_hbm_bytes=int(self.unfused_hbm_bytes * times),
            by_primitive={
                name: Cost(*[int(count * times) for count in cost]) for name, cost in self.by_primitive.items()
            },
        )

    __rmul__ = __mul__


# --- The rule kind `roofline`, and how the costs of a program are added up ---

RooflineRule = Callable[..., RooflineResult]


class RooflineRuleContext:
    """What a rule is given beside the types of the operands and the parameters.

    Attributes:
        primitive: the primitive.
        avals_in, avals_out: the types of the operands and of the results.

    >>> import tangrad
    >>> from tangrad.core import find_primitive
    >>> from tangrad.experimental.roofline import RooflineRuleContext
    >>> context = RooflineRuleContext(find_primitive("elementwise.sin"), [], [])
    >>> context.cost(flops=5).unfused_flops
    5
    """

    __slots__ = ("avals_in", "avals_out", "primitive")

    def __init__(self, primitive: Primitive, avals_in: Sequence[ShapedArray], avals_out: Sequence[ShapedArray]) -> None:
        self.primitive = primitive
        self.avals_in = avals_in
        self.avals_out = avals_out

    def cost(
        self,
        flops: int = 0,
        bytes_read: int | None = None,
        bytes_written: int | None = None,
        *,
        fuses: bool = True,
        sent: Mapping[Hashable, int] | None = None,
    ) -> RooflineResult:
        """What the primitive costs.

        Args:
            flops: operations of arithmetic, a fused multiplication and addition counted as two.
            bytes_read, bytes_written: default: those of the operands, and of the results.
            fuses: whether compilers fuse it with others, so that its operands and results need not be in memory.
            sent: the axis of a mesh -> bytes that each device sends along it.
        """
        read = RooflineShape.total_bytes(self.avals_in) if bytes_read is None else bytes_read
        written = RooflineShape.total_bytes(self.avals_out) if bytes_written is None else bytes_written
        return RooflineResult(
            flops=0 if fuses else flops,
            unfused_flops=flops,
            ici_bytes=dict(sent or {}),
            hbm_bytes=0 if fuses else read + written,
            unfused_hbm_bytes=read + written,
            by_primitive={self.primitive.identity: Cost(1, flops, read, written)},
        )

    def program(self, jaxpr: ClosedJaxpr | Jaxpr) -> RooflineResult:
        """What a program among the parameters costs when it runs once."""
        return cost_of(jaxpr)


# --- rules from shapes ------------------------------------------------------------------------------------------------


def _elements(avals: Sequence[ShapedArray]) -> int:
    return max([RooflineShape.from_aval(aval).size for aval in avals if hasattr(aval, "shape")], default=0)


def _of_results(ctx: RooflineRuleContext, *avals: object, **params: object) -> RooflineResult:
    """An operation for each element of the largest result."""
    return ctx.cost(_elements(ctx.avals_out))


def _of_operands(ctx: RooflineRuleContext, *avals: object, **params: object) -> RooflineResult:
    """An operation for each element of the largest operand."""
    return ctx.cost(_elements(ctx.avals_in))


def _movement(ctx: RooflineRuleContext, *avals: object, **params: object) -> RooflineResult:
    """No arithmetic: what results have is written, and as much read."""
    written = RooflineShape.total_bytes(ctx.avals_out)
    return ctx.cost(0, min(written, RooflineShape.total_bytes(ctx.avals_in)), written)


def _nothing(ctx: RooflineRuleContext, *avals: object, **params: object) -> RooflineResult:
    """Nothing: it is there for traces and compilers."""
    return RooflineResult.zeros()


def _by_decomposition(primitive: Primitive) -> RooflineRule:
    def rule(ctx: RooflineRuleContext, *avals: ShapedArray, **params: object) -> RooflineResult:
        return ctx.program(decomposition_jaxpr(primitive, list(avals), params))

    return rule


roofline_kind = RuleKind(
    "roofline",
    api=1,
    signature="(ctx, *avals, **params) -> ctx.cost(...), or what programs among the parameters cost",
    doc="operations of arithmetic and bytes that a primitive takes, for types of operands",
    derive=_by_decomposition,
    default=lambda primitive: _of_results,
    forms={
        "of_results": lambda primitive: _of_results,
        "of_operands": lambda primitive: _of_operands,
        "movement": lambda primitive: _movement,
        "nothing": lambda primitive: _nothing,
    },
    optional=True,
)
ROOFLINE = rule_table("roofline")


# --- programs --------------------------------------------------------------------------------------------------------


@calls_rules("roofline")
def cost_of(program: ClosedJaxpr | Jaxpr) -> RooflineResult:
    """What a program costs when it runs once; of loops whose number of turns is not known, one turn."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    total = RooflineResult.zeros()
    last_use = {atom: number for number, eqn in enumerate(jaxpr.eqns) for atom in eqn.invars if isinstance(atom, Var)}
    last_use |= {atom: len(jaxpr.eqns) for atom in jaxpr.outvars if isinstance(atom, Var)}
    alive = peak = RooflineShape.total_bytes([var.aval for var in (*jaxpr.constvars, *jaxpr.invars)])
    for number, eqn in enumerate(jaxpr.eqns):
        one = _cost_of_equation(eqn)
        operands = {atom for atom in eqn.invars if isinstance(atom, Var)}
        inside = max(one.peak_hbm_bytes - RooflineShape.total_bytes([atom.aval for atom in operands]), 0)
        alive += RooflineShape.total_bytes([var.aval for var in eqn.outvars])
        peak = max(peak, alive, alive + inside - RooflineShape.total_bytes([var.aval for var in eqn.outvars]))
        ended = [atom for atom in operands if last_use[atom] == number]
        alive -= RooflineShape.total_bytes(
            [var.aval for var in (*ended, *[v for v in eqn.outvars if v not in last_use])]
        )
        total += one
    return total + RooflineResult(peak_hbm_bytes=peak)


def _cost_of_equation(eqn: JaxprEqn) -> RooflineResult:
    avals_in, avals_out = [atom.aval.plain for atom in eqn.invars], [var.aval.plain for var in eqn.outvars]
    ctx = RooflineRuleContext(eqn.primitive, avals_in, avals_out)
    programs = list(sub_jaxprs(eqn.params))
    if programs and ROOFLINE.cell(eqn.primitive).status != "rule":
        return sum([cost_of(program) for program in programs], RooflineResult.zeros())
    found = ROOFLINE[eqn.primitive](ctx, *avals_in, **eqn.params)
    if not isinstance(found, RooflineResult):
        raise TypeError(
            f"the roofline rule of {eqn.primitive.identity!r} returned {found!r}; expected what "
            "ctx.cost(flops=...) returns"
        )
    return found


# --- `roofline` and `roofline_and_grad`: what a function costs, for arguments of certain types ---

# Where there is a mesh, tangrad-sharding is installed, which divides functions over it; nothing else here needs it.
SHARDED = "shard_map"


def roofline(
    f: Callable[..., object],
    mesh: object = None,
    in_specs: object = None,
    out_specs: object = None,
    *,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[PyTree, RooflineResult]]:
    """A function that counts what another one costs, without running it.

    The rules of the kind `roofline` say what each primitive costs, those of other packages too; without a rule it costs
    what its decomposition does, or an operation for each element of its result.

    Args:
        f: a function of trees of arrays.
        mesh, in_specs, out_specs: to count one device's part of it, as for `tangrad.shard_map`.
        vjp: whether its gradient is counted with it, for a cotangent of the result's type.
        print_jaxpr: whether the program is printed.

    Returns: a function of the same arguments, or of `ShapeDtypeStruct`s in their place, which returns the types of the
        results and a `RooflineResult`.

    Raises TypeError for what is no function, and what tracing it raises.

    >>> import tangrad
    >>> from tangrad.experimental.roofline import roofline
    >>> x = tangrad.ShapeDtypeStruct((8, 4), "float32")
    >>> shapes, result = roofline(lambda x: tangrad.lax.dot(x, tangrad.lax.transpose(x, (1, 0))))(x)
    >>> shapes.shape, result.flops
    ((8, 8), 512)
    """
    if not callable(f):
        raise TypeError(f"roofline expects a function, got {f!r} of type {type(f).__name__}")

    def counted(*args: PyTree) -> tuple[PyTree, RooflineResult]:
        function = f
        if mesh is not None and in_specs is not None and out_specs is not None:
            function = getattr(tangrad, SHARDED)(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        shapes = tangrad.eval_shape(function, *args)
        program = tangrad.make_jaxpr(_with_gradient(function) if vjp else function)(*args, *([shapes] if vjp else []))
        jaxpr, _ = dce_jaxpr(program.jaxpr, [True] * len(program.jaxpr.outvars))
        if print_jaxpr:
            print(jaxpr)
        return shapes, cost_of(jaxpr)

    return copy_identity(counted, f)


def _with_gradient(function: Callable[..., object]) -> Callable[..., PyTree]:
    def run(*args: object) -> PyTree:
        *primals, cotangent = args
        _, pullback = tangrad.vjp(function, *primals)
        return pullback(cotangent)

    return run


def roofline_and_grad(
    f: Callable[..., object],
    mesh: object = None,
    in_specs: object = None,
    out_specs: object = None,
    *,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[PyTree, RooflineResult, RooflineResult]]:
    """The same, with what the gradient costs, the function within it included, as a third result.

    >>> import tangrad
    >>> from tangrad.experimental.roofline import roofline_and_grad
    >>> _, forward, both = roofline_and_grad(tangrad.lax.sin)(tangrad.ShapeDtypeStruct((8,), "float32"))
    >>> forward.unfused_flops, both.unfused_flops
    (8, 16)
    """
    options: Any = {"mesh": mesh, "in_specs": in_specs, "out_specs": out_specs, "print_jaxpr": print_jaxpr}

    def counted(*args: PyTree) -> tuple[PyTree, RooflineResult, RooflineResult]:
        shapes, forward = roofline(f, **options)(*args)
        types = tree.map(lambda x: tangrad.ShapeDtypeStruct(x.shape, x.dtype), args)
        return shapes, forward, roofline(f, vjp=True, **options)(*types)[1]

    return copy_identity(counted, f)


def register_roofline(prim: Primitive) -> Callable[[F], F]:
    """Decorator: a function is the rule of a primitive. Packages have an entry of `tangrad.rules.roofline` for it.

    The rule is `rule(ctx, *avals, **params)`, with a `RooflineRuleContext`, and returns a `RooflineResult`.

    >>> import tangrad
    >>> from tangrad.core import PrimitiveSet
    >>> from tangrad.experimental.roofline import register_roofline, roofline
    >>> twice = PrimitiveSet("example_of_roofline", api=1).primitive(lambda x: x, name="twice")
    >>> @register_roofline(twice)
    ... def twice_costs(ctx, x):
    ...     return ctx.cost(flops=2 * x.size)
    >>> roofline(twice.bind)(tangrad.ShapeDtypeStruct((3,), "float32"))[1].unfused_flops
    6
    """

    def decorate(rule: F) -> F:
        rules = RuleSet("roofline", api=1)
        rules.add(prim, rule)
        register(rules)
        return rule

    return decorate


def register_standard_roofline(prim: Primitive) -> None:
    """Say that a primitive costs nothing.

    >>> from tangrad.core import PrimitiveSet
    >>> from tangrad.experimental.roofline import register_standard_roofline
    >>> same = PrimitiveSet("example_of_standard_roofline", api=1).primitive(lambda x: x, name="same")
    >>> register_standard_roofline(same)
    """
    register_roofline(prim)(lambda ctx, *avals, **params: RooflineResult.zeros())


__all__ = ["RooflineRuleContext", "register_roofline", "register_standard_roofline", "roofline", "roofline_and_grad"]
