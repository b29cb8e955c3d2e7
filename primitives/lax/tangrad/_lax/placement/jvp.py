"""Tangents move along."""

from __future__ import annotations

from tangrad._lax.placement.primitives import device_put_p
from tangrad.autodiff import linear_jvp
from tangrad.core import RuleSet

jvp = RuleSet("jvp", api=1)
linear_jvp(jvp, device_put_p)
