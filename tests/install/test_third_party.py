"""What third parties ship: each package built as a wheel, in a clean environment, used without importing it first."""

import os
import textwrap
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tools.docs.notebooks import blocks
from tools.workspace import ROOT

pytestmark = pytest.mark.slow
PACKAGES = Path(__file__).parent / "packages"
BOTH = ("tangrad", "tangrad-backend-xla")
BACKENDS = ("numpy", "xla")


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A function that builds a sample package and returns its wheel."""

    def build(name: str) -> Path:
        target = tmp_path_factory.mktemp(name)
        return Path(next(WheelBuilder(str(PACKAGES / name)).build(directory=str(target), versions=["standard"])))

    return build


# The samples are never edited for a new kernel: this name has been deprecated since, works, and warns.
FORMER = "tangrad.core.set_current_trace is deprecated since tangrad-core 0.2"
ALLOWED = f"""
import warnings
warnings.filterwarnings("default", {FORMER!r}, DeprecationWarning)
"""


def run(environment, program: str, **variables: str) -> str:
    return environment.run(ALLOWED + textwrap.dedent(program), variables=variables)


PRIMITIVE_PROGRAM = """
    import sys
    import numpy
    import tangrad
    import tangrad.numpy as np

    horner = tangrad.lax.horner  # the first thing that touches the package
    c, x = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0])
    assert numpy.allclose(horner(c, x), 1 + 2 * x + 3 * x**2)
    assert numpy.allclose(tangrad.jit(horner)(c, x), horner(c, x))
    by_c, by_x = tangrad.grad(lambda c, x: horner(c, x).sum(), (0, 1))(c, x)
    assert numpy.allclose(by_c, [2.0, -0.5, 1.25]) and numpy.allclose(by_x, 2 + 6 * x)
    assert numpy.allclose(tangrad.jit(tangrad.grad(tangrad.grad(lambda x: horner(c, x))))(0.5), 6.0)
    try:
        horner(np.ones((2, 2)), x)
    except ValueError as error:
        assert "vector of coefficients" in str(error)
    else:
        raise AssertionError("a matrix of coefficients was taken")
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_primitive(make_environment, sample, backend):
    environment = make_environment(*BOTH, sample("horner"))
    run(environment, PRIMITIVE_PROGRAM, TANGRAD_BACKEND=backend)


INTERVALS_PROGRAM = """
    import numpy
    import tangrad
    import tangrad.numpy as np
    low, high = tangrad.interval_bounds(lambda x: np.tanh(x) * 2.0 - x)((0.0,), (1.0,))
    assert float(low) <= 0.0 and float(high) >= float(np.tanh(1.0)) * 2 - 1
"""
LOGBOOK_PROGRAM = """
    import numpy
    import tangrad
    import tangrad.numpy as np
    with tangrad.use_backend("logbook"):
        assert numpy.allclose(tangrad.jit(np.sin)(np.array([0.5])), numpy.sin(0.5))
"""
# A kernel whose extension API has gone up by one, as far as its plugins can see.
NEXT_KERNEL = """
import warnings
import tangrad
from tangrad._core.composition import policy
policy.EXTENSION_API += 1
caught = warnings.catch_warnings(record=True)
said = caught.__enter__()
warnings.simplefilter("always")
"""
WHAT_WAS_SAID = """
for warning in said:
    print(warning.category.__name__, warning.message)
"""


