"""The number of the extension API: which are taken, what is said of them; and names that are on their way out."""

import re
import warnings

import numpy as np
import pytest

import tangrad.core
from tangrad import errors
from tangrad._core.composition import policy
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, composition, register
from tests.unit.plugin_site import Site


@pytest.fixture
def second(monkeypatch):
    """A kernel whose number is 2, in a process where nothing has been said yet."""
    monkeypatch.setattr(policy, "EXTENSION_API", 2)
    monkeypatch.setattr(policy, "_stated", {})
    monkeypatch.setattr(policy, "_warned", set())
    with warnings.catch_warnings():
        # Our own are of the previous number, then. (As errors warnings would set aside what the tests after this need.)
        warnings.filterwarnings("ignore", "tangrad-", errors.PluginWarning)
        yield


def primitives(api, family="versioned"):
    made = PrimitiveSet(family, api=api)

    @made.primitive(name="double", decompose=lambda x: x + x)
    def double_p(x):
        return ShapedArray(x.shape, x.dtype)

    return made


def test_a_plugin_of_the_previous_number_works_with_a_warning(second):
    old = primitives(api=1)
    with pytest.warns(errors.PluginWarning, match="written for extension API 1; this tangrad-core has 2 and still"):
        handle = register(old)
    with handle:
        assert float(old.primitives["double"](np.float32(1.5))) == 3.0


def test_a_plugin_of_the_kernels_number_works_without_a_word(second):
    with register(primitives(api=2)):
        pass


@pytest.mark.parametrize("api", [0, 3, 99, -1, None, "2", 2.0, True])
def test_other_numbers_are_refused(second, api):
    with pytest.raises(errors.ApiVersionError, match=re.escape(f"extension API {api!r}; this tangrad-core has 2")):
        register(primitives(api=api))


def test_the_first_number_has_none_before_it():
    assert policy.EXTENSION_API == tangrad.core.tools.EXTENSION_API == 1
    with pytest.raises(errors.ApiVersionError, match="extension API 0"):
        register(primitives(api=0))


def test_backends_state_a_number_too():
    class Halfway:
        name = "halfway"

    with pytest.raises(TypeError, match=r"no adopt, api, apply, array_type, .*see tangrad\.core\.protocols\.Backend"):
        register(Halfway(), group="tangrad.backends", name="halfway")

    class Unnumbered(tangrad.core.Backend):
        name, lowering_kind, array_type = "unnumbered", "lower.unnumbered", tangrad.core.Array

    with pytest.raises(errors.ApiVersionError, match="extension API None"):
        register(Unnumbered(), group="tangrad.backends", name="unnumbered")


# --- distributions ---------------------------------------------------------------------------------------------------

HALF_MIGRATED = """
from tangrad.core import PrimitiveSet, RuleSet
old = PrimitiveSet("half_old", api=1)
new = PrimitiveSet("half_new", api={new})
"""
PROGRAM = """
import warnings
from tangrad._core.composition import policy
from tangrad.core import composition
policy.EXTENSION_API = 2
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for name in {order}:
        try:
            composition().find("tangrad.primitives", name).load()
            print(name, "works")
        except Exception as error:
            print(name, type(error).__name__, error.__cause__)
for warning in sorted(str(warning.message) for warning in caught):
    print("warning:", warning)
"""


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site")


@pytest.mark.parametrize("order", [("half_old", "half_new"), ("half_new", "half_old")])
def test_two_numbers_in_one_distribution(site, order):
    """Each plugin is taken by its own number, in whichever order they are needed; the distribution is named."""
    entries = {"tangrad.primitives": {"half_old": "half:old", "half_new": "half:new"}}
    site.add("half-migrated", entries, "1.5", {"half.py": HALF_MIGRATED.format(new=2)})
    printed = site.run(PROGRAM.format(order=order)).stdout
    assert "half_old works" in printed and "half_new works" in printed
    (both,) = re.findall("warning: half-migrated 1.5 states two numbers of the extension API.*", printed)
    assert "1 (half-migrated:tangrad.primitives:half_old) and 2 (half-migrated:tangrad.primitives:half_new)" in both
    (old,) = re.findall("warning: half-migrated 1.5 was written for extension API 1.*", printed)
    assert "pip install --upgrade half-migrated" in old


