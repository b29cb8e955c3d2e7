"""The rules of references themselves: what is done to the value in the cell, and why there are no others."""

from __future__ import annotations

from typing import Any

from tangrad._references.indexing import added, from_template, written
from tangrad._references.primitives import addupdate_p, get_p, swap_p
from tangrad.core import RuleSet

ALL = (get_p, swap_p, addupdate_p)

discharge = RuleSet("discharge", api=1)


@discharge.rule(get_p)
def _(args: Any, own: Any, *, indexers: Any) -> Any:
    ref, *indices = args
    return ref.part(from_template(indexers, indices))


@discharge.rule(swap_p)
def _swap(args: Any, own: Any, *, indexers: Any) -> Any:
    ref, *indices, value = args
    chain = from_template(indexers, indices)
    before = ref.part(chain)
    ref.value = written(ref.value, chain, value)
    return before


@discharge.rule(addupdate_p)
def _add(args: Any, own: Any, *, indexers: Any) -> Any:
    ref, *indices, value = args
    ref.value = added(ref.value, from_template(indexers, indices), value)
    return ()


_VALUES = (
    "references are turned into values when a function is called; for arrays alone it can be lowered ahead of that"
)

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("a reference holds values, of which no derivative is known", *ALL)

mask = RuleSet("mask", api=1)
mask.not_applicable("what is written beyond the used part of an array would stay", *ALL)

checkify = RuleSet("checkify", api=1)
checkify.form("handed on", *ALL)

lower_numpy = RuleSet("lower.numpy", api=1)
lower_numpy.not_applicable(_VALUES, *ALL)

lower_xla = RuleSet("lower.xla", api=1)
lower_xla.not_applicable(_VALUES, *ALL)
