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
    decomposition_jaxpr,
    find_primitive,
    rule_table,
)
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
    return rule_table(KIND)[primitive](call, **params)


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
    """A function of tensors that returns a tuple of them.

    Attributes:
        text: what runs.
    """

    def __init__(self, closed, device):
        jaxpr = closed.jaxpr
        self.equations = jaxpr.eqns
        namespace, names = {}, {}

        def name_of(atom):
            if type(atom) is Literal:  # they have no equality that a dictionary could use
                name = f"c{len(namespace)}"
                namespace[name] = constant(atom, device)
                return name
            return names.setdefault(atom, f"v{len(names)}")

        for var, value in zip(jaxpr.constvars, closed.consts, strict=True):
            namespace[name_of(var)] = backend.own(value).tensor.to(device)
        arguments = [name_of(var) for var in jaxpr.invars]
        last = {atom: at for at, eqn in enumerate(jaxpr.eqns) for atom in eqn.invars if type(atom) is not Literal}
        kept = {atom for atom in jaxpr.outvars if type(atom) is not Literal} | set(jaxpr.constvars) | set(jaxpr.invars)
        lines = [f"def program({', '.join(arguments)}):"]
        for at, eqn in enumerate(jaxpr.eqns):
            word = eqn.primitive.name if eqn.primitive.name.isidentifier() else "call"
            function = f"{word}_{at}"
            outputs = tuple([var.aval for var in eqn.outvars])
            inputs = tuple([atom.aval for atom in eqn.invars])
            namespace[function] = lowered(eqn.primitive, inputs, outputs, eqn.params, device)
            call = f"{function}({', '.join([name_of(atom) for atom in eqn.invars])})"
            targets = ["_" if type(var) is DropVar else name_of(var) for var in eqn.outvars]
            dead = {names[atom] for atom in eqn.invars if last.get(atom) == at and atom not in kept}
            several = eqn.primitive.multiple_results
            target = f"{', '.join(targets)}{',' if several else ''} = " if targets else ""
            lines.append(f"    {target}{call}" + (f"; del {', '.join(sorted(dead))}" if dead else ""))
        results = "".join([f"{name_of(atom)}, " for atom in jaxpr.outvars])
        lines.append(f"    return ({results})")
        self.text = "\n".join(lines) + "\n"
        exec(compile(self.text, f"<tangrad-torch program {next(_numbers)}>", "exec"), namespace)
        self.function = namespace["program"]

    def __call__(self, *tensors):
        try:
            return self.function(*tensors)
        except (NotImplementedError, RuntimeError) as error:
            frame = error.__traceback__.tb_next  # that of the text, whose first line is the head of the function
            if frame is None or frame.tb_frame.f_code is not self.function.__code__:
                raise
            raise_named(error, self.equations[frame.tb_lineno - 2].primitive)


def compiled(closed, device):
    """A closed jaxpr as a function of tensors on a device."""
    return Program(closed, device)


# --- rules ---------------------------------------------------------------------------------------------------------


def from_decomposition(primitive):
    """The rule of a primitive that has none: its decomposition, as a program."""

    def rule(call, **params):
        with DerivedRule(primitive, KIND):
            program = compiled(decomposition_jaxpr(primitive, call.inputs, params), call.device)
        return program if primitive.multiple_results else lambda *tensors: program(*tensors)[0]

    return rule


kind = RuleKind(
    KIND,
    api=1,
    signature="(call, **params) -> function from tensors to a tensor, or to a tuple of tensors",
    doc="computes a primitive with PyTorch",
    derive=from_decomposition,
)


def rules(family, table):
    """The rule set of a family, from names of primitives to rules."""
    lower = RuleSet(KIND, api=1)
    lower.table({find_primitive(f"{family}.{name}"): rule for name, rule in table.items()})
    return lower


def same(function):
    """The rule of a primitive that one function of tensors computes, whatever the types."""
    return lambda call, **_: function
