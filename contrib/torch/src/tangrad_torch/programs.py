"""How programs are compiled: to the text of a Python function that calls torch, a line for each equation.

A rule is asked once for each equation, and answers with a function of tensors. Memory is freed as soon as the last
reader of a value is done.
"""

from itertools import count
from typing import Any, NamedTuple

from tangrad.core import (
    DerivedRule,
    DropVar,
    Literal,
    RuleKind,
    RuleSet,
    calls_rules,
    decomposition_jaxpr,
    find_primitive,
    rule_table,
)
from tangrad.core.tools import families
from tangrad.errors import MissingRuleError
from tangrad_torch.backend import backend
from tangrad_torch.tensors import KIND, constant, stored, torch_dtype

_numbers = count()


class Call(NamedTuple):
    """What a rule is asked about.

    Attributes:
        primitive: what is to be computed.
        inputs, outputs: the types of its operands and results.
        device: torch's name of the device that it runs on.
    """

    primitive: Any
    inputs: tuple
    outputs: tuple
    device: Any

    @property
    def dtype(self):
        """What the elements of the first result are held as."""
        return torch_dtype(stored(self.outputs[0]).dtype)

    @property
    def shape(self):
        """The shape of the first result, as it is held."""
        return stored(self.outputs[0]).shape

    def lacks(self, what):
        """The error for what torch, or this backend, does not have."""
        return _missing(self.primitive, what)


def _missing(primitive, why):
    message = f"{primitive.identity!r} is not there on the backend 'torch': {why}"
    return MissingRuleError(message, primitive.identity, KIND)


def lowered(primitive, inputs, outputs, params, device):
    """The function of tensors that computes a primitive. Raises MissingRuleError where there is none."""
    call = Call(primitive, inputs, outputs, device)
    for aval in (*inputs, *outputs):
        try:
            torch_dtype(stored(aval).dtype)
        except MissingRuleError as error:
            raise call.lacks(str(error)) from None
    return _by_rule(primitive, call, params)


@calls_rules("lower.torch")
def _by_rule(primitive, call, params):
    function = rule_table(KIND)[primitive](call, **params)
    if not callable(function):
        raise TypeError(f"the {KIND} rule of {primitive.identity!r} returned {function!r}; expected a function")
    return function


def applied(primitive, inputs, params, device):
    """As `lowered`, for one that is applied by itself: the function, and the type or types of its results."""
    out = primitive.infer(inputs, params)
    function = lowered(primitive, inputs, out if primitive.multiple_results else (out,), params, device)

    def run(*tensors):
        try:
            return function(*tensors)
        except (NotImplementedError, RuntimeError) as error:
            raise_named(error, primitive)

    return run, out


def raise_named(error, primitive):
    """Raise what torch says it has not implemented as the error of the primitive that needs it; any other as it is."""
    text = str(error).partition("\n")[0]
    if isinstance(error, MissingRuleError) or not (isinstance(error, NotImplementedError) or "not implemented" in text):
        raise error
    raise _missing(primitive, f"torch says: {text}") from error


# --- programs ------------------------------------------------------------------------------------------------------


class Program:
    """A closed jaxpr as a function of tensors on a device, which returns a tuple of them.

    Attributes:
        text: what runs.
    """

    def __init__(self, closed, device):
        self.device, self.equations = device, closed.jaxpr.eqns
        self._namespace, self._names = {}, {}
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            self._namespace[self._name(var)] = backend.own(value).tensor.to(device)
        self.text = self._written(closed.jaxpr)
        exec(compile(self.text, f"<tangrad-torch program {next(_numbers)}>", "exec"), self._namespace)
        self.function = self._namespace["program"]

    def _name(self, atom):
        if type(atom) is not Literal:
            return self._names.setdefault(atom, f"v{len(self._names)}")
        name = f"c{len(self._namespace)}"  # each time another: literals have no equality that a dictionary could use
        self._namespace[name] = constant(atom, self.device)
        return name

    def _written(self, jaxpr):
        head = f"def program({', '.join([self._name(var) for var in jaxpr.invars])}):"
        read = [[atom for atom in equation.invars if type(atom) is not Literal] for equation in jaxpr.eqns]
        last = {atom: at for at, atoms in enumerate(read) for atom in atoms}
        kept = {*jaxpr.constvars, *jaxpr.invars, *[atom for atom in jaxpr.outvars if type(atom) is not Literal]}
        dead = [{atom for atom in atoms if last[atom] == at and atom not in kept} for at, atoms in enumerate(read)]
        lines = [self._line(*each) for each in zip(range(len(dead)), jaxpr.eqns, dead, strict=True)]
        results = "".join([f"{self._name(atom)}, " for atom in jaxpr.outvars])
        return "\n    ".join([head, *lines, f"return ({results})"]) + "\n"

    def _line(self, at, equation, dead):
        primitive = equation.primitive
        inputs, outputs = [tuple([atom.aval for atom in atoms]) for atoms in (equation.invars, equation.outvars)]
        function = f"{primitive.name if primitive.name.isidentifier() else 'call'}_{at}"
        self._namespace[function] = lowered(primitive, inputs, outputs, equation.params, self.device)
        call = f"{function}({', '.join([self._name(atom) for atom in equation.invars])})"
        targets = ["_" if type(var) is DropVar else self._name(var) for var in equation.outvars]
        comma = "," if primitive.multiple_results else ""
        assigned = f"{', '.join(targets)}{comma} = {call}" if targets else call
        return assigned + (f"; del {', '.join(sorted([self._names[var] for var in dead]))}" if dead else "")

    def __call__(self, *tensors):
        try:
            return self.function(*tensors)
        except (NotImplementedError, RuntimeError) as error:
            frame = error.__traceback__.tb_next  # that of the text, whose first line is the head of the function
            if frame is None or frame.tb_frame.f_code is not self.function.__code__:
                raise
            raise_named(error, self.equations[frame.tb_lineno - 2].primitive)


# --- rules ---------------------------------------------------------------------------------------------------------


def from_decomposition(primitive):
    """The rule of a primitive that has none: its decomposition, as a program."""

    def rule(call, **params):
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


def rules(family, table=None, lacks=None):
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


def same(function):
    """The rule of a primitive that one function of tensors computes, whatever the types."""
    return lambda call, **_: function
