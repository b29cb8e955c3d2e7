"""How a check is checked: its error is noted, where failures of its class are looked for; else it stays a check
that need not be taken."""

from __future__ import annotations

from typing import Any

from tangrad._checkify.primitives import check_p
from tangrad._checkify.state import Checks, Layout, only
from tangrad.core import RuleSet

checkify = RuleSet("checkify", api=1)


@checkify.rule(check_p)
def _(args: Any, *, checks: Checks, layout: Layout, debug: bool) -> Any:
    wanted = [type(failure) in checks.enabled for failure in layout.failures]
    code, *payloads = args
    if any(wanted):
        checks.add(layout, [only(wanted, code), *payloads])
    if not all(wanted):  # a function that is checked around this one may look for it
        check_p.bind(only([not one for one in wanted], code), *payloads, layout=layout, debug=True)
    return ()
