"""What is built, wheels and source distributions, and how it is published."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path
from urllib.parse import unquote

import pytest
from hatchling.builders.wheel import WheelBuilder

import tools.wheels
from tests.install.environments import HAVE_UV, NOT_HANDED_ON, UV, run
from tools.build_wheels import build_source, folders
from tools.checkout import WHEELS, build_editable, build_wheel
from tools.docs.notebooks import blocks
from tools.metadata import portable, urls
from tools.release import notes
from tools.workspace import ROOT, umbrella

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTRAS = set(umbrella().project["optional-dependencies"])
FIRST_PAGES = ("index.md", "installation.md", "tutorial.md", "gpus.md")
IN_A_CHECKOUT = [ROOT / "README.md", *(ROOT / "docs" / name for name in FIRST_PAGES)]
REQUIREMENT = re.compile(r"pip install (?P<lines>[^`\n#]*)")


def metadata_of(wheel: Path) -> list[tuple[str, str]]:
    """Return the fields of a wheel's metadata, the long description last."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = message_from_bytes(archive.read(name))
    return sorted(message.items()) + [("", message.get_payload())]


def test_a_checkout_requires_the_wheels_of_its_own_parts(tmp_path):
    wheel = tmp_path / build_wheel(str(tmp_path))
    required = [value for name, value in metadata_of(wheel) if name == "Requires-Dist"]
    paths = re.findall(r"@ file://(.+?\.whl)", unquote("\n".join(required)))
    assert len(paths) == len(required) - sum(line.startswith("tangrad[") for line in required)
    assert {Path(path).parent for path in paths} == {WHEELS}
    assert all((WHEELS / Path(path).name).exists() for path in paths)
    assert {re.match(r"[\w-]+", line)[0] for line in required if "extra" not in line} >= {"tangrad-core", "tangrad-lax"}