@pytest.mark.parametrize(
    ("packages", "program"),
    [
        (("horner",), PRIMITIVE_PROGRAM),
        (("intervals",), INTERVALS_PROGRAM),
        (("logbook",), LOGBOOK_PROGRAM),
    ],
    ids=["primitive", "transformation", "backend"],
)
def test_packages_of_the_previous_api_number_run_unchanged(make_environment, sample, packages, program):
    """The samples state number 1; a kernel of number 2 runs them, and names each distribution once."""
    environment = make_environment(*BOTH, *[sample(name) for name in packages])
    run(environment, program)  # without a word but of former names: warnings are errors
    printed = environment.run(NEXT_KERNEL + textwrap.dedent(program) + WHAT_WAS_SAID)
    for name in packages:
        said = [line for line in printed.splitlines() if f"sample-{name} 1.0.0 was written for extension API" in line]
        assert len(said) == 1 and said[0].startswith("PluginWarning"), printed
    others = [line for line in printed.splitlines() if not line.startswith(f"DeprecationWarning {FORMER}")]
    assert all(line.startswith("PluginWarning") and " was written for extension API" in line for line in others)


def test_importing_tangrad_does_not_import_a_plugin(make_environment, sample):
    environment = make_environment(*BOTH, sample("horner"))
    run(
        environment,
        """
        import sys
        import tangrad
        import tangrad.numpy as np
        np.sin(1.0)
        assert not [name for name in sys.modules if name.startswith("sample_")]
        """,
    )


def test_a_rule_that_no_distribution_ships(make_environment, sample):
    environment = make_environment(*BOTH, sample("horner"))
    printed = run(
        environment,
        """
        import tangrad
        import tangrad.numpy as np
        try:
            tangrad.vmap(tangrad.lax.horner, (None, 0))(np.ones(3), np.ones((4, 2)))
        except tangrad.errors.MissingRuleError as error:
            print(error)
        """,
    )
    for part in ("horner.horner", "sample-horner 1.0.0", "'batch'", "tangrad-batching", "tangrad.rules.batch"):
        assert part in printed


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_rule_for_another_distributions_primitive(make_environment, sample, backend):
    environment = make_environment(*BOTH, sample("horner"), sample("horner_batch"))
    program = textwrap.dedent(PRIMITIVE_PROGRAM) + textwrap.dedent(
        """
            xs = np.arange(6.0).reshape(3, 2)
            cs = np.arange(12.0).reshape(4, 3)
            assert numpy.allclose(tangrad.vmap(horner, (None, 0))(c, xs), horner(c, xs))
            both = tangrad.vmap(lambda c: tangrad.vmap(lambda x: horner(c, x))(xs))(cs)
            assert numpy.allclose(both, numpy.stack([horner(c, xs) for c in cs]))
            slopes = tangrad.vmap(tangrad.grad(lambda x: horner(c, x).sum()))(xs)
            assert numpy.allclose(slopes, 2 + 6 * xs)
            """
    )
    run(environment, program, TANGRAD_BACKEND=backend)


def test_the_matrix_names_who_provides_what(make_environment, sample):
    environment = make_environment(*BOTH, sample("horner"), sample("horner_batch"))
    printed = environment.command("tangrad", "rules", "--family", "horner")
    assert "sample-horner" in printed and "sample-horner-batch" in printed
    listed = environment.command("tangrad", "plugins")
    assert "sample-horner-batch" in listed


def test_a_denied_rule_is_not_used(make_environment, sample):
    environment = make_environment(*BOTH, sample("horner"), sample("horner_batch"))
    run(
        environment,
        """
        import sys
        import tangrad
        import tangrad.numpy as np
        try:
            tangrad.vmap(tangrad.lax.horner, (None, 0))(np.ones(3), np.ones((4, 2)))
        except tangrad.errors.DeniedPluginError as error:
            assert "TANGRAD_DENY" in str(error), error
        else:
            raise AssertionError("the denied rule was used")
        assert "sample_horner_batch" not in sys.modules
        """,
        TANGRAD_DENY="sample-horner-batch",
    )


