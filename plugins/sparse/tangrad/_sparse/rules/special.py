"""Special functions of sparse arrays: those that are 0 at 0."""

from __future__ import annotations

from typing import Any

from tangrad._sparse.rule_helpers import of_each_element
from tangrad.core import RuleSet
from tangrad.extend.lax import bessel_i0e_p, bessel_i1e_p, digamma_p, erf_inv_p, erf_p, erfc_p, lgamma_p

sparse: RuleSet[Any] = RuleSet("sparse", api=1)

of_each_element(sparse, erf_p, erf_inv_p, bessel_i1e_p)
sparse.not_applicable(
    "it is not 0 where its operand is: apply it to `sparse.todense(x)`", erfc_p, lgamma_p, digamma_p, bessel_i0e_p
)
