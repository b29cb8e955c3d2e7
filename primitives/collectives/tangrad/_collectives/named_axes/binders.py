"""Programs whose carrier binds axis names itself: its names shadow those outside, and must not catch new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._collectives.named_axes.names import Substitution, as_substitution, used_axis_names
from tangrad._collectives.named_axes.substitution import subst_axis_names


def subst_under_binder(jaxpr: Any, subst: Any, bound: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """Substitute axis names in a program for which the equation that carries it binds names, for `axis_subst` rules.

    Inside, a bound name is another axis than the one outside of the same name: it stays. Where a name that comes in
    would be taken for a bound one, the bound one gets an unused name.

    Args:
        jaxpr: the program.
        subst: what the rule was given.
        bound: the names that the equation binds.

    Returns:
        the program, and the names that the equation must bind now.
    """
    outer = as_substitution(subst)
    used = used_axis_names(jaxpr)
    incoming = {new for name in used if name not in bound for new in outer(name)}
    renamed: dict[Any, Any] = {}
    for name in bound:
        taken = {*used, *incoming, *bound, *renamed.values()}
        renamed[name] = _fresh(name, taken) if name in incoming else name
    inner = Substitution(lambda name: (renamed[name],) if name in renamed else outer(name), outer.sizes)
    return subst_axis_names(jaxpr, inner), tuple([renamed[name] for name in bound])


def _fresh(name: Any, taken: set[Any]) -> Any:
    """A name like this one that is not taken."""
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
