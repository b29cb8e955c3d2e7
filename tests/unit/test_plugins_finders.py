"""Distributions that are in no folder: finders with distributions of their own, archives, zipped applications."""

import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tangrad._core.composition.discovery import discover
from tests.unit.plugin_site import Site

HOOKS = "tangrad.hooks"

# A finder as a frozen application has: modules and distributions live in dictionaries.
FROZEN = """
import importlib.abc, importlib.machinery, importlib.metadata, sys

MODULES = {{"frozen_plugin": "def answer():\\n    return 42\\n"}}
FILES = {{
    "METADATA": "Metadata-Version: 2.1\\nName: Frozen.Plugin\\nVersion: 3.0\\n",
    "entry_points.txt": "[tangrad.api]\\nfrozen_answer = frozen_plugin:answer\\n",
}}

class FrozenDistribution(importlib.metadata.Distribution):
    def read_text(self, filename):
        return FILES.get(filename)

    def locate_file(self, path):
        raise NotImplementedError("there is no file")

class FrozenFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name in MODULES else None

    def exec_module(self, module):
        exec(MODULES[module.__name__], module.__dict__)

    def find_distributions(self, context=None):
        {body}

sys.meta_path.insert(0, FrozenFinder())
"""
USE = "import tangrad\nprint(tangrad.frozen_answer())\n"


def frozen(body: str = "return [FrozenDistribution()]") -> str:
    return FROZEN.format(body=body)


def test_the_distributions_of_a_finder_are_plugins_like_any(tmp_path: Path) -> None:
    code = (
        frozen()
        + USE
        + (
            "from tangrad.core.tools import plugin_manager\n"
            "print([name for name, _ in plugin_manager().list_name_plugin() if 'frozen' in name])\n"
            "from tangrad._core.composition.registry import composition\n"
            "print(composition().find('tangrad.api', 'frozen_answer').version)\n"
        )
    )
    result = Site(tmp_path / "site").run(code)
    assert result.stdout.split("\n")[:3] == ["42", "['frozen-plugin']", "3.0"], result.stderr


def test_a_finder_that_knows_what_is_in_a_folder_too_adds_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    site.add(
        "frozen-plugin",
        {"tangrad.api": {"frozen_answer": "in_folder:x"}},
        modules={"in_folder.py": "def x(): return 7"},
    )
    code = (
        frozen()
        + USE
        + "from tangrad._core.composition.registry import composition\nprint(composition().index.shadowed())"
    )
    result = site.run(code)
    assert result.stdout == "7\n[]\n", result.stderr


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no list')", "cannot say which distributions it has: RuntimeError: no list"),
        ("FILES['METADATA'] = ''; return [FrozenDistribution()]", "has a distribution that cannot be read"),
    ],
)
def test_a_finder_that_fails_is_a_problem_and_nothing_else(tmp_path: Path, body: str, words: str) -> None:
    code = frozen(body) + (
        "import tangrad\ntangrad.dtypes\nfrom tangrad._core.composition.registry import composition\n"
        "print(composition().index.problems())"
    )
    result = Site(tmp_path / "site").run(code)
    assert "finder FrozenFinder" in result.stdout and words in result.stdout, result.stdout + result.stderr


def test_what_is_no_distribution_is_left_out(tmp_path: Path) -> None:
    result = Site(tmp_path / "site").run(frozen("return [3, FrozenDistribution()]") + USE)
    assert result.stdout == "42\n", result.stderr


def test_a_finder_costs_nothing_where_there_is_none(tmp_path: Path) -> None:
    code = (
        "import sys, tangrad\ntangrad.dtypes\nassert not {'importlib.metadata', 'importlib_metadata'} & {*sys.modules}"
    )
    result = Site(tmp_path / "site").run(code)
    assert result.returncode == 0, result.stderr


def archive(file: Path, name: str = "zipped-plugin", value: str = "zipped_plugin:x") -> Path:
    folder = f"{name.replace('-', '_')}-0.2.dist-info"
    with zipfile.ZipFile(file, "w") as contents:
        contents.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.2\n")
        contents.writestr(f"{folder}/entry_points.txt", f"[tangrad.api]\nzipped = {value}\n")
        contents.writestr("zipped_plugin.py", "x = 'from the archive'\n")
        contents.writestr("__main__.py", "import tangrad\nprint(tangrad.zipped)\n")
    return file


@pytest.mark.parametrize("name", ["application.pyz", "application"])
def test_a_zipped_application_brings_its_plugins(tmp_path: Path, name: str) -> None:
    application = archive(tmp_path / name)
    result = subprocess.run([sys.executable, "-W", "error", application], capture_output=True, text=True, timeout=120)
    assert result.stdout == "from the archive\n", result.stderr


def test_archives_and_folders_hide_one_another_in_the_order_of_the_path(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    site.add("zipped-plugin", {"tangrad.api": {"zipped": "in_folder:x"}})
    wheel = str(archive(tmp_path / "plugin.whl"))
    assert discover([wheel, str(site.folder)]).rows("tangrad.api")[0][1] == "zipped_plugin:x"
    index = discover([str(site.folder), wheel])
    assert index.rows("tangrad.api")[0][1] == "in_folder:x"
    assert index.shadowed()[0][0] == "zipped-plugin"


def test_a_file_that_is_no_archive_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK no zip at all")
    index = discover([str(tmp_path / "broken.zip")])
    assert index.groups() == [] and index.problems() == []


def test_the_doctor_compares_with_importlib_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tangrad._console.report.installation import unseen_entries
    from tangrad._core.composition.registry import Composition

    site = Site(tmp_path / "site")
    site.add("plugin-a", {HOOKS: {"seen": "m:x"}})
    composition = Composition(None, {"TANGRAD_CACHE_DIR": "0"})
    assert list(unseen_entries(composition)) == []
    monkeypatch.syspath_prepend(str(site.folder))  # after the composition looked
    (problem,) = unseen_entries(composition)
    assert problem.what == ("importlib.metadata finds plugin-a:tangrad.hooks:seen (m:x), which tangrad does not find")
    assert list(unseen_entries(site.composition())) == []  # it looks elsewhere on purpose


def test_the_standard_library_s_metadata_goes_on_working(tmp_path: Path) -> None:
    """The backport takes over the finders of the standard library."""
    body = "return [FrozenDistribution()] if context.name in (None, 'frozen-plugin') else []"
    code = frozen(body) + USE + "import importlib.metadata\nprint(importlib.metadata.version('frozen-plugin'))\n"
    result = Site(tmp_path / "site").run(code + "print(importlib.metadata.version('numpy'))")
    expected = importlib.metadata.version("numpy")
    assert result.stdout == f"42\n3.0\n{expected}\n", result.stderr
