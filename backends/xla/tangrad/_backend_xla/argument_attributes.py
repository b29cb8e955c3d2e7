"""What is said of the arguments and results of an entry: whose memory is donated, how they are sharded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad._backend_xla.mesh_words import Meshes
from tangrad._backend_xla.mlir import ir
from tangrad._backend_xla.vocabulary import Vocabulary
from tangrad.core import Jaxpr

# For each argument, and for each result, the number of parts along each dimension, or None for the whole.
Parts = tuple[Sequence[Any], Sequence[Any]]


def donation_attributes(words: Vocabulary, jaxpr: Jaxpr, donated: Sequence[bool]) -> dict[str, Any]:
    """Which argument's memory each result takes over: the first free one of a donated argument of equal type.

    For the others, of the size of a result of another type, the compiler finds it.
    """
    aliases = donation_aliases(jaxpr, donated)
    found: list[dict[str, Any]] = [{"jax.buffer_donor": words.true} if give else {} for give in donated]
    for position, result in aliases.items():
        found[position] = {"tf.aliasing_output": words.integer32(result)}
    return {"arg_attrs": ir.ArrayAttr.get([ir.DictAttr.get(one, words.context) for one in found], words.context)}


def sharding_attributes(meshes: Meshes, words: Vocabulary, jaxpr: Jaxpr, donated: Sequence[bool]) -> dict[str, Any]:
    """How arguments and results are sharded, and which arguments may be written over: the compiler finds by what."""
    layout = meshes.layout
    arguments, results = [], []
    for position, (var, sharding) in enumerate(zip(jaxpr.invars, layout.inputs, strict=True)):
        found = {"sdy.sharding": meshes.attribute(sharding, physical_aval(var.aval).ndim)}
        if donated and donated[position]:
            found["jax.buffer_donor"] = words.true
        arguments.append(ir.DictAttr.get(found, words.context))
    for atom, sharding in zip(jaxpr.outvars, layout.outputs or (None,) * len(jaxpr.outvars), strict=True):
        stated = {} if sharding is None else {"sdy.sharding": meshes.attribute(sharding, physical_aval(atom.aval).ndim)}
        results.append(ir.DictAttr.get(stated, words.context))
    return {
        "arg_attrs": ir.ArrayAttr.get(arguments, words.context),
        "res_attrs": ir.ArrayAttr.get(results, words.context),
    }


def part_attributes(words: Vocabulary, parts: Parts, donated: Sequence[bool]) -> dict[str, Any]:
    """The same by numbers of parts, in XLA's own notation: the partitions take the parts in row-major order."""
    found: dict[str, Any] = {}
    for name, tilings in zip(("arg_attrs", "res_attrs"), parts, strict=True):
        each = [{"mhlo.sharding": words.string(_tiling_text(tiling))} for tiling in tilings]
        if name == "arg_attrs":
            for attributes, give in zip(each, donated, strict=False):
                if give:
                    attributes["jax.buffer_donor"] = words.true
        found[name] = ir.ArrayAttr.get([ir.DictAttr.get(one, words.context) for one in each], words.context)
    return found


def part_count(parts: Parts) -> int:
    """The number of partitions that values are cut into; 0 where none is."""
    counts = [int(np.prod(tiling)) for tilings in parts for tiling in tilings if tiling is not None]
    return max(counts, default=0)


def _tiling_text(tiling: Sequence[int] | None) -> str:
    if tiling is None:
        return "{replicated}"
    devices = ",".join(map(str, range(int(np.prod(tiling)))))
    return f"{{devices=[{','.join(map(str, tiling))}]{devices}}}"


def donation_aliases(jaxpr: Jaxpr, donated: Sequence[bool]) -> dict[int, int]:
    """Donated argument -> the result that is written over it."""
    free: dict[Any, list[int]] = {}
    for position, (var, give) in enumerate(zip(jaxpr.invars, donated, strict=True)):
        if give:
            free.setdefault((var.aval.shape, var.aval.dtype), []).append(position)
    aliases = {}
    for result, atom in enumerate(jaxpr.outvars):
        candidates = free.get((atom.aval.shape, atom.aval.dtype))
        if candidates:
            aliases[candidates.pop(0)] = result
    return aliases
