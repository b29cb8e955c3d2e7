"""The persistent cache by one line, and `tangrad cache`: what it shows, checks and removes."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jaxlib")
pytest.importorskip("tangrad.numpy")
pytest.importorskip("tangrad._console")

import tangrad
from tangrad._backend_xla import cache_command, cache_files, settings
from tangrad._console import cli

SETTINGS = (
    settings.compilation_cache_dir,
    settings.compilation_cache_max_size,
    settings.xla_cache_min_compile_seconds,
    settings.enable_compilation_cache,
)


@pytest.fixture
def folder(tmp_path):
    before = [setting.value for setting in SETTINGS]
    yield tmp_path / "programs"
    for setting, value in zip(SETTINGS, before, strict=True):
        setting.set(value)
    cache_files.usable_folder.cache_clear()


@pytest.fixture
def filled(folder):
    """A folder with two programs, of which `double` was used last."""
    tangrad.cache.enable(folder)
    for function in (triple, double):
        tangrad.jit(function, backend="xla").lower(np.ones(3, "float32")).compile()
    for entry in cache_files.entries(folder):
        age = 1_000_000_000 + (entry.contents().description.name == "double")
        os.utime(entry.path, (age, age))
    tangrad.cache.disable()
    return folder


def triple(x):
    return 3 * x


def double(x):
    return 2 * x


def run(capsys, *arguments: str) -> tuple[int, list[str]]:
    status = cli.main(["cache", *arguments])
    return status, capsys.readouterr().out.splitlines()


def names(folder) -> list[str]:
    return [entry.contents().description.name for entry in cache_files.entries(folder)]


def test_enabling_keeps_all_programs_and_disabling_stops(folder) -> None:
    assert tangrad.cache.enable(folder) == folder
    assert settings.xla_cache_min_compile_seconds.value == 0.0
    tangrad.jit(double, backend="xla").lower(np.ones(4, "float32")).compile()
    assert names(folder) == ["double"]
    tangrad.cache.disable()
    tangrad.jit(triple, backend="xla").lower(np.ones(4, "float32")).compile()
    assert names(folder) == ["double"]


def test_disabling_brings_the_threshold_back_and_leaves_the_folder(folder) -> None:
    before = settings.xla_cache_min_compile_seconds.value
    for _ in range(2):
        tangrad.cache.enable(folder)
        tangrad.cache.disable()
        assert settings.xla_cache_min_compile_seconds.value == before
    assert tangrad.cache.enable() == folder


@pytest.mark.parametrize(
    "wrong", [{"max_size": -1}, {"min_compile_seconds": -1}, {"max_size": 9, "min_compile_seconds": "a"}]
)
def test_a_refused_call_changes_nothing(folder, wrong) -> None:
    before = [setting.value for setting in SETTINGS]
    with pytest.raises((TypeError, ValueError)):
        tangrad.cache.enable(folder, **wrong)
    assert [setting.value for setting in SETTINGS] == before


def test_without_a_folder_the_setting_or_the_users_own_is_taken(folder, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TANGRAD_CACHE_DIR", str(tmp_path / "own"))
    assert tangrad.cache.enable() == tmp_path / "own" / "programs"
    settings.compilation_cache_dir.set(str(folder))
    assert tangrad.cache.enable(max_size=1000) == folder
    assert settings.compilation_cache_max_size.value == 1000


def test_a_user_without_a_cache_folder_must_name_one(folder, monkeypatch) -> None:
    settings.compilation_cache_dir.set(None)
    monkeypatch.setenv("TANGRAD_CACHE_DIR", "off")
    with pytest.raises(ValueError, match="pass path="):
        tangrad.cache.enable()
    assert settings.compilation_cache_dir.value is None


@pytest.mark.parametrize("wrong", [{"max_size": 0}, {"min_compile_seconds": -1.0}])
def test_what_cannot_be_enabled(folder, wrong) -> None:
    settings.compilation_cache_dir.set(None)
    with pytest.raises(ValueError, match="expected"):
        tangrad.cache.enable(folder, **wrong)
    assert settings.compilation_cache_dir.value is None


def test_the_list_has_the_least_recently_used_first(filled, capsys) -> None:
    status, lines = run(capsys, "list", "--folder", str(filled))
    assert status == 0 and len(lines) == 3
    assert "triple" in lines[0] and "double" in lines[1] and "2001-09-09" in lines[1]
    assert all("cpu, jaxlib" in line for line in lines[:2])
    assert lines[2].startswith("2 programs") and lines[2].endswith(str(filled))


def test_the_path_is_that_of_the_setting_or_the_users(filled, capsys, monkeypatch, tmp_path) -> None:
    settings.compilation_cache_dir.set(str(filled))
    assert run(capsys, "path") == (0, [str(filled)])
    settings.compilation_cache_dir.set(None)
    monkeypatch.setenv("TANGRAD_CACHE_DIR", str(tmp_path))
    assert run(capsys, "path") == (0, [str(tmp_path / "programs")])
    monkeypatch.setenv("TANGRAD_CACHE_DIR", "off")
    assert run(capsys, "path") == (2, [])


@pytest.mark.parametrize("fault", ["cut", "altered", "of another version", "another's name"])
def test_what_would_not_be_used_is_found(filled, capsys, fault: str) -> None:
    assert run(capsys, "verify", "--folder", str(filled))[0] == 0
    first, second = cache_files.entries(filled)
    whole = first.path.read_bytes()
    damaged = {
        "cut": whole[:-1],
        "altered": whole[:-1] + bytes([whole[-1] ^ 1]),
        "of another version": whole.replace(b"tangrad-xla-3", b"tangrad-xla-2", 1),
        "another's name": second.path.read_bytes(),
    }[fault]
    first.path.write_bytes(damaged)
    status, lines = run(capsys, "verify", "--folder", str(filled))
    assert status == 1 and lines[0].startswith(first.path.name)
    assert ("another version" in lines[0]) == (fault == "of another version")
    assert lines[1].startswith("2 programs, 1 of which would not be used")
    assert "2 programs" in run(capsys, "list", "--folder", str(filled))[1][-1]


def test_clearing_removes_programs_alone(filled, capsys) -> None:
    (filled / "notes.txt").write_text("mine")
    (filled / f"{'0' * 64}.xlaexec").write_text("mine too")
    status, lines = run(capsys, "clear", "--folder", str(filled))
    assert status == 0 and lines[0].startswith("2 files removed")
    assert sorted(path.name for path in filled.iterdir()) == [f"{'0' * 64}.xlaexec", "notes.txt"]


@pytest.mark.parametrize("action", ["list", "verify", "clear"])
def test_a_folder_that_is_not_there_has_no_programs(tmp_path, capsys, action: str) -> None:
    status, lines = run(capsys, action, "--folder", str(tmp_path / "nowhere"))
    assert status == 0 and lines[0].startswith("0 ")


def test_the_command_does_without_jaxlib(filled) -> None:
    program = (
        "import sys; from tangrad._console.cli import main; "
        f"main(['cache', 'list', '--folder', {str(filled)!r}]); sys.exit('jaxlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "double" in done.stdout


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")]
)
def test_sizes_are_written_for_people(count: int, text: str) -> None:
    assert cache_command._size(count) == text
