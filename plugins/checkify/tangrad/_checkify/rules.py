"""The rules of a check: it sees primals and whole batches, and gives nothing back."""

from __future__ import annotations

from tangrad._checkify.functions import check_p
from tangrad._checkify.state import Checks, Layout, only
from tangrad.core import Array, RuleSet

jvp = RuleSet("jvp", api=1)
jvp.form("primals", check_p)

batch = RuleSet("batch", api=1)
batch.form("front", check_p)

mask = RuleSet("mask", api=1)
mask.not_applicable("the values in its message may be padded, and cannot be cut when it is made", check_p)

transpose = RuleSet("transpose", api=1)


@transpose.rule(check_p)
def _(cotangents: object, *args: object, **params: object) -> tuple[None, ...]:
    return (None,) * len(args)


checkify = RuleSet("checkify", api=1)


@checkify.rule(check_p)
def _(args: tuple[Array, ...], *, checks: Checks, layout: Layout, debug: bool) -> tuple[()]:
    """Its error is noted, where failures of its class are looked for; else it stays a check that need not be taken."""
    wanted = [type(failure) in checks.enabled for failure in layout.failures]
    code, *payloads = args
    if any(wanted):
        checks.add(layout, [only(wanted, code), *payloads])
    if not all(wanted):  # a function that is checked around this one may look for it
        check_p.bind(only([not one for one in wanted], code), *payloads, layout=layout, debug=True)
    return ()
