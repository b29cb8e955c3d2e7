"""How programs are compiled: to the text of a Python function that calls torch, a line for each equation.

A rule is asked once for each equation, and answers with a function of tensors. Memory is freed as soon as the last
reader of a value is done.
"""

from __future__ import annotations

from itertools import count
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

import torch

from tangrad.core import (
    DerivedRule,
    DropVar,
    Literal,
    RuleKind,
    RuleSet,
    calls_rules,
    decomposition_jaxpr,
    dtypes,
    find_primitive,
    rule_table,
)
from tangrad.core.backends import evaluate
from tangrad.core.tools import families
from tangrad.errors import MissingRuleError
from tangrad_torch.backend import TorchArray, backend
from tangrad_torch.tensors import KIND, constant, shifted_right, stored, torch_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NoReturn, TypeAlias

    from torch import Tensor

    from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, ShapedArray, Sharding, Var
    from tangrad.typing import Params
    from tangrad_torch.tensors import Operation, Operations, Shape

    Types: TypeAlias = tuple[ShapedArray, ...]
    SimpleRule: TypeAlias = Callable[..., Operation]  # of a primitive with one result
    Rule: TypeAlias = Callable[..., Operation | Operations]
    Applied: TypeAlias = tuple[Callable[..., Tensor | tuple[Tensor, ...]], ShapedArray | Types]

_numbers = count()


class Call(NamedTuple):
    """What a rule is asked about.

    Attributes:
        primitive: what is to be computed.
        inputs, outputs: the types of its operands and results.
        device: torch's name of the device that it runs on.
    """

    primitive: Primitive
    inputs: Types
    outputs: Types
    device: torch.device

    @property
    def dtype(self) -> torch.dtype:
        """What the elements of the first result are held as."""
        return torch_dtype(stored(self.outputs[0]).dtype)

    @property
    def shape(self) -> Shape:
        """The shape of the first result, as it is held."""
        return stored(self.outputs[0]).shape

    def lacks(self, what: str) -> MissingRuleError:
        """The error for what torch, or this backend, does not have."""
        return _missing(self.primitive, what)


def _missing(primitive: Primitive, why: str) -> MissingRuleError:
    message = f"{primitive.identity!r} is not there on the backend 'torch': {why}"
    return MissingRuleError(message, primitive.identity, KIND)


def lowered(
    primitive: Primitive, inputs: Types, outputs: Types, params: Params, device: torch.device
) -> Operation | Operations:
    """The function of tensors that computes a primitive. Raises MissingRuleError where there is none."""
    call = Call(primitive, inputs, outputs, device)
    for aval in (*inputs, *outputs):
        try:
            torch_dtype(stored(aval).dtype)
        except MissingRuleError as error:
            raise call.lacks(str(error)) from None
    return _by_rule(primitive, call, params)


@calls_rules("lower.torch")
def _by_rule(primitive: Primitive, call: Call, params: Params) -> Operation | Operations:
    function: Operation | Operations = rule_table(KIND)[primitive](call, **params)
    if not callable(function):
        raise TypeError(f"the {KIND} rule of {primitive.identity!r} returned {function!r}; expected a function")
    return function


