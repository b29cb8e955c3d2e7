"""Mutants of lowerings: the conformance kit must catch each at the edge where it is wrong, and blame the lowering."""

import pytest

from tangrad.conformance import check, find_samples
from tangrad.core import RuleSet, find_primitive, register, rule_table
from tangrad.core.tools import rule_kinds
from tests.primitives.mutated_lowerings_xla import MUTANTS

CHECKS = ["abstract", "backends", "jit", "decomposition", "edges"]
QUICK = [f"elementwise.{name}" for name in ("neg", "expm1", "mul", "div")] + ["sorting.sort", "indexing.gather"]


def caught(kind, name, mutate, checks=CHECKS):
    """What fails with the mutant in the place of the rule."""
    primitive = find_primitive(name)
    mutant = RuleSet(kind, api=1, override=True)
    mutant.add(primitive, mutate(rule_table(kind).cell(primitive).rule))
    with register(mutant):
        return check(primitive, find_samples([primitive.family])[primitive], checks).failures


def assert_blamed(kind, failures):
    """Every failure names the lowering as a place to look, and no rule of a transformation."""
    assert failures
    others = [other for other in rule_kinds() if not other.startswith("lower.")]
    for cell in failures:
        about = cell.check, cell.subject, cell.problem, cell.place
        named = [part.partition(":")[0] for part in cell.place.split("; ")]
        assert kind in named or "mutated_lowerings" in cell.place, (
            cell.check,
            cell.subject,
            cell.problem,
            cell.place,
        )
        assert not {*named} & {*others, "abstract_eval"}, about


@pytest.mark.parametrize(
    ("kind", "name", "what", "mutate"),
    [pytest.param(*m, id="-".join(m[:3]), marks=() if m[1] in QUICK else pytest.mark.sweep) for m in MUTANTS],
)
def test_a_wrong_lowering_is_caught_and_blamed(kind, name, what, mutate):
    assert_blamed(kind, caught(kind, name, mutate))
