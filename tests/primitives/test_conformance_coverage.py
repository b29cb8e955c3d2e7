"""What the conformance kit is pointed at, and what it says: packages of rules, checks of one's own, lacking backends.

Also the matrix of rules, which calls derived only what can be.
"""

import numpy as np
import pytest

import tangrad
from tangrad import lax, use_backend
from tangrad._conformance.comparison import Mismatch
from tangrad._console.report.rules import squares
from tangrad.conformance import CHECKS, Sample, check, draw, own_checks, primitives_of, sweep
from tangrad.core import (
    Array,
    Backend,
    DerivedRule,
    Device,
    Executable,
    Literal,
    PrimitiveSet,
    RuleKind,
    RuleSet,
    decomposition_jaxpr,
    eval_jaxpr,
    find_primitive,
    register,
    rule_table,
)
from tangrad.errors import MissingRuleError

cos_p, sin_p = find_primitive("elementwise.cos"), find_primitive("elementwise.sin")

# --- a backend that lacks most of what there is -----------------------------------------------------------------------


class PartArray(Array):
    """An array of the backend `part`."""

    __slots__ = ("contents",)

    def __init__(self, aval, contents):
        self.aval = aval
        self.contents = np.asarray(contents, aval.dtype)

    def to_numpy(self):
        return self.contents


class Part(Backend):
    """Computes equation by equation, with the rules of its kind."""

    name, platform, lowering_kind, array_type, api = "part", "cpu", "lower.part", PartArray, 1

    def devices(self):
        return (Device(self, 0, "cpu"),)

    def put(self, value, aval, device=None):
        return PartArray(aval, np.array(value))

    def get(self, array):
        return array.contents

    def apply(self, primitive, args, params):
        avals = tuple([arg.aval for arg in args])
        arrays = [np.asarray(arg.ndarray if isinstance(arg, Literal) else arg.contents) for arg in args]
        return PartArray(primitive.infer(avals, params), rule_table("lower.part")[primitive](avals, *arrays, **params))

    def compile(self, closed_jaxpr, options):
        return PartExecutable(closed_jaxpr)

    def lower(self, closed_jaxpr, options):
        raise NotImplementedError


class PartExecutable(Executable):
    __slots__ = ("closed",)

    def __init__(self, closed):
        self.closed = closed

    def execute(self, arrays):
        return eval_jaxpr(self.closed.jaxpr, self.closed.consts, *arrays)


def from_decomposition(primitive):
    def rule(avals, *arrays, **params):
        with DerivedRule(primitive):
            closed = decomposition_jaxpr(primitive, avals, params)
            operands = [PartArray(aval, array) for aval, array in zip(avals, arrays)]
            return eval_jaxpr(closed.jaxpr, closed.consts, *operands)[0].contents

    return rule


@pytest.fixture
def part():
    """The backend, which has sin and mul alone."""
    kind = RuleKind(
        "lower.part", api=1, signature="(avals, *arrays) -> array", doc="with NumPy", derive=from_decomposition
    )
    lower = RuleSet("lower.part", api=1)
    lower.add(sin_p, lambda avals, x: np.sin(x))
    lower.add(find_primitive("elementwise.mul"), lambda avals, x, y: x * y)
    backend = Part()
    PartArray.backend = backend
    with register(kind), register(lower), register(backend, group="tangrad.backends", name="part"):
        yield backend


def one(decompose):
    family = PrimitiveSet("wave", api=1)

    @family.primitive(name="wave", decompose=decompose)
    def wave_p(x):
        if x.dtype.kind != "f":
            raise TypeError(f"wave takes floating-point numbers, got {x.str_short()}")
        return x

    return family, wave_p


def test_what_a_backend_lacks_is_not_there_and_no_failure(part):
    family, wave_p = one(lambda x: lax.mul(lax.cos(x), x))
    with register(family):
        report = check(wave_p, [Sample(wave_p, (draw(3),), backends=("numpy", "part"))])
    assert not report.failures, report.text()
    assert {cell.subject for cell in report.cells if cell.check == "abstract"} == {"numpy", "staged"}
    assert {cell.check for cell in report.absent} >= {"abstract", "jit", "backends"}
    assert f"0 failed, {len(report.absent)} not there" in report.summary()
    assert any(["wave.wave" in line and "elementwise.cos" in line for line in report.lacking()])
    assert 'data-signs="◐"' in report.html() and "elementwise.cos" in report.html()


def test_what_a_backend_can_derive_is_there(part):
    family, wave_p = one(lambda x: lax.mul(lax.sin(x), x))
    with register(family):
        report = check(
            wave_p, [Sample(wave_p, (draw(3),), backends=("numpy", "part"))], ["abstract", "jit", "backends"]
        )
    assert not report.failures and not report.absent, report.text()
    assert "numpy and part" in {cell.subject for cell in report.cells}


def test_what_a_rule_of_a_backend_says_it_lacks_is_not_there_and_no_failure(part):
    def cosine(avals, x):
        raise MissingRuleError("part has no cosine of these", cos_p.identity, "lower.part")

    partly = RuleSet("lower.part", api=1)
    partly.add(cos_p, cosine)
    with register(partly):
        report = check(cos_p, [Sample(cos_p, (draw(3),), backends=("numpy", "part"))])
    assert not report.failures, report.text()
    assert {cell.check for cell in report.absent} >= {"abstract", "jit", "backends"}