def test_two_numbers_of_which_one_is_too_new(site):
    """What does not need the refused plugin goes on."""
    entries = {"tangrad.primitives": {"half_old": "half:old", "half_new": "half:new"}}
    site.add("half-migrated", entries, "1.5", {"half.py": HALF_MIGRATED.format(new=3)})
    printed = site.run(PROGRAM.format(order=("half_new", "half_old"))).stdout
    assert "half_old works" in printed
    assert "half_new BrokenPluginError half-migrated 1.5: half:new was written for extension API 3" in printed


def test_a_distribution_is_warned_of_once(site):
    entries = {"tangrad.primitives": {"one_old": "elder:one", "two_old": "elder:two"}}
    module = (
        "from tangrad.core import PrimitiveSet\none, two = [PrimitiveSet(n, api=1) for n in ('one_old', 'two_old')]"
    )
    site.add("elder", entries, "1.0", {"elder.py": module})
    printed = site.run(PROGRAM.format(order=("one_old", "two_old"))).stdout
    assert printed.count("warning:") == 1 and printed.count("works") == 2


def test_the_doctor_names_numbers(site):
    entries = {"tangrad.primitives": {"half_old": "half:old", "half_new": "half:new"}}
    site.add("half-migrated", entries, "1.5", {"half.py": HALF_MIGRATED.format(new=2)})
    program = (
        "import tangrad.core\nfrom tangrad._core.composition import policy\nfrom tangrad.core import composition\n"
        "tangrad.core.tools.EXTENSION_API = policy.EXTENSION_API = 2\nimport warnings\n"
        "warnings.simplefilter('ignore')\nfrom tangrad._console.report.composed import number_problems\n"
        "for problem in number_problems(composition()): print(problem.what, '=>', problem.cure)"
    )
    printed = site.run(program).stdout
    assert "half-migrated states the numbers 1 and 2 of the extension API => " in printed
    assert "tangrad-lax was written for extension API 1, which this core (2) takes for the last time => " in printed


# --- names -----------------------------------------------------------------------------------------------------------


def test_a_deprecated_name_still_works(monkeypatch):
    old = policy.Deprecated("tangrad._core.kernel.rules:find_primitive", "0.2", "tangrad.core.find_primitive")
    monkeypatch.setitem(policy.DEPRECATED, "primitive_named", old)
    expected = (
        r"tangrad\.core\.primitive_named is deprecated since tangrad-core 0\.2.*write tangrad\.core\.find_primitive"
    )
    with pytest.warns(DeprecationWarning, match=expected) as caught:
        from tangrad.core import primitive_named
    assert primitive_named is tangrad.core.find_primitive
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.warns(DeprecationWarning, match=expected):
        assert tangrad.core.primitive_named is primitive_named


def test_deprecated_names_lead_somewhere():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for name, old in policy.DEPRECATED.items():
            assert getattr(tangrad.core, name) is not None and old.since and old.instead
            assert name not in vars(tangrad.core)


def test_a_rule_set_of_the_previous_number_joins_the_table(second):
    family = primitives(api=2, family="versioned_rules")
    rules = RuleSet("jvp", api=1)
    rules.add(family.primitives["double"], lambda primals, tangents: (primals[0], tangents[0]))
    with register(family), pytest.warns(errors.PluginWarning, match="extension API 1"), register(rules):
        cell = tangrad.core.rule_table("jvp").cell(family.primitives["double"])
        assert cell.status == "rule" and composition().provenance(rules) is cell.plugin