def applied(primitive: Primitive, inputs: Types, params: Params, device: torch.device) -> Applied:
    """As `lowered`, for one that is applied by itself: the function, and the type or types of its results."""
    out = primitive.infer(inputs, params)
    function = lowered(primitive, inputs, out if primitive.multiple_results else (out,), params, device)

    def run(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        try:
            return function(*tensors)
        except (NotImplementedError, RuntimeError) as error:
            raise_named(error, primitive)

    return run, out


def raise_named(error: Exception, primitive: Primitive) -> NoReturn:
    """Raise what torch has not implemented as the error of the primitive that needs it; any other error as it is."""
    text = str(error).partition("\n")[0]
    if isinstance(error, MissingRuleError) or not (isinstance(error, NotImplementedError) or "not implemented" in text):
        raise error
    raise _missing(primitive, f"torch's error: {text}") from error


# --- programs ------------------------------------------------------------------------------------------------------


class Program:
    """A closed jaxpr as a function of tensors on a device, which returns a tuple of them.

    Attributes:
        text: what runs.
    """

    def __init__(self, closed: ClosedJaxpr, device: torch.device) -> None:
        self.device, self.equations = device, closed.jaxpr.eqns
        self._namespace: dict[str, Tensor | Callable[..., object]] = {}
        self._names: dict[Var, str] = {}
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            self._namespace[self._name(var)] = backend.own(value).tensor.to(device)
        self.text = self._written(closed.jaxpr)
        exec(compile(self.text, f"<tangrad-torch program {next(_numbers)}>", "exec"), self._namespace)
        made = self._namespace["program"]
        assert isinstance(made, FunctionType)
        self.function, self._code = made, made.__code__

    def _name(self, atom: Var | Literal) -> str:
        if not isinstance(atom, Literal):
            return self._names.setdefault(atom, f"v{len(self._names)}")
        name = f"c{len(self._namespace)}"  # each time another: literals have no equality that a dictionary could use
        self._namespace[name] = constant(atom, self.device)
        return name

    def _written(self, jaxpr: Jaxpr) -> str:
        head = f"def program({', '.join([self._name(var) for var in jaxpr.invars])}):"
        read = [[atom for atom in equation.invars if type(atom) is not Literal] for equation in jaxpr.eqns]
        last = {atom: at for at, atoms in enumerate(read) for atom in atoms}
        kept = {*jaxpr.constvars, *jaxpr.invars, *[atom for atom in jaxpr.outvars if type(atom) is not Literal]}
        dead = [{atom for atom in atoms if last[atom] == at and atom not in kept} for at, atoms in enumerate(read)]
        lines = [self._line(*each) for each in zip(range(len(dead)), jaxpr.eqns, dead, strict=True)]
        results = "".join([f"{self._name(atom)}, " for atom in jaxpr.outvars])
        return "\n    ".join([head, *lines, f"return ({results})"]) + "\n"

    def _line(self, at: int, equation: JaxprEqn, dead: set[Var]) -> str:
        primitive = equation.primitive
        inputs, outputs = [tuple([atom.aval for atom in atoms]) for atoms in (equation.invars, equation.outvars)]
        function = f"{primitive.name if primitive.name.isidentifier() else 'call'}_{at}"
        self._namespace[function] = lowered(primitive, inputs, outputs, equation.params, self.device)
        call = f"{function}({', '.join([self._name(atom) for atom in equation.invars])})"
        targets = ["_" if type(var) is DropVar else self._name(var) for var in equation.outvars]
        comma = "," if primitive.multiple_results else ""
        assigned = f"{', '.join(targets)}{comma} = {call}" if targets else call
        return assigned + (f"; del {', '.join(sorted([self._names[var] for var in dead]))}" if dead else "")

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        try:
            found: tuple[Tensor, ...] = self.function(*tensors)
            return found
        except (NotImplementedError, RuntimeError) as error:
            whole = error.__traceback__
            frame = whole and whole.tb_next  # that of the text, whose first line is the head of the function
            if frame is None or frame.tb_frame.f_code is not self._code:
                raise
            raise_named(error, self.equations[frame.tb_lineno - 2].primitive)


# --- rules ---------------------------------------------------------------------------------------------------------


def from_decomposition(primitive: Primitive) -> Rule:
    """The rule of a primitive that has none: its decomposition, as a program."""

    def rule(call: Call, **params: object) -> Operation | Operations:
        with DerivedRule(primitive, KIND):
            program = Program(decomposition_jaxpr(primitive, call.inputs, params), call.device)
        return program if primitive.multiple_results else lambda *tensors: program(*tensors)[0]

    return rule


kind = RuleKind(
    KIND,
    api=1,
    signature="(call, **params) -> function from tensors to a tensor, or to a tuple of tensors",
    doc="computes a primitive with PyTorch",
    derive=from_decomposition,
)


def rules(
    family: str, table: Mapping[str, Rule] | None = None, lacks: Mapping[str, Iterable[str]] | None = None
) -> RuleSet[Rule]:
    """The rule set of a family, from names of primitives to rules; and, by reason, names of those that have none.

    It is empty where the family is not installed: its entry sleeps then, and others of the same module must not break.
    """
    lower = RuleSet(KIND, api=1)
    if family not in families():
        return lower
    lower.table({find_primitive(f"{family}.{name}"): rule for name, rule in (table or {}).items()})
    for reason, names in (lacks or {}).items():
        lower.not_applicable(reason, *[find_primitive(f"{family}.{name}") for name in names])
    return lower


def same(function: Operation | Operations) -> Rule:
    """The rule of a primitive that one function of tensors computes, whatever the types."""
    return lambda call, **_: function


# --- Programs within programs, loops and conditions, the host's functions, random bits, and what moves nothing ---


UINT32 = dtypes.as_dtype("uint32")
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of Threefry with 2 words (Salmon and others, SC 2011, table 2)
PARITY = 0x1BD11BDA


def jit(call: Call, *, jaxpr: ClosedJaxpr, name: str) -> Program:
    return Program(jaxpr, call.device)


def cond(call: Call, *, branches: tuple[ClosedJaxpr, ...]) -> Operations:
    functions, last = [Program(branch, call.device) for branch in branches], len(branches) - 1

    def function(index: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
        position = int(index)
        return functions[position if 0 <= position < last else last](*operands)

    return function


def platform_dependent(call: Call, *, branches: tuple[ClosedJaxpr, ...], platforms: tuple[str | None, ...]) -> Program:
    kind = call.device.type
    names = ("torch", kind, "gpu" if kind == "cuda" else kind, None)
    for branch, platform in zip(branches, platforms, strict=True):
        if platform in names:
            return Program(branch, call.device)
    raise call.lacks(f"there is no branch for it among those for {', '.join(map(repr, platforms))}")


def while_(
    call: Call, *, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> Operations:
    condition, body = Program(cond_jaxpr, call.device), Program(body_jaxpr, call.device)
    both = cond_nconsts + body_nconsts

    def function(*operands: Tensor) -> tuple[Tensor, ...]:
        first, second, carry = operands[:cond_nconsts], operands[cond_nconsts:both], operands[both:]
        while condition(*first, *carry)[0]:
            carry = body(*second, *carry)
        return tuple(carry)

    return function


def scan(
    call: Call, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool, unroll: int | bool
) -> Operations:
    body, both = Program(jaxpr, call.device), num_consts + num_carry
    device, stacked = call.device, [stored(aval) for aval in call.outputs[num_carry:]]

    def function(*operands: Tensor) -> tuple[Tensor, ...]:
        consts, carry, xs = operands[:num_consts], operands[num_consts:both], operands[both:]
        rows = []
        for at in reversed(range(length)) if reverse else range(length):
            outs = body(*consts, *carry, *[x[at] for x in xs])
            carry = outs[:num_carry]
            rows.append(outs[num_carry:])
        if not rows:
            empty = [torch.zeros(kind.shape, dtype=torch_dtype(kind.dtype), device=device) for kind in stacked]
            return (*carry, *empty)
        if reverse:
            rows.reverse()
        return (*carry, *[torch.stack(row) for row in zip(*rows, strict=True)])

    return function


def on_host(call: Call, **params: object) -> Operations:
    """The host's function is called by the primitive itself, as outside of programs."""

    def function(*tensors: Tensor) -> tuple[Tensor, ...]:
        arrays = [TorchArray(aval, tensor) for aval, tensor in zip(call.inputs, tensors, strict=True)]
        outs = evaluate(call.primitive, tuple(arrays), params)
        return tuple([out.tensor.to(call.device) for out in outs])

    return function


def inspect_sharding(call: Call, *, callback: Callable[[Sharding], object]) -> Operations:
    """The host's function is given where tensors are: all of a program is on one device."""

    def function(tensor: Tensor) -> tuple[()]:
        callback(TorchArray(call.inputs[0], tensor).sharding)
        return ()

    return function


# --- random bits ---------------------------------------------------------------------------------------------------


def threefry(call: Call) -> Operations:
    """Threefry-2x32 with 20 rounds, on words that are held as signed integers."""
    shape = call.shape

    def function(key1: Tensor, key2: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        keys = (key1, key2, key1 ^ key2 ^ PARITY)
        x, y = (x + key1).expand(shape), (y + key2).expand(shape)
        for turn in range(5):
            for bits in ROTATIONS[turn % 2]:
                x = x + y
                y = (y << bits) | shifted_right(y, 32 - bits, UINT32)
                y = x ^ y
            x = x + keys[(turn + 1) % 3]
            y = y + keys[(turn + 2) % 3] + (turn + 1)
        return x, y

    return function


unchanged = same(lambda x: x)
jits = rules("jit", {"jit": jit})
loops = rules("control_flow", {"cond": cond, "platform_dependent": platform_dependent, "while": while_, "scan": scan})
callbacks = rules(
    "callbacks", dict.fromkeys(("pure_callback", "io_callback", "debug_callback", "debug_print"), on_host)
)
random = rules(
    "random", {"threefry2x32": threefry, "random_wrap": lambda call, impl: lambda x: x, "random_unwrap": unchanged}
)
placement = rules("placement", {"device_put": unchanged})
exporting = rules("exporting", lacks={"an exported program is one for XLA": ("call_exported", "push_forward")})
foreign = rules("foreign", lacks={"foreign functions are called by XLA and NumPy": ("ffi_call",)})
sharding = rules(
    "sharding",
    {"sharding_constraint": unchanged, "auto_axes": unchanged, "inspect_sharding": inspect_sharding},
)
references = rules(
    "references",
    lacks={"references are turned into values when a function is called": ("ref_get", "ref_swap", "ref_addupdate")},
)
