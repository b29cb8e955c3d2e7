"""The public API: how names resolve, and what is said where one does not."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tangrad
import tangrad.core
from tangrad._console.explanations import catalogue
from tangrad._core.composition.missing_names import LastFinder
from tangrad._core.composition.registry import composition
from tangrad._core.diagnostics.errors import (
    BrokenPluginError,
    DeniedPluginError,
    MissingDistributionError,
    MissingDistributionImportError,
    PluginConflictError,
    PluginWarning,
)
from tangrad.core import register
from tangrad.core.tools import configure_plugins, how_to_install
from tests.unit.plugin_site import Site


@pytest.fixture
def imaginary(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue knows a distribution that is not installed."""
    monkeypatch.setitem(catalogue.PUBLIC_NAMES, "tangrad-imaginary", "imagine core.imagine")
    monkeypatch.setitem(catalogue.MODULES, "tangrad-imaginary", "tangrad.imaginary tangrad.wonders.imaginary")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A folder on the path of this process, which its composition sees after `refresh`."""
    site = Site(tmp_path / "site")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(site.folder))
        yield site
    composition().refresh()


def test_a_name_resolves_once_and_is_then_a_global() -> None:
    with register(pytest, group="api", name="probe"):
        assert tangrad.probe is pytest  # type: ignore[attr-defined]
        assert vars(tangrad)["probe"] is pytest
        assert "probe" in dir(tangrad)
    assert "probe" not in vars(tangrad) and "probe" not in dir(tangrad)
    assert not hasattr(tangrad, "probe")


def test_a_name_that_the_user_put_there_stays() -> None:
    with register(pytest, group="api", name="probe"):
        assert tangrad.probe is pytest  # type: ignore[attr-defined]
        tangrad.probe = 3  # type: ignore[attr-defined]
    assert tangrad.probe == 3  # type: ignore[attr-defined]
    del tangrad.probe  # type: ignore[attr-defined]


def test_names_of_sub_packages() -> None:
    getattr_, dir_ = tangrad._core.composition.api.public_package("tangrad.core")
    with register(pytest, group="api", name="core.probe"):
        assert getattr_("probe") is pytest and "probe" in dir_()
        assert "core.probe" not in dir(tangrad) and "probe" not in dir(tangrad)
    assert "probe" not in vars(tangrad.core)


def test_modules_resolve_as_attributes(tmp_path: Path) -> None:
    code = "import sys, tangrad\nassert 'tangrad.tree' not in sys.modules\nprint(tangrad.tree.__name__)"
    result = Site(tmp_path / "site").run(code)
    assert result.stdout == "tangrad.tree\n", result.stderr


def test_dir_lists_modules_and_none_of_what_the_package_imported() -> None:
    names = dir(tangrad)
    assert {"core", "tree"} <= set(names)
    assert not {"os", "sys", "annotations", "public_package"} & set(names)
    assert names == sorted(set(names))


def test_star_import_brings_what_can_be_used(site: Site) -> None:
    site.add("plugin-a", {"tangrad.api": {"star_good": "star_module:x", "star_denied": "star_module:y"}})
    (site.folder / "star_module.py").write_text("x = 1\ny = 2\n")
    composition().refresh()
    configure_plugins(deny=["plugin-a:api:star_denied"])
    try:
        names = tangrad.__all__
        assert "star_good" in names and "star_denied" not in names
    finally:
        configure_plugins()


def test_unknown_names_are_attribute_errors_with_a_suggestion() -> None:
    with (
        register(pytest, group="api", name="some_function"),
        pytest.raises(
            AttributeError, match="module 'tangrad' has no attribute 'some_fucntion'; did you mean 'some_function'"
        ),
    ):
        tangrad.some_fucntion  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"(?m)no attribute 'zzzzzzzz'$") as raised:
        tangrad.zzzzzzzz  # type: ignore[attr-defined]
    assert raised.value.name == "zzzzzzzz" and raised.value.obj is tangrad
    with pytest.raises(AttributeError, match="no attribute '__wrapped__'"):
        tangrad.__wrapped__  # type: ignore[attr-defined]


def test_a_broken_plugin_s_name_raises_its_cause(site: Site) -> None:
    site.add("plugin-a", {"tangrad.api": {"broken_name": "broken_api_module:x"}})
    (site.folder / "broken_api_module.py").write_text("import a_module_that_is_not_there")
    composition().refresh()
    with pytest.warns(PluginWarning), pytest.raises(BrokenPluginError, match="a_module_that_is_not_there") as raised:
        tangrad.broken_name  # type: ignore[attr-defined]
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)
    with pytest.raises(BrokenPluginError):
        exec("from tangrad import broken_name")


def test_denied_and_conflicting_names(site: Site) -> None:
    for name in ("plugin-a", "plugin-b"):
        site.add(name, {"tangrad.api": {"claimed": f"{name.replace('-', '_')}:x"}})
        (site.folder / f"{name.replace('-', '_')}.py").write_text(f"x = {name!r}")
    composition().refresh()
    with pytest.raises(PluginConflictError, match=r"plugin-a 1\.0 .* and plugin-b 1\.0"):
        tangrad.claimed  # type: ignore[attr-defined]
    try:
        configure_plugins(prefer={"api:claimed": "plugin-b"})
        assert tangrad.claimed == "plugin-b"  # type: ignore[attr-defined]
        configure_plugins(prefer={"api:claimed": "plugin-a"})
        assert tangrad.claimed == "plugin-a"  # type: ignore[attr-defined]
        configure_plugins(deny=["plugin-*"])
        with pytest.raises(DeniedPluginError, match="configure_plugins"):
            tangrad.claimed  # type: ignore[attr-defined]
    finally:
        configure_plugins()


# --- what is not installed ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("imaginary")
def test_a_missing_name_says_what_to_install() -> None:
    with pytest.raises(MissingDistributionError, match="pip install tangrad-imaginary") as raised:
        tangrad.imagine  # type: ignore[attr-defined]
    assert isinstance(raised.value, AttributeError) and "tangrad.imagine " in str(raised.value)
    assert not hasattr(tangrad, "imagine")
    with pytest.raises(MissingDistributionError, match="tangrad-imaginary"):
        tangrad.imaginary  # type: ignore[attr-defined]


@pytest.mark.usefixtures("imaginary")
def test_without_explanations_a_missing_name_is_said_by_the_kernel_alone() -> None:
    configure_plugins(deny=["*:tangrad.explanations:*"])
    try:
        with pytest.raises(AttributeError, match=r"no entry 'imagine' of the group 'tangrad\.api'") as raised:
            tangrad.imagine  # type: ignore[attr-defined]
        assert not isinstance(raised.value, MissingDistributionError)
        with pytest.raises(ModuleNotFoundError, match=r"^No module named 'tangrad.imaginary'$"):
            exec("import tangrad.imaginary")
        with pytest.raises(AttributeError, match=r"no such entry of the group 'tangrad\.array'"):
            tangrad.numpy.zeros(3).unsqueeze
        assert how_to_install("imagine") == "pip install tangrad"
    finally:
        configure_plugins()
    assert how_to_install("imagine") == "pip install tangrad-imaginary"
    with pytest.raises(MissingDistributionError):
        tangrad.imagine  # type: ignore[attr-defined]


def test_explanations_are_of_their_class() -> None:
    with pytest.raises(TypeError, match="expected Explanations, got 3 of type int"):
        register(3, group="explanations", name="missing")


def test_whose_explanations_are_broken_has_those_of_the_kernel(site: Site) -> None:
    site.add("talkative", {"tangrad.explanations": {"missing": "no_such_module:words"}})
    code = "import tangrad, warnings\nwarnings.simplefilter('default')\ntangrad.no_such_name"
    done = site.run(code, TANGRAD_PREFER="explanations:missing=talkative")
    assert "no entry 'no_such_name' of the group 'tangrad.api'" in done.stderr, done.stderr
    assert "no_such_module" in done.stderr


@pytest.mark.usefixtures("imaginary")
@pytest.mark.parametrize(
    "statement",
    [
        "import tangrad.imaginary",
        "import tangrad.imaginary.deeper",
        "from tangrad.imaginary import anything",
        "from tangrad import imaginary",
        "from tangrad import imagine",
        "import tangrad.wonders",
        "import tangrad.wonders.imaginary",
    ],
)
def test_a_missing_import_says_what_to_install(statement: str) -> None:
    with pytest.raises(MissingDistributionImportError, match="pip install tangrad-imaginary") as raised:
        exec(statement)
    assert isinstance(raised.value, ModuleNotFoundError)


@pytest.mark.usefixtures("imaginary")
def test_an_installed_distribution_is_not_called_missing(site: Site) -> None:
    site.add("tangrad-imaginary", {})
    composition().refresh()
    with pytest.raises(AttributeError) as raised:
        tangrad.imagine  # type: ignore[attr-defined]
    assert not isinstance(raised.value, MissingDistributionError)
    with pytest.raises(ImportError, match="cannot import name 'imagine'"):
        exec("from tangrad import imagine")


@pytest.mark.usefixtures("imaginary")
def test_what_is_installed_meanwhile_is_found(site: Site) -> None:
    assert not hasattr(tangrad, "imagine")
    modules = {"imaginary_module.py": "imagine = 'all the people'"}
    site.add("tangrad-imaginary", {"tangrad.api": {"imagine": "imaginary_module:imagine"}}, modules=modules)
    assert tangrad.imagine == "all the people"  # type: ignore[attr-defined]


def test_unknown_modules_are_ordinary_errors() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'tangrad.nowhere'$"):
        exec("import tangrad.nowhere")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'tangrad.lax.nowhere'$"):
        exec("import tangrad.lax.nowhere")


@pytest.mark.usefixtures("imaginary")
def test_a_finder_that_came_later_is_asked_before_anything_is_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.machinery import ModuleSpec

    class Later:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            return ModuleSpec(name, Later, is_package=False) if name == "tangrad.imaginary" else None  # type: ignore[arg-type]

        @staticmethod
        def create_module(spec: ModuleSpec) -> None:
            return None

        @staticmethod
        def exec_module(module: Any) -> None:
            module.answer = 42

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Later])
    try:
        exec("import tangrad.imaginary")
        assert sys.modules["tangrad.imaginary"].answer == 42
    finally:
        sys.modules.pop("tangrad.imaginary", None)
        vars(tangrad).pop("imaginary", None)


def test_a_module_whose_own_import_fails_is_not_called_missing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.folder / "tangrad").mkdir()
    (site.folder / "tangrad" / "ill_module.py").write_text("import not_there_at_all")
    monkeypatch.setattr(tangrad, "__path__", [*tangrad.__path__, str(site.folder / "tangrad")])
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        tangrad.ill_module  # type: ignore[attr-defined]


def test_the_finder_is_there_once_and_minds_its_own_business() -> None:
    assert sys.meta_path.count(LastFinder) == 1  # type: ignore[arg-type]
    assert LastFinder.find_spec("numpy.nowhere") is None
    assert LastFinder.find_spec("tangradx") is None


# --- import is cheap ------------------------------------------------------------------------------------------------


def test_importing_loads_no_plugin_and_no_heavy_module(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    site.add("plugin-a", {"tangrad.api": {"x": "never_imported:x"}, "tangrad.hooks": {"x": "never_imported:x"}})
    (site.folder / "never_imported.py").write_text("raise SystemExit('imported')")
    heavy = (
        "pluggy",
        "json",
        "importlib.metadata",
        "email",
        "pathlib",
        "zipfile",
        "argparse",
        "logging",
        "difflib",
        "dataclasses",
    )
    code = (
        "import sys, numpy\nbefore = set(sys.modules)\nimport tangrad\n"
        "new = set(sys.modules) - before\n"
        f"print(sorted(new & set({heavy!r})), 'never_imported' in sys.modules, "
        "sorted({m.split('.')[2] for m in new if m.startswith('tangrad._core.')}))"
    )
    result = site.run(code)
    rooms = ["composition", "diagnostics", "settings"]
    assert result.stdout == f"[] False {rooms}\n", result.stdout + result.stderr


# --- modules under old names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tangrad.kernel.aval", "tangrad._core.kernel.aval"),
        ("tangrad.backends.numpy.backend", "tangrad._backend_numpy.backend"),
        ("tangrad.jitting.function", "tangrad._jit.function"),
    ],
)
def test_a_module_under_its_old_name_is_the_same_module(site: Site, old: str, new: str) -> None:
    code = f"""
import importlib, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert importlib.import_module({old!r}) is importlib.import_module({new!r})
print([str(one.message).rpartition("; ")[2] for one in caught if one.category is DeprecationWarning][-1])
"""
    assert site.run(code).stdout == f"the module itself is {new} now\n"


def test_old_names_are_stated_by_whose_the_modules_are(site: Site) -> None:
    names = {"tangrad.old_names": {"abacus": "acme_beads"}}
    site.add("acme", names, modules={"acme_beads/__init__.py": "", "acme_beads/wires.py": "count = 10\n"})
    code = "import warnings\nwarnings.simplefilter('ignore')\nfrom tangrad.abacus.wires import count\nprint(count)"
    assert site.run(code).stdout == "10\n"
    assert "No module named 'tangrad.abacus'" in site.run(code, TANGRAD_DENY="acme").stderr
