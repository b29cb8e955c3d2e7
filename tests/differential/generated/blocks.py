"""Programs as data: blocks of steps over typed values, so that they can be run by any api, printed and shrunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

FLOAT, COMPLEX, INT, BOOL = "float", "complex", "int", "bool"


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value: its kind, which a program's precision makes a dtype of, and its shape."""

    kind: str
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}{list(self.shape) if self.shape else ''}"


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its name, the numbers of its operands, what it gives, its options, and functions that it takes."""

    name: str
    args: tuple[int, ...]
    outs: tuple[Type, ...]
    options: dict[str, Any] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A function. Its values are numbered: captured ones first, parameters, then the results of its steps.

    `captured` are numbers of values of the block around it.
    """

    params: tuple[Type, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    captured: tuple[int, ...] = ()
    captured_types: tuple[Type, ...] = ()

    def types(self) -> list[Type]:
        """The types of all values by number."""
        found = [*self.captured_types, *self.params]
        for step in self.steps:
            found.extend(step.outs)
        return found

    def out_types(self) -> tuple[Type, ...]:
        types = self.types()
        return tuple(types[number] for number in self.results)

    def size(self) -> int:
        """How many steps there are, those of functions within included."""
        return sum(1 + sum(block.size() for block in step.blocks) for step in self.steps)

    def has(self, *names: str) -> bool:
        """Whether a step of one of these names is anywhere within."""
        return any(step.name in names or any(b.has(*names) for b in step.blocks) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Sample:
    """A program to be run: its function, the transformations around it, its precision and the seed of its arguments."""

    seed: int
    block: Block
    double: bool


def without_dead_steps(block: Block) -> Block:
    """The block without steps, captured values and functions' captures that no result needs."""
    first = len(block.captured) + len(block.params)
    starts, number = [], first
    for step in block.steps:
        starts.append(number)
        number += len(step.outs)
    needed = set(block.results)
    kept: list[tuple[int, Step]] = []
    for start, step in reversed(list(zip(starts, block.steps))):
        if needed & set(range(start, start + len(step.outs))):
            inner = tuple(without_dead_steps(b) for b in step.blocks)
            step = replace(step, blocks=inner)
            needed.update(step.args)
            for b in inner:
                needed.update(b.captured)
            kept.append((start, step))
    captured = [position for position in range(len(block.captured)) if position in needed]
    mapping = {position: new for new, position in enumerate(captured)}
    for position in range(len(block.captured), first):
        mapping[position] = len(mapping)
    steps = []
    for start, step in reversed(kept):
        steps.append(renumbered(step, mapping))
        for offset in range(len(step.outs)):
            mapping[start + offset] = len(mapping)
    return Block(
        block.params,
        tuple(steps),
        tuple(mapping[result] for result in block.results),
        tuple(block.captured[position] for position in captured),
        tuple(block.captured_types[position] for position in captured),
    )


def renumbered(step: Step, mapping: dict[int, int]) -> Step:
    """The step in a block whose values have other numbers."""
    blocks = tuple(replace(b, captured=tuple(mapping[number] for number in b.captured)) for b in step.blocks)
    return replace(step, args=tuple(mapping[number] for number in step.args), blocks=blocks)


def lines(block: Block, name: str = "program", indent: str = "", around: tuple[str, ...] = ()) -> Iterator[str]:
    """The block as text that reads like Python."""
    names = [around[number] for number in block.captured]
    depth = len(indent) // 4
    params = [f"{'xyzuvw'[depth % 6]}{position}" for position in range(len(block.params))]
    typed = ", ".join(f"{param}: {type_}" for param, type_ in zip(params, block.params))
    yield f"{indent}def {name}({typed}):"
    names += params
    for number, step in enumerate(block.steps):
        functions = []
        for position, inner in enumerate(step.blocks):
            function = f"{'fgh'[position % 3]}{depth}_{number}"
            functions.append(function)
            yield from lines(inner, function, indent + "    ", tuple(names))
        outs = [f"{'abcdef'[depth % 6]}{number}_{k}" for k in range(len(step.outs))]
        options = [f"{key}={value!r}" for key, value in step.options.items()]
        arguments = ", ".join([*functions, *[names[arg] for arg in step.args], *options])
        yield f"{indent}    {', '.join(outs)} = {step.name}({arguments})  # {', '.join(map(str, step.outs))}"
        names += outs
    yield f"{indent}    return {', '.join(names[result] for result in block.results)}"
