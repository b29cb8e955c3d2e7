"""`tangrad new` in a clean environment: what it writes installs, and its own tests pass as written."""

import re
from pathlib import Path

import pytest

from tests.install.environments import CommandError, Environment, run
from tools.workspace import ROOT

pytestmark = pytest.mark.slow
NAMES = {
    "primitive": "discounting",
    "backend": "abacus",
    "transformation": "enclosing",
    "rules": "steadying",
    "hooks": "ledger",
}


def own_tests_of(make_environment, kind: str, tmp_path: Path) -> tuple[Environment, Path, str]:
    """The environment of a user who follows what the command says; the package; and what its tests print."""
    environment = make_environment("tangrad[authors]", "pytest", "hatchling", "editables", *extra(kind))
    printed = environment.command("tangrad", "new", kind, NAMES[kind], "--into", str(tmp_path))
    folder = tmp_path / f"tangrad-{NAMES[kind]}"
    assert f"cd {folder}" in printed and 'python -m pip install -e ".[test]"' in printed
    environment.install(f"{folder}[test]", editable=True)
    # With rich output for people: this is also what a failure here shows.
    command = [str(environment.python), "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    return environment, folder, run(command, cwd=folder, env=environment._variables(None)).stdout


def extra(kind: str) -> tuple[str, ...]:
    return ("tangrad-backend-xla",) if kind == "primitive" else ()


def test_a_primitive(make_environment, tmp_path):
    environment, folder, printed = own_tests_of(make_environment, "primitive", tmp_path)
    assert re.search(r"\d+ passed", printed) and "failed" not in printed and "skipped" not in printed
    assert "conformance::discounting.discounting PASSED" in printed
    assert "test_values[numpy-jitted]" in printed and "test_values[xla-jitted]" in printed
    cells = int(re.search(r"conformance: (\d+) cells checked", printed)[1])
    print(f"tangrad new primitive: {cells} cells checked")
    assert cells > 200
    matrix = environment.command("tangrad", "rules", "--family", "discounting")
    row = next(line for line in matrix.splitlines() if line.startswith("discounting"))
    assert "?!" not in row and row.count("R") >= 5
    assert "No problems found." in environment.command("tangrad", "doctor")
    # A mistake in a rule is found by the package's own tests.
    rule = folder / "tangrad_discounting/autodiff.py"
    rule.write_text(rule.read_text().replace("reverse=not reverse", "reverse=reverse"))
    with pytest.raises(CommandError, match="transpose fails"):
        run([str(environment.python), "-m", "pytest", "-q"], cwd=folder, env=environment._variables(None))


def test_a_backend(make_environment, tmp_path):
    environment, _, printed = own_tests_of(make_environment, "backend", tmp_path)
    assert re.search(r"\d+ passed", printed) and "failed" not in printed
    cells = int(re.search(r"conformance: (\d+) cells checked", printed)[1])
    print(f"tangrad new backend: {cells} cells checked")
    assert cells > 2000
    program = "import tangrad, tangrad.numpy as np\nprint(tangrad.jit(np.sin)(0.5).device)"
    assert environment.run(program, variables={"TANGRAD_BACKEND": "abacus"}) == "abacus:cpu:0\n"


def test_a_transformation(make_environment, tmp_path):
    environment, _, printed = own_tests_of(make_environment, "transformation", tmp_path)
    assert re.search(r"\d+ passed", printed) and "failed" not in printed
    assert "test_each_rule[elementwise.mul] PASSED" in printed
    program = "import tangrad\nprint(*tangrad.enclosing(lambda x: x * x - x)((0.0,), (1.0,)))"
    assert environment.run(program) == "-1.0 1.0\n"


def test_rules(make_environment, tmp_path):
    environment, _, printed = own_tests_of(make_environment, "rules", tmp_path)
    assert re.search(r"\d+ passed", printed) and "failed" not in printed
    matrix = environment.command("tangrad", "rules", "--distribution", "tangrad-steadying")
    assert "in place of" in matrix and "tangrad-steadying" in matrix and "1 primitives" in matrix
    assert "No problems found." in environment.command("tangrad", "doctor")


def test_hooks(make_environment, tmp_path):
    environment, folder, printed = own_tests_of(make_environment, "hooks", tmp_path)
    assert re.search(r"\d+ passed", printed) and "failed" not in printed and "skipped" not in printed
    listed = environment.command("tangrad", "plugins", "--load")
    assert "ledger.passes" in listed and "ledger.record" in listed
    assert "No problems found." in environment.command("tangrad", "doctor")
    program = "import tangrad\nprint(tangrad.jit(lambda x: -(-x))(2.0))\n"
    program += "from tangrad_ledger import record\nprint(len(record.events) > 1)"
    assert environment.run(program) == "2.0\nTrue\n"
    # A mistake in a pass is found by the package's own tests.
    passes = folder / "tangrad_ledger/passes.py"
    passes.write_text(passes.read_text().replace("same[result] = before", "same[result] = operand"))
    with pytest.raises(CommandError, match="failed"):
        run([str(environment.python), "-m", "pytest", "-q"], cwd=folder, env=environment._variables(None))


def test_types(make_environment, tmp_path):
    """All of them pass mypy's strict checks: what `py.typed` promises."""
    for kind, name in NAMES.items():
        environment = make_environment("tangrad[authors]", "tangrad-backend-xla", "pytest", "mypy")
        environment.command("tangrad", "new", kind, name, "--into", str(tmp_path))
        folder = tmp_path / f"tangrad-{name}"
        # What mypy knows of Tangrad and of NumPy is the same for all of them.
        cache = f"--cache-dir={environment.folder / 'mypy'}"
        command = [str(environment.python), "-m", "mypy", "--strict", cache, f"tangrad_{name}", "tests"]
        assert "Success" in run(command, cwd=folder, env=environment._variables(None)).stdout


def test_the_console_alone_says_what_to_install(make_environment):
    environment = make_environment("tangrad-console")
    with pytest.raises(CommandError, match="pip install tangrad-conformance"):
        environment.command("tangrad", "new", "primitive", "discounting")


def test_the_page_of_the_scaffold_names_what_there_is():
    text = (ROOT / "docs/scaffold.md").read_text()
    assert all(f"tangrad new {kind} " in text for kind in NAMES)
    assert "--license" in text