def test_a_mistake_beside_what_is_not_there_is_a_failure(part):
    wrong = RuleSet("lower.part", api=1)
    wrong.add(cos_p, lambda avals, x: np.sin(x))
    with register(wrong):
        report = check(cos_p, [Sample(cos_p, (draw(3),), backends=("numpy", "part"))])
    assert {cell.check for cell in report.failures} >= {"backends"}
    assert report.failures and f"lower.part: tests/primitives/{__name__.rpartition('.')[2]}.py" in report.text()


def test_a_primitive_that_runs_nowhere_is_a_failure():
    family = PrimitiveSet("nowhere", api=1)
    nowhere_p = family.primitive(lambda x: x, name="nowhere")
    with register(family):
        report = check(nowhere_p, [Sample(nowhere_p, (draw(3),))], ["abstract"])
    assert [cell.subject for cell in report.failures] == ["anywhere"]
    assert "no installed backend can run it" in report.text()


def test_the_error_names_the_primitive_that_was_applied(part):
    family, wave_p = one(lambda x: lax.mul(lax.cos(x), x))
    with (
        register(family),
        use_backend("part"),
        pytest.raises(MissingRuleError, match=r"'lower.part' of 'wave.wave'.*'elementwise.cos'.*no rule") as caught,
    ):
        wave_p(np.ones(3, np.float32))
    assert (caught.value.primitive, caught.value.kind) == ("elementwise.cos", "lower.part")


@pytest.mark.parametrize(("kind", "transformed"), [("jvp", tangrad.grad), ("batch", tangrad.vmap)])
def test_so_it_does_under_transformations(kind, transformed):
    inner = PrimitiveSet("inner", api=1)
    inner_p = inner.primitive(lambda x: x, name="inner")
    family, wave_p = one(lambda x: inner_p.bind(x))
    x = np.float32(1) if kind == "jvp" else np.ones(3, np.float32)
    missing = rf"'{kind}' of 'wave.wave'.*'inner.inner'"
    with register(inner), register(family), pytest.raises(MissingRuleError, match=missing):
        transformed(wave_p)(x)


@pytest.mark.parametrize(("part_of_it", "status"), [(lax.cos, "missing"), (lax.sin, "derived")])
def test_the_matrix_shows_a_derived_cell_where_it_can_be_derived(part, part_of_it, status):
    family, wave_p = one(lambda x: lax.mul(part_of_it(x), x))
    outer = PrimitiveSet("outer", api=1)
    outer.primitive(lambda x: x, name="outer", decompose=lambda x: wave_p.bind(x))
    with register(family), register(outer):
        for name in ("wave", "outer"):
            ((square,), problems) = squares(name, "lower.part")
            assert (square.status, problems) == (status, [])
            assert ("elementwise.cos: that has no rule" in square.explanation) is (status == "missing")


# --- what is checked --------------------------------------------------------------------------------------------------


def test_a_package_of_rules_alone(monkeypatch):
    """Its primitives are those that it has rules for, of any distribution."""
    rules = RuleSet("batch", api=1, override=True)
    rules.add(cos_p, rule_table("batch").cell(cos_p).rule)
    with register(rules) as registration:
        name = registration.plugins[0].distribution
        assert cos_p in primitives_of(name)
    backend = primitives_of("tangrad-backend-numpy")
    assert sin_p in backend and len(backend) > 100
    with pytest.raises(LookupError, match="neither primitives nor rules are registered by: absent"):
        primitives_of("absent")


# --- checks of one's own ----------------------------------------------------------------------------------------------

parity = RuleKind("parity", api=1, signature="() -> 1 for even functions, -1 for odd ones", doc="parity", optional=True)


def check_parity(sample):
    """f(-x) against f(x), where a relation between them is declared."""
    sign = rule_table("parity").get_rule(sample.primitive)
    if sign is not None:

        def compare():
            (there,), (back,) = sample.apply(*sample.args), sample.apply(*[-arg for arg in sample.args])
            if not np.allclose(there, sign() * np.asarray(back)):
                raise Mismatch("the function has another parity")

        yield "mirrored", compare


@pytest.fixture
def parities():
    rules = RuleSet("parity", api=1)
    rules.add(sin_p, lambda: -1)
    rules.add(cos_p, lambda: -1)  # a mistake
    with register(parity), register(rules), register(check_parity, group="tangrad.conformance_checks", name="parity"):
        yield


def test_a_distribution_may_ship_checks(parities):
    assert own_checks()["parity"] is check_parity
    assert not sweep([sin_p, find_primitive("elementwise.exp")], ["parity"]).failures
    report = sweep([cos_p, sin_p], everywhere=0)
    assert {(cell.primitive, cell.check) for cell in report.failures} == {("elementwise.cos", "parity")}
    assert "test_conformance_coverage.py" in report.text()
    assert "parity" not in CHECKS


def test_a_check_with_the_name_of_another_is_refused():
    own = register(check_parity, group="tangrad.conformance_checks", name="jvp")
    with own, pytest.raises(ValueError, match="ships a check named 'jvp', which is one of the kit's"):
        own_checks()


# --- where a mistake is -----------------------------------------------------------------------------------------------


def test_failures_show_where_the_rule_is():
    def raises(primals, tangents):
        raise ZeroDivisionError("of the author's")

    def is_wrong(primals, tangents):
        return lax.sin(primals[0]), lax.neg(tangents[0])

    for rule, shown in ((raises, ", in raises"), (is_wrong, "jvp: ")):
        mutant = RuleSet("jvp", api=1, override=True)
        mutant.add(sin_p, rule)
        line = rule.__code__.co_firstlineno + (rule is raises)
        with register(mutant):
            text = check(sin_p, [Sample(sin_p, (draw(3),))], ["jvp"]).text()
        assert shown in text and f"test_conformance_coverage.py:{line}" in text, text
