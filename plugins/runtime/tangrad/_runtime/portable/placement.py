"""Where a value is to be: a saved program runs on one device, which was not known when it was written."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.extend.lax import device_put_p

portable = RuleSet("portable", api=1)
portable.table({device_put_p: lambda x, *, target: x})
