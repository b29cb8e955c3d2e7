"""The smallest program that still shows a difference: steps, results and wrappers are taken out as long as it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .blocks import Block, Sample, Step, without_dead_steps

PLAIN_CALLS = ("jit", "checkpoint", "custom_jvp", "custom_vjp")


def shrunk(sample: Sample, differs: Callable[[Sample], bool], tries: int = 400) -> Sample:
    """A smaller program for which `differs` holds too; `tries`: how many may be run for it."""
    best = replace(sample, block=without_dead_steps(sample.block))
    if not differs(best):
        return sample
    going = True
    while going:
        going = False
        for block in smaller(best.block):
            candidate = replace(best, block=without_dead_steps(block))
            if candidate.block.size() > best.block.size() or candidate.block == best.block:
                continue
            tries -= 1
            if tries < 0:
                return best
            if differs(candidate):
                best, going = candidate, True
                break
    return best


def smaller(block: Block) -> Iterator[Block]:
    """Blocks with one thing less."""
    if len(block.results) > 1:
        for result in block.results:
            yield replace(block, results=(result,))
    yield from smaller_steps(block)


def smaller_steps(block: Block) -> Iterator[Block]:
    """Blocks of the same type with one step less, or a simpler one."""
    types = block.types()
    first = len(block.captured) + len(block.params)
    number = first
    for position, step in enumerate(block.steps):
        for k, out in enumerate(step.outs if step.name != "constant" else ()):
            for earlier in [n for n in range(number) if types[n] == out][-3:]:
                yield substituted(block, number + k, earlier)
        if len(step.outs) == 1 and step.name != "constant":
            yield with_step(block, position, Step("constant", (), step.outs))
        if step.name in PLAIN_CALLS:
            yield with_step(block, position, replace(step, name="call", options={}))
        for k, inner in enumerate(step.blocks):
            for less in smaller_steps(inner):
                blocks = (*step.blocks[:k], less, *step.blocks[k + 1 :])
                yield with_step(block, position, replace(step, blocks=blocks))
        number += len(step.outs)


def with_step(block: Block, position: int, step: Step) -> Block:
    """The block with another step in a place."""
    return replace(block, steps=(*block.steps[:position], step, *block.steps[position + 1 :]))


def substituted(block: Block, number: int, other: int) -> Block:
    """The block in which another value is read in place of a value."""
    read = lambda n: other if n == number else n
    steps = tuple(
        replace(
            step,
            args=tuple(read(n) for n in step.args),
            blocks=tuple(replace(b, captured=tuple(read(n) for n in b.captured)) for b in step.blocks),
        )
        for step in block.steps
    )
    return replace(block, steps=steps, results=tuple(read(n) for n in block.results))
