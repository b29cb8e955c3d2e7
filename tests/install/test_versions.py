"""Distributions of different versions in one environment: a newer kernel under plugins of the release before."""

import re
import shutil

import pytest

from tests.install.environments import HAVE_UV, UV, CommandError, Environment, new_environment, run
from tools.build_wheels import build_one
from tools.release import range_of, set_version, with_version
from tools.workspace import ROOT, distributions, umbrella

CORE = "tangrad-core"
VERSION = umbrella().project["version"]
MAJOR, MINOR = map(int, VERSION.split(".")[:2])
NEXT, LATER = f"{MAJOR}.{MINOR + 1}.0", f"{MAJOR}.{MINOR + 2}.0"

PROGRAM = """
from importlib import metadata
import numpy
import tangrad
import tangrad.numpy as np
from tangrad import grad, jit, lax, nn, random, vmap

versions = [metadata.version(name) for name in ("tangrad-core", "tangrad-lax", "tangrad")]
assert versions == {versions}, versions
x = np.linspace(0.0, 1.0, 5)
numpy.testing.assert_allclose(jit(vmap(grad(np.sin)))(x), numpy.cos(x), rtol=1e-6)
total, _ = lax.scan(lambda total, y: (total + nn.relu(y), y), 0.0, x)
assert float(total) == 2.5
assert random.normal(random.key(0), (3,)).shape == (3,)
assert np.linalg.solve(np.eye(2), np.ones(2)).tolist() == [1.0, 1.0]
"""
NUMBER = re.compile(r"^EXTENSION_API = (\d+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A function that builds the wheel of the kernel in another version, with another number of the extension API."""

    def make(version: str, api: int | None = None):
        copy = tmp_path_factory.mktemp("core") / "core"
        shutil.copytree(ROOT / "core", copy, ignore=shutil.ignore_patterns("__pycache__"))
        project = copy / "pyproject.toml"
        project.write_text(with_version(project.read_text(), version))
        if api is not None:
            found = [path for path in copy.rglob("*.py") if NUMBER.search(path.read_text())]
            (path,) = found
            path.write_text(NUMBER.sub(f"EXTENSION_API = {api}", path.read_text()))
        return build_one(copy, tmp_path_factory.mktemp("wheel"))

    return make


def with_wheel(folder, wheel) -> Environment:
    """An environment with the usual set as the tree has it, and this wheel of the kernel in place of its own."""
    environment = new_environment(folder)
    environment.install("tangrad[xla]", wheel)
    return environment


@pytest.mark.slow
def test_a_newer_kernel_runs_the_plugins_of_the_release_before(core, tmp_path):
    """The installer takes the two, without a word; so does the program, and the doctor."""
    environment = with_wheel(tmp_path / "environment", core(NEXT))
    for backend in ("numpy", "xla"):
        environment.run(
            PROGRAM.format(versions=[NEXT, VERSION, VERSION]),
            variables={"TANGRAD_BACKEND": backend},
        )
    assert "No problems found." in environment.command("tangrad", "doctor")


@pytest.mark.slow
def test_the_kernel_after_that_is_refused_by_the_installer(core, tmp_path):
    with pytest.raises(CommandError) as refused:
        with_wheel(tmp_path / "environment", core(LATER))
    assert re.search(r"tangrad-core.*<\d+\.\d+", str(refused.value), re.DOTALL), str(refused.value)


@pytest.mark.slow
@pytest.mark.skipif(not HAVE_UV, reason="uv installs it without its requirements")
def test_the_doctor_sees_versions_that_do_not_fit(core, tmp_path):
    """Who forces an installer finds what does not fit, with a cure."""
    environment = with_wheel(tmp_path / "environment", core(NEXT))
    wheel = core(LATER)
    run([*UV, "pip", "install", "-q", "--python", str(environment.python), "--no-deps", str(wheel)])
    with pytest.raises(CommandError) as problems:
        environment.command("tangrad", "doctor")
    expected = (
        f"tangrad-core {LATER} does not do: tangrad {VERSION} needs tangrad-core<{MAJOR}.{MINOR + 2},>={MAJOR}.{MINOR}"
    )
    assert expected in str(problems.value), str(problems.value)


@pytest.mark.slow
def test_the_number_of_the_extension_api_decides(core, tmp_path):
    """One higher: each distribution is named once in a warning, and works. Two higher: it is refused, by name."""
    older = with_wheel(tmp_path / "older", core(NEXT, api=2))
    found = older.run(
        """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import tangrad
    import tangrad.numpy as np
    assert float(tangrad.jit(tangrad.grad(np.sin))(0.0)) == 1.0
messages = [str(one.message) for one in caught]
named = [message.split()[0] for message in messages if "was written for extension API 1" in message]
assert len(named) == len(set(named)) and {"tangrad-lax", "tangrad-autodiff"} <= set(named), messages
print(*messages, sep="\\n")
"""
    )
    assert f"tangrad-lax {VERSION} was written for extension API 1; this tangrad-core has 2 and still takes it" in found
    refused = with_wheel(tmp_path / "refused", core(NEXT, api=3))
    with pytest.raises(CommandError) as error:
        refused.run("import tangrad.numpy as np\nnp.sin(1.0)")
    expected = "was written for extension API 1; this tangrad-core has 3"
    assert "ApiVersionError" in str(error.value) and expected in str(error.value), str(error.value)
    assert re.search(rf"tangrad-[a-z-]+ {re.escape(VERSION)}: tangrad\._", str(error.value)), str(error.value)


def test_every_requirement_is_the_range_of_its_own_version():
    for part in [umbrella(), *distributions().values()]:
        text = (part.folder / "pyproject.toml").read_text()
        assert with_version(text, part.project["version"]) == text, part.name
        assert range_of(part.project["version"]) in text or part.name == CORE


def test_a_version_is_written_with_the_requirements_that_follow(tmp_path):
    for part in [umbrella(), *distributions().values()]:
        target = tmp_path / part.folder.relative_to(ROOT)
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(part.folder / "pyproject.toml", target)
    (changed,) = set_version("0.7.2", {"tangrad-lax"}, tmp_path)
    after = distributions(tmp_path)
    assert changed == tmp_path / "primitives/lax/pyproject.toml"
    assert after["tangrad-lax"].project["version"] == "0.7.2" and after[CORE].project["version"] == VERSION
    assert "tangrad-core>=0.7,<0.9" in after["tangrad-lax"].project["dependencies"]
    assert after["tangrad-lax"].entry_points == distributions()["tangrad-lax"].entry_points
    with pytest.raises(ValueError, match="no such distribution: tangrad-lux"):
        set_version("0.7.2", {"tangrad-lux"}, tmp_path)
