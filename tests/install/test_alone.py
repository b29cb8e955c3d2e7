"""Each distribution in the environment of its declared requirements alone: its functions run, the doctor is content."""

import json
from pathlib import Path

import pytest

from tests.install.test_subsets import BACKEND, SUBSETS, closure
from tools.workspace import distributions

pytestmark = pytest.mark.slow
PARTS = sorted(distributions())
PROGRAM = Path(__file__).with_name("alone.py").read_text()
DOCTOR = "import sys\nfrom tangrad._console.cli import main\nsys.exit(main(['doctor', '--json']))"


def parts_for(name: str) -> set[str]:
    """What a distribution requires of ours; with a backend, since to run is what functions are for."""
    return closure((name,) if name.startswith("tangrad-backend-") else (name, BACKEND))


@pytest.mark.parametrize("name", PARTS)
def test_its_public_functions_run(make_layer, name):
    environment = make_layer(parts_for(name))
    found = json.loads(environment.run(PROGRAM.replace("sys.argv[1]", repr(name))).splitlines()[-1])
    assert found.keys() == distributions()[name].entry_points.get("tangrad.api", {}).keys()
    wrong = {public: what for public, what in found.items() if what not in ("ran", "constant")}
    assert not wrong, "\n".join(f"{public}: {what}" for public, what in wrong.items())


@pytest.mark.parametrize("parts", [*PARTS, *SUBSETS], ids=str)
def test_the_doctor_finds_nothing(make_layer, parts):
    """In what a distribution requires alone, and in every subset that is asked for together."""
    names = parts_for(parts) if isinstance(parts, str) else closure(parts.requirements)
    environment = make_layer(names | closure(("tangrad-console",)))
    assert json.loads(environment.run(DOCTOR))["problems"] == []