@pytest.mark.parametrize("choose", ["variable", "call", "context"])
def test_a_backend(make_environment, sample, choose):
    environment = make_environment("tangrad", sample("logbook"))
    program = """
        import contextlib
        import os
        import numpy
        import tangrad
        import tangrad.numpy as np
        from tangrad.core import get_backend

        how = os.environ["HOW"]
        log = get_backend("logbook").log
        f = lambda x: np.tanh(x) * x
        with tangrad.use_backend("logbook") if how == "context" else contextlib.nullcontext():
            x = numpy.float32(0.5)
            wrap = (lambda g: tangrad.jit(g, backend="logbook")) if how == "call" else tangrad.jit
            value, slope = wrap(tangrad.value_and_grad(f))(x)
        assert numpy.allclose(value, numpy.tanh(0.5) * 0.5) and "tanh" in log and "mul" in log
        assert numpy.allclose(slope, numpy.tanh(0.5) + 0.5 / numpy.cosh(0.5) ** 2, atol=1e-6)
        assert value.device.backend.name == "logbook" if hasattr(value, "device") else True
        if how == "variable":
            assert tangrad.default_backend() == "logbook"
            assert numpy.allclose(tangrad.vmap(tangrad.grad(f))(np.arange(3.0))[0], 0)
    """
    variables = {"HOW": choose} | ({"TANGRAD_BACKEND": "logbook"} if choose == "variable" else {})
    run(environment, program, **variables)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_transformation(make_environment, sample, backend):
    environment = make_environment(*BOTH, sample("intervals"))
    run(
        environment,
        """
        import numpy
        import tangrad
        import tangrad.numpy as np

        def f(x, y):
            return np.sum(np.tanh(x) * y - np.exp(-x))

        low, high = (np.array([-1.0, 0.0]), np.array([0.5, -2.0])), (np.array([1.0, 0.5]), np.array([1.0, 3.0]))
        least, most = tangrad.interval_bounds(f)(low, high)
        random = numpy.random.default_rng(0)
        for _ in range(200):
            x, y = (random.uniform(a, b).astype(numpy.float32) for a, b in zip(low, high, strict=True))
            assert least - 1e-5 <= f(x, y) <= most + 1e-5
        assert numpy.allclose(tangrad.jit(tangrad.interval_bounds(f))(low, high), (least, most))
        mapped = tangrad.vmap(tangrad.interval_bounds(lambda x: x * x - x))((np.zeros(3),), (np.ones(3),))
        assert numpy.allclose(mapped[0], -1) and numpy.allclose(mapped[1], 1)
        try:
            tangrad.interval_bounds(np.sin)((0.0,), (1.0,))
        except tangrad.errors.MissingRuleError as error:
            assert "sample-intervals" in str(error) and "'interval'" in str(error)
        else:
            raise AssertionError("there is no interval rule for sin")
        """,
        TANGRAD_BACKEND=backend,
    )


