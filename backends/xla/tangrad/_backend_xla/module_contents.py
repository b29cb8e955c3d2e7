"""What a module from a file consists of, and whether its functions can be compiled at all.

XLA expects modules from compilers, not from untrusted files: a function that calls itself, one that is named and not
there, or loops within loops beyond a few hundred end the process. So that is looked at before XLA gets them. What may
be called is for those to judge who read files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tangrad._backend_xla.mlir import ir

if TYPE_CHECKING:
    from tangrad._backend_xla.mlir import IrModule, IrOperation


ENTRY = "main"
DEEPEST_CALLS = 500  # functions that call functions
DEEPEST_REGIONS = 100  # loops and branches within each other, also by way of calls
MESH = "sdy.mesh"  # beside functions


class Contents(NamedTuple):
    """The names of a module's operations, wherever in it, and the targets of its custom calls."""

    operations: frozenset[str]
    targets: frozenset[str]


def contents(module: IrModule) -> Contents:
    """What a module consists of."""
    operations, targets = set(), set()
    for operation, _ in all_operations(module.operation):
        operations.add(operation.name)
        target = call_target(operation)
        if target is not None:
            targets.add(target)
    return Contents(frozenset(operations), frozenset(targets))


def call_target(operation: IrOperation) -> str | None:
    """The target of a custom call; None of other operations."""
    if operation.name != "stablehlo.custom_call":
        return None
    name = ir.StringAttr(operation.attributes["call_target_name"])
    return str(name.value_bytes.decode("utf-8", "backslashreplace"))


def check_functions(module: IrModule) -> None:
    """Raise ValueError unless the functions of a module are there, end, and are not nested too deep."""
    functions = {}
    for function in [operation.operation for operation in module.body.operations]:
        if function.name == MESH:
            continue
        if function.name != "func.func":
            raise ValueError(f"a module has functions, and {function.name} beside them")
        name = ir.StringAttr(function.attributes["sym_name"]).value
        if not len(function.regions[0].blocks):
            raise ValueError(f"the module's function {name!r} is declared, and not there")
        functions[name] = _Function(function)
    if ENTRY not in functions:
        raise ValueError(f"the module has no function {ENTRY!r}; it has {', '.join(map(repr, functions)) or 'none'}")
    _check_depth(functions)


class _Function:
    """How deep a function's regions are nested, and which functions it calls, each with the deepest place of a call."""

    def __init__(self, function: IrOperation) -> None:
        self.regions = 0
        self.calls: dict[str, int] = {}
        for operation, depth in all_operations(function):
            self.regions = max(self.regions, depth - 1)  # its own body is the first
            for called in _named_functions(operation):
                self.calls[called] = max(self.calls.get(called, 0), depth - 1)


def _check_depth(functions: dict[str, _Function]) -> None:
    """Raise ValueError for functions that call themselves, by way of others or not, and for what is nested too deep."""
    callers: dict[str, list[str]] = {name: [] for name in functions}
    for name, function in functions.items():
        for called in function.calls.keys() & functions.keys():
            callers[called].append(name)
    waiting = {name: len(one.calls.keys() & functions.keys()) for name, one in functions.items()}
    calls, regions = dict.fromkeys(functions, 0), {name: one.regions for name, one in functions.items()}
    done = [name for name, count in waiting.items() if not count]
    for name in done:  # which grows: each function after all that it calls
        for caller in callers[name]:
            calls[caller] = max(calls[caller], calls[name] + 1)
            regions[caller] = max(regions[caller], functions[caller].calls[name] + regions[name])
            waiting[caller] -= 1
            if not waiting[caller]:
                done.append(caller)
    if len(done) < len(functions):
        raise ValueError(f"the module's functions call themselves: {', '.join(sorted(functions.keys() - set(done)))}")
    for found, most, what in ((calls, DEEPEST_CALLS, "functions"), (regions, DEEPEST_REGIONS, "loops and branches")):
        if max(found.values()) > most:
            raise ValueError(f"the module's {what} are nested {max(found.values())} deep; at most {most} are taken")


def _named_functions(operation: IrOperation) -> Iterator[str]:
    attributes = operation.attributes
    for name in attributes:
        try:
            attribute = attributes[getattr(name, "name", name)]
        except TypeError:  # the bindings have no class for constants of some types
            continue
        yield from _symbols(attribute)


def _symbols(attribute: object) -> Iterator[str]:
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        yield attribute.value
    elif isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from _symbols(item)


def all_operations(top: IrOperation) -> Iterator[tuple[IrOperation, int]]:
    """An operation and all within it, each with the number of regions around it."""
    waiting = [(top, 0)]
    while waiting:
        operation, depth = waiting.pop()
        yield operation, depth
        for region in operation.regions:
            for block in region.blocks:
                waiting += [(inner.operation, depth + 1) for inner in block.operations]


# Of StableHLO's modules: what holds operations, and ends them.
_AROUND = frozenset({"builtin.module", "func.func", "func.return", "stablehlo.return", "sdy.mesh"})
# HLO's text has an instruction a line: `ROOT name = type opcode(...)`.
_INSTRUCTION = re.compile(r"^ +(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)


def operation_count(module: IrModule) -> int:
    """The operations of a StableHLO module, those of its functions and loops included."""
    return sum([operation.name not in _AROUND for operation, _ in all_operations(module.operation)])


def instruction_count(text: str) -> int:
    """The instructions of a program in HLO's text, those within fusions included."""
    return len(_INSTRUCTION.findall(text))
