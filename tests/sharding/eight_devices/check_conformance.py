"""The conformance kit over sharding constraints and mapped calls on eight devices, and mutants of their rules.

On NumPy all checks, on XLA those that compile: the rules are the same on both.
"""

from functools import cache
from typing import Any

import pytest

from tangrad import enable_x64, lax
from tangrad._collectives.named_axes import subst_axis_names
from tangrad._sharding.samples import samples as of_constraints
from tangrad._sharding.shard_map.samples import samples as of_sharded_maps
from tangrad._xmap.samples import samples as of_mapped_programs
from tangrad.batching import AxisInfo
from tangrad.conformance import Sample, check
from tangrad.core import Primitive, RuleSet, find_primitive, register
from tests.primitives.test_mutants import original, tangent_out
from tests.primitives.test_mutants_named_axes import forgetful
from tests.primitives.test_mutants_programs import (
    everything_dropped,
    inputs_turned,
    last_dims,
    negated,
    other_known,
    other_primals,
    other_residuals,
    other_results,
    primals,
    results_of,
    results_turned,
    rows_reversed,
    tangents,
)
from tests.sharding.eight_devices.support import ON_XLA

MAKERS = {
    "shard_map.shard_map": of_sharded_maps,
    "xmapping.xmap": of_mapped_programs,
    "sharding.sharding_constraint": of_constraints,
    "sharding.auto_axes": of_constraints,
}
OWN = "xla" if ON_XLA else "numpy"
on_numpy = pytest.mark.skipif(ON_XLA, reason="rules are the same on all backends")


@cache
def samples_of(name: str) -> tuple[Sample, ...]:
    """Those on devices of the backend in use."""
    with enable_x64(True):
        made = MAKERS[name]()
    own = [sample for sample in made if sample.backends is None or OWN in sample.backends]
    return tuple([sample for sample in own if sample.primitive is find_primitive(name)])


@pytest.mark.parametrize("name", MAKERS)
def test_every_rule_is_right(name: str) -> None:
    checks = ["abstract", "jit"] if ON_XLA else None
    report = check(find_primitive(name), samples_of(name), checks, backends=[OWN])
    assert report.cells and not report.failures, report.text()


def test_samples_use_all_devices() -> None:
    for name, parameter in (("shard_map.shard_map", "mesh"), ("xmapping.xmap", "sharding")):
        found = [sample.params[parameter] for sample in samples_of(name) if sample.params[parameter] is not None]
        assert found and all([len(each.device_order) == 8 for each in found])


# --- mutants ----------------------------------------------------------------------------------------------------------


def capturing(rule: Any) -> Any:
    """Names that come in are taken for those that the call binds."""
    return lambda params, subst: {**params, "jaxpr": subst_axis_names(params["jaxpr"], subst)}


def nameless(rule: Any) -> Any:
    """Inside of the call the mapped axis is not known by its name."""

    def wrong(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
        return rule(args, dims, axis_info=AxisInfo(None, axis_info.size), **params)

    return wrong


def unshifted(rule: Any) -> Any:
    """The constraint is for an array without the mapped dimension."""

    def wrong(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
        return find_primitive("sharding.sharding_constraint").bind(*args, **params), dims[0]

    return wrong


CALLS = [
    ("jvp", tangents(negated), "jvp"),
    ("jvp", primals(negated), "jvp"),
    ("linearize", other_primals(negated), "transpose"),
    ("linearize", results_of(other_residuals), "transpose"),
    ("partial_eval", results_of(other_known), "transpose"),
    ("transpose", results_of(negated), "transpose"),
    ("batch", results_of(rows_reversed), "batch"),
    ("batch", results_of(last_dims), "batch"),
    ("batch", results_of(results_turned), "batch"),
    ("batch", nameless, "jit"),
    ("axis_subst", forgetful, "axis_subst"),
    ("axis_subst", capturing, "axis_subst"),
    ("dce", results_of(inputs_turned), "dce"),
    ("dce", results_of(everything_dropped), "dce"),
    ("dce", other_results, "dce"),
]
CONSTRAINTS = [
    ("jvp", tangent_out(lax.neg), "jvp"),
    ("transpose", results_of(negated), "transpose"),
    ("batch", results_of(rows_reversed), "batch"),
    ("batch", unshifted, "batch"),
    ("lower.numpy", lambda rule: original("lower.numpy", "elementwise.neg"), "jit"),
]
MUTANTS = [
    *[(name, *case) for name in ("shard_map.shard_map", "xmapping.xmap") for case in CALLS],
    *[("sharding.sharding_constraint", *case) for case in CONSTRAINTS],
]


def failures(primitive: Primitive, expected: str) -> Any:
    """Of the first sample that shows any, the last ones first: those within other axes are there."""
    for sample in reversed(samples_of(primitive.identity)):
        found = check(primitive, [sample], [expected], backends=["numpy"]).failures
        if found:
            return found
    return []


@on_numpy
@pytest.mark.parametrize(("name", "kind", "mutate", "expected"), MUTANTS)
def test_a_wrong_rule_is_caught(name: str, kind: str, mutate: Any, expected: str) -> None:
    primitive = find_primitive(name)
    mutant = RuleSet(kind, api=1, override=True)
    mutant.add(primitive, mutate(original(kind, name)))
    with register(mutant):
        assert failures(primitive, expected)
