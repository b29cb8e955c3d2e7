"""`tangrad doctor` on releases: which are tested, and libraries that no longer fit each other."""

import json
import platform
from pathlib import Path

import numpy as np
import pytest

from tests.unit.plugin_site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def examine(site: Site) -> tuple[dict, dict[str, str]]:
    result = site.run("", "-m", "tangrad", "doctor", "--json")
    data = json.loads(result.stdout)
    return data, {problem["what"]: problem["paste"] for problem in data["problems"]}


def install(site: Site, name: str, version: str, *needs: str) -> None:
    """Metadata of a distribution without plugins or modules."""
    file = site.add(name, {}, version)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *[f"Requires-Dist: {n}" for n in needs]]
    (file.parent / "METADATA").write_text("\n".join(lines) + "\n")


def test_what_is_found_is_compared_with_what_is_tested(site: Site) -> None:
    data, _ = examine(site)
    python, numpy = data["releases"]["python"], data["releases"]["numpy"]
    assert python == {"found": platform.python_version(), "tested": "3.11, 3.12, 3.13", "is_tested": True}
    assert numpy["found"] == np.__version__ and numpy["is_tested"] is True and ">=1.26" in numpy["tested"]
    text = site.run("", "-m", "tangrad", "doctor").stdout
    assert "Releases" in text and "tested are" in text


def test_a_newer_release_is_not_called_tested(site: Site) -> None:
    install(site, "pluggy", "3.1")
    data, problems = examine(site)
    assert data["releases"]["pluggy"]["found"] == "3.1" and data["releases"]["pluggy"]["is_tested"] is False
    (cure,) = [cure for what, cure in problems.items() if what.startswith("pluggy 3.1 does not do: tangrad-core")]
    assert cure.startswith("pip install 'pluggy") and ">=1.5" in cure and "<2" in cure


def test_jax_and_jaxlib_of_different_releases(site: Site) -> None:
    install(site, "jax", "0.10.2", "jaxlib<=0.10.2,>=0.10.1", "absent; extra == 'tpu'")
    install(site, "jaxlib", "0.12.0.1", "numpy>=99")
    _, problems = examine(site)
    assert problems["jaxlib 0.12.0.1 does not do: jax 0.10.2 needs jaxlib<=0.10.2,>=0.10.1"] == (
        'pip install "jax==0.12.*"'
    )
    what = f"numpy {np.__version__} does not do: jaxlib 0.12.0.1 needs numpy>=99"
    assert problems[what] == 'pip install --upgrade "jaxlib" "numpy"'


def test_those_that_fit_are_no_problem(site: Site) -> None:
    install(site, "jax", "0.12.1", "jaxlib<=0.12.1,>=0.12.0")
    install(site, "jaxlib", "0.12.0.1")
    assert not [what for what in examine(site)[1] if "jax" in what]