NAMES = """
    from tangrad.core.tools import plugin_manager
    names = {name for name, plugin in plugin_manager().list_name_plugin() if plugin is not None}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_rules_that_are_computed_for_any_family(make_environment, sample, backend):
    environment = make_environment(*BOTH, sample("horner"), sample("ledger"), sample("warden"))
    program = """
        import tangrad
        import tangrad.numpy as np

        x = np.arange(6.0).reshape(2, 3)
        assert tangrad.cost_of(lambda x: np.sin(x) * x)(x) == 12
        assert tangrad.cost_of(lambda x: tangrad.lax.horner(np.ones(3), x))(x) >= 6  # neither knows of the other
        cell = tangrad.core.rule_table("cost").cell(tangrad.core.find_primitive("horner.horner"))
        assert cell.status == "rule" and cell.plugin.distribution == "sample-ledger"
    """
    checks = """
    assert {"sample-ledger", "sample-horner", "sample-warden", "tangrad-lax", "tangrad-numpy"} <= names, names
    # tangrad-jit has a hook, and hooks are there as soon as one of them is asked.
    assert not {"tangrad-random", "tangrad-autodiff", "tangrad-collectives"} & names, names
    """
    run(environment, textwrap.dedent(program) + textwrap.dedent(NAMES + checks), TANGRAD_BACKEND=backend)


def test_a_wrapper_that_watches_and_withholds(make_environment, sample):
    environment = make_environment("tangrad", sample("horner"), sample("horner_batch"), sample("warden"))
    program = """
        import tangrad
        import tangrad.numpy as np

        mapped = tangrad.vmap(tangrad.lax.horner, (None, 0))
        try:
            assert mapped(np.ones(3), np.ones((4, 2))).shape == (4, 2)
        except tangrad.errors.DeniedPluginError as error:
            print(error)
        import sys
        seen = sys.modules["sample_warden"].warden.seen
        assert ("batch", "horner", ["sample-horner-batch"]) in seen, seen
        assert float(tangrad.grad(lambda x: tangrad.lax.horner(np.ones(3), x))(0.0)) == 1.0  # what is not concerned
    """
    assert run(environment, program) == ""
    printed = run(environment, program, SAMPLE_WARDEN_UNWANTED="sample-horner-batch")
    identity = "sample-warden:tangrad.hooks:warden"
    assert f"withheld by the hook wrapper of {identity}" in printed and f"TANGRAD_DENY='{identity}'" in printed
    traced = environment.folder / "traced.py"
    traced.write_text(textwrap.dedent(program))
    report = environment.command("tangrad", "plugins", "--trace", str(traced))
    assert "batch horner" in report and "sample-horner-batch" in report


def test_a_blocked_distribution_that_something_needs(make_environment, sample):
    environment = make_environment("tangrad", sample("horner"), sample("horner_batch"))
    program = """
        import sys
        import tangrad
        import tangrad.numpy as np
        from tangrad.core.tools import plugin_manager

        assert plugin_manager().is_blocked("sample-horner")
        try:
            tangrad.lax.horner
        except tangrad.errors.DeniedPluginError as error:
            assert "sample-horner:tangrad.api:lax.horner is needed but denied by TANGRAD_DENY" in str(error), error
            assert "What denies it can be changed" in str(error), error
        else:
            raise AssertionError("the blocked name was found")
        assert float(tangrad.vmap(tangrad.grad(np.sin))(np.zeros(2))[0]) == 1.0
        assert "sample_horner" not in sys.modules
    """
    checks = "assert 'sample-horner' not in names and 'tangrad-batching' in names, names"
    program = textwrap.dedent(program) + textwrap.dedent(NAMES) + checks
    run(environment, program, TANGRAD_DENY="sample-horner")


def guide_files(target: Path) -> None:
    """Write the files that the guide has its reader write."""
    for block in blocks(ROOT / "docs/plugin-guide.md"):
        if block.file:
            path = target / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "toml":  # "Add to lambertw/pyproject.toml"
            path = target / "lambertw/pyproject.toml"
            path.write_text(path.read_text() + "\n" + block.text)


def test_the_guide_to_the_letter(make_environment, tmp_path):
    guide_files(tmp_path)
    environment = make_environment(*BOTH)
    target = tmp_path / "wheel"
    wheel = next(WheelBuilder(str(tmp_path / "lambertw")).build(directory=str(target), versions=["standard"]))
    environment.install(wheel)
    program = (tmp_path / "try_it.py").read_text()
    printed = {backend: environment.run(program, variables={"TANGRAD_BACKEND": backend}) for backend in BACKENDS}
    for text in printed.values():
        first = text.split("]")[0].strip("[ \n").split()
        assert [round(float(number), 4) for number in first] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    matrix = environment.command("tangrad", "rules", "--family", "lambertw")
    assert "tangrad-lambertw" in matrix and os.linesep in matrix
    environment.install("tangrad-conformance")
    page = tmp_path / "matrix.html"
    checked = environment.command("tangrad", "conformance", "--distribution", "tangrad-lambertw", "--html", str(page))
    assert " cells checked, of 1 primitives: 0 failed" in checked and "lambertw" in page.read_text()