def test_an_editable_one_requires_versions_and_nothing_that_builds_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "editables", None)  # `make dev-refresh` builds without isolation
    required = [
        value for name, value in metadata_of(tmp_path / build_editable(str(tmp_path))) if name == "Requires-Dist"
    ]
    assert "tangrad-core<0.3,>=0.1" in required and not [line for line in required if "@" in line]


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_a_source_distribution_builds_the_same_wheel_by_itself(folder, tmp_path, wheels):
    with tarfile.open(build_source(folder, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    alone = next(path for path in tmp_path.iterdir() if path.is_dir())
    compiles = (folder / "native").exists()  # the wheels of the workspace are without a library
    if compiles and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("there is no compiler of C++ here")
    built = Path(next(WheelBuilder(str(alone)).build(directory=str(tmp_path), versions=["standard"])))
    name, version, *_ = built.name.split("-")
    (direct,) = wheels.glob(f"{name}-{version}-*.whl")
    assert metadata_of(built) == metadata_of(direct)
    with zipfile.ZipFile(built) as one, zipfile.ZipFile(direct) as other:
        found = {path for path in one.namelist() if "tangrad_kernels." not in path}
        assert found == set(other.namelist())
        assert (len(one.namelist()) > len(found)) == compiles


@pytest.mark.parametrize("page", IN_A_CHECKOUT, ids=lambda page: page.name)
def test_what_works_today_stands_first(page):
    first = REQUIREMENT.search(page.read_text())["lines"]
    assert re.fullmatch(r"(\.|\"\.\[\w+\]\") *", first), first


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_installations_name_extras_that_exist(page):
    for line in REQUIREMENT.findall(page.read_text()):
        for name, extras in re.findall(r"(?<![\w/-])(tangrad|\.)\[([\w,]+)\]", line):
            known = EXTRAS | ({"test"} if name == "." else set())  # the scaffold's packages have `test`
            assert set(extras.split(",")) <= known, line


@pytest.mark.slow
def test_the_first_line_of_the_tutorial_installs_it(tmp_path):
    """With pip itself, from the checkout as it stands."""
    typed = next(block.text for block in blocks(ROOT / "docs/tutorial.md") if "pip install" in block.text)
    commands = [line for line in typed.splitlines() if "-m venv" in line or "pip install" in line]
    assert len(commands) == 2
    environment = str(tmp_path / "env")
    for command in commands:
        parts = [part.replace("env", environment, 1) if part.startswith("env") else part for part in command.split()]
        run(parts, cwd=ROOT)
    program = "import tangrad; print(tangrad.grad(lambda x: x * x)(3.0))"
    assert run([f"{tmp_path}/env/bin/python", "-c", program], cwd=tmp_path).stdout == "6.0\n"


def test_a_page_is_read_outside_of_the_repository():
    page = "![a](b.png)\n[c](docs/d.md#e) [f](https://g.org)"
    assert portable(page, "") == "\nc [f](https://g.org)"
    assert portable(page, "https://h.org/x").splitlines() == [
        "![a](https://h.org/x/raw/main/b.png)",
        "[c](https://h.org/x/blob/main/docs/d.md#e) [f](https://g.org)",
    ]
    assert urls("https://h.org/x")["Issues"] == "https://h.org/x/issues"


def test_a_release_has_the_section_of_its_tag():
    changelog = "# C\n\n## 0.2.0 (2026)\n\nNew.\n\n## 0.1.0 (2025)\n\nFirst.\n"
    assert notes("v0.1.0", {"tangrad": "0.1.0"}, changelog) == "First.\n"
    with pytest.raises(ValueError, match="tangrad-core"):
        notes("v0.1.0", {"tangrad": "0.1.0", "tangrad-core": "0.2.0"}, changelog)
    with pytest.raises(ValueError, match=r"no section 0\.3\.0"):
        notes("v0.3.0", {"tangrad": "0.3.0"}, changelog)


def test_the_metadata_of_built_wheels_is_whole(wheels, tmp_path, capsys):
    assert tools.wheels.main([str(wheels)]) == 0, capsys.readouterr().out
    rows = capsys.readouterr().out.splitlines()[2:]
    assert len(rows) == len(folders()) and rows[0].startswith("| tangrad 0.1.0 | ")


def test_a_wheel_without_its_metadata_is_found(tmp_path):
    bare = tmp_path / "tangrad_bare-1-py3-none-any.whl"
    with zipfile.ZipFile(bare, "w") as archive:
        text = "Metadata-Version: 2.4\nName: tangrad-bare\nVersion: 1\nSummary: it\n\nSee [here](docs/there.md)."
        archive.writestr("tangrad_bare-1.dist-info/METADATA", text)
    found = tools.wheels.problems(bare)
    assert {"no Keywords", "no classifier Typing", "no License-Expression"} <= set(found)
    assert [problem for problem in found if "leads nowhere" in problem] and "no Summary" not in found


pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(os.name != "posix", reason="commands for a POSIX shell"),
]
LIMIT = 1800  # seconds for one block of commands
# What pip takes minutes for, jaxlib among it, uv links in seconds: environments get a `pip` that hands on to it.
WITH_UV = """#!/bin/sh
if [ "$1" != -m ] || [ "$2" != venv ]; then exec {python} "$@"; fi
{uv} venv --quiet --python {python} "$3"
printf '#!/bin/sh\\nexec {uv} pip "$@" --quiet --python %s/bin/python\\n' "$PWD/$3" > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""
ALONE = '#!/bin/sh\nexec {python} "$@"\n'


def reader(folder: Path, wheels: Path) -> dict[str, str]:
    """The variables of a user whose `python` is the running one, and whose index has the tree's wheels."""
    commands = folder / "bin"
    commands.mkdir()
    text = (WITH_UV if HAVE_UV else ALONE).format(python=sys.executable, uv=" ".join(UV))
    (commands / "python").write_text(text)
    (commands / "python").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_HANDED_ON)}
    return kept | {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
        "UV_FIND_LINKS": str(wheels),
        "UV_REFRESH": "1",  # wheels of the same version as last time are others
        "TANGRAD_CACHE_DIR": str(folder / "cache"),
    }


def test_to_the_letter(wheels, tmp_path):
    variables = reader(tmp_path, wheels)
    work = tmp_path / "work"
    work.mkdir()
    printed = []
    for block in blocks(ROOT / "docs/publish.md"):
        if block.file:
            (work / block.file).write_text(block.text)
        elif block.language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", block.text]
            done = subprocess.run(command, cwd=work, env=variables, capture_output=True, text=True, timeout=LIMIT)
            assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"
            printed.append(done.stdout)
    made, tested, checked, built, _, used = printed
    assert "Wrote tangrad-discounting" in made and " passed" in tested
    assert " 0 failed" in checked or "matrix.html" in checked
    assert "No hole in the matrix." in checked and "No problems found." in checked
    assert all(name in built for name in ("py.typed", "entry_points.txt", "discounting/primitives.py"))
    assert "[1.5 1.  2. ]" in used and "dormant" in used and "No problems found." in used
    assert {path.suffix for path in (work / "shelf").iterdir()} == {".whl", ".gz"}
