"""The persistent compilation cache: hits, damage, bounds, folders that do not serve, several processes."""

import logging
import os
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("jaxlib")
p = pytest.importorskip("tangrad._lax.elementwise.primitives")

from tangrad._backend_xla import cache_files, compilation_cache, jaxlib_api, settings
from tangrad.core import ShapedArray, get_backend, literal, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions
from tangrad.core.settings import SETTINGS

XLA = get_backend("xla")
F32 = np.dtype("float32")


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "cache"
    with SETTINGS["compilation_cache_dir"](str(place)), settings.xla_cache_min_compile_seconds(0.0):
        yield place
    cache_files.usable_folder.cache_clear()


@pytest.fixture
def compilations(monkeypatch):
    """Counts the programs that XLA compiles."""
    names = []
    original = jaxlib_api.compile_and_load

    def counted(client, module, *rest):
        names.append(str(module))
        return original(client, module, *rest)

    monkeypatch.setattr(jaxlib_api, "compile_and_load", counted)
    return names


def compute(factor: float = 2.0, name: str = "program") -> list:
    x = XLA.put(np.arange(3, dtype=F32), ShapedArray((3,), F32))
    closed = trace_to_closed_jaxpr(lambda x: (p.mul_p.bind(p.sin_p.bind(x), literal(factor, F32)),), [x.aval])
    program = XLA.compile(closed, CompileOptions(name))
    (out,) = program.execute([x])
    assert "HloModule" in program.as_text() and program.cost_analysis()["flops"] > 0
    np.testing.assert_allclose(out.to_numpy(), np.sin(np.arange(3, dtype=F32)) * F32.type(factor), rtol=1e-6)
    return out.tolist()


def entries(folder) -> list:
    return sorted(folder.glob("*" + cache_files.SUFFIX))


def test_the_second_time_nothing_is_compiled(folder, compilations) -> None:
    first = compute()
    assert len(compilations) == 1 and len(entries(folder)) == 1
    assert compute() == first
    assert len(compilations) == 1
    compute(3.0)
    assert len(compilations) == 2 and len(entries(folder)) == 2


def test_without_the_setting_nothing_is_written(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    compute()
    assert list(tmp_path.iterdir()) == []


def test_quick_compilations_are_not_worth_a_file(folder) -> None:
    with settings.xla_cache_min_compile_seconds(100.0):
        compute()
    assert entries(folder) == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign", "of another program"])
def test_damaged_entries_are_ignored_and_written_anew(folder, compilations, caplog, damage: str) -> None:
    compute()
    (path,) = entries(folder)
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "flipped":
        path.write_bytes(whole[:-10] + bytes([whole[-10] ^ 1]) + whole[-9:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(b"something else altogether")
    else:
        compute(5.0)
        (other,) = set(entries(folder)) - {path}
        path.write_bytes(other.read_bytes())
    compilations.clear()
    with caplog.at_level(logging.WARNING):
        compute()
    assert len(compilations) == 1 and "damaged or foreign" in caplog.text
    assert path.read_bytes()[: len(cache_files.MAGIC)] == cache_files.MAGIC
    compute()
    assert len(compilations) == 1


def test_an_entry_that_xla_refuses_is_written_anew(folder, compilations, caplog) -> None:
    compute()
    (path,) = entries(folder)
    payload = b"no executable"
    path.write_bytes(cache_files.packed(path.stem, cache_files.Description("program", "1", "cpu", "0"), payload))
    with caplog.at_level(logging.WARNING):
        compute()
    assert len(compilations) == 2 and "not usable" in caplog.text
    assert not path.read_bytes().endswith(payload)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs file owners")
@pytest.mark.parametrize("fault", ["another owner", "open to a group", "open to all", "a link", "a pipe", "a folder"])
def test_entries_that_others_could_have_written_are_not_run(folder, compilations, caplog, monkeypatch, fault) -> None:
    compute()
    (path,) = entries(folder)
    whole = path.read_bytes()
    if fault == "another owner":
        if os.getuid() == 0:
            os.chown(path, 12345, 12345)
        else:
            monkeypatch.setattr(cache_files, "read_own_file", as_another_user(monkeypatch))
    elif fault.startswith("open"):
        path.chmod(0o620 if fault == "open to a group" else 0o602)
    else:
        path.unlink()
        if fault == "a link":
            (folder / "planted").write_bytes(whole)
            path.symlink_to("planted")
        elif fault == "a pipe":
            os.mkfifo(path, 0o600)
        else:
            path.mkdir()
    compilations.clear()
    with caplog.at_level(logging.WARNING):
        compute()
    assert len(compilations) == 1 and "an entry cannot be used" in caplog.text
    if fault != "a folder":  # which a file cannot replace
        status = path.lstat()
        assert (status.st_uid, status.st_mode) == (os.getuid(), 0o100600)
        compute()
        assert len(compilations) == 1


def as_another_user(monkeypatch):
    """`read_own_file` as it is where the files belong to another user, at the first reading."""
    original, readings = cache_files.read_own_file, []

    def read(file: str) -> bytes:
        readings.append(file)
        if len(readings) > 1:  # it was written anew
            return original(file)
        with monkeypatch.context() as patch:
            patch.setattr(os, "getuid", lambda: 12345)
            return original(file)

    return read


def test_an_entry_under_the_name_of_another_key_is_not_run(folder, compilations, caplog) -> None:
    compute(2.0)
    (path,) = entries(folder)
    compute(3.0)
    (other,) = set(entries(folder)) - {path}
    os.replace(other, path)
    compilations.clear()
    with caplog.at_level(logging.WARNING):
        compute(2.0)  # whose result is checked: 3 would be the other program's
    assert len(compilations) == 1 and "damaged or foreign" in caplog.text


def test_the_least_recently_used_entries_go_first(folder) -> None:
    compute(2.0)
    (oldest,) = entries(folder)
    size = oldest.stat().st_size
    compute(3.0)
    (second,) = set(entries(folder)) - {oldest}
    past = time.time() - 1000
    os.utime(oldest, (past, past))
    os.utime(second, (past + 1, past + 1))
    compute(2.0)  # a hit makes it the latest
    with SETTINGS["compilation_cache_max_size"](size * 2 + size // 2):
        compute(4.0)
    assert oldest in entries(folder) and second not in entries(folder) and len(entries(folder)) == 2


def test_a_program_larger_than_the_limit_is_not_written(folder) -> None:
    with SETTINGS["compilation_cache_max_size"](100):
        compute()
    assert entries(folder) == []


def test_what_crashed_writers_left_is_removed(folder) -> None:
    folder.mkdir(mode=0o700)
    beginning = cache_files.MAGIC + b"x"
    past = time.time() - 2 * cache_files.ABANDONED_SECONDS
    ages = {".writing-old_1234": past, ".writing-empty123": past, ".writing-new_1234": time.time()}
    for name, age in ages.items():
        (folder / name).write_bytes(b"" if "empty" in name else beginning)
        os.utime(folder / name, (age, age))
    compute()
    assert [name for name in ages if (folder / name).exists()] == [".writing-new_1234"]


def test_files_of_others_in_the_folder_stay(folder) -> None:
    folder.mkdir(mode=0o700)
    compute(2.0)
    size = entries(folder)[0].stat().st_size
    theirs = ["a.csv", "model.xlaexec", f"{'0' * 64}.xlaexec", ".writing-notes", ".writing-thesis_1", f"{'1' * 64}.csv"]
    for name in theirs:
        (folder / name).write_bytes(b"time,value\n0,1\n")
        os.utime(folder / name, (1, 1))
    (folder / f"{'2' * 64}.xlaexec").mkdir()
    (folder / f"{'3' * 64}.xlaexec").symlink_to("a.csv")
    before = {path.name for path in folder.iterdir()}
    with SETTINGS["compilation_cache_max_size"](size + size // 2):
        for factor in (3.0, 4.0):
            compute(factor)
    after = {path.name for path in folder.iterdir()}
    assert len(before - after) == 1 and len(after - before) == 1  # of ours; theirs neither count nor go
    assert {*theirs, f"{'2' * 64}.xlaexec", f"{'3' * 64}.xlaexec"} <= after


def test_a_folder_that_cannot_be_made_only_logs(tmp_path, caplog) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with SETTINGS["compilation_cache_dir"](str(blocked / "cache")), caplog.at_level(logging.WARNING):
        compute()
        compute()
    assert caplog.text.count("not usable") == 1
    cache_files.usable_folder.cache_clear()


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, caplog, compilations) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with (
        SETTINGS["compilation_cache_dir"](str(shared)),
        settings.xla_cache_min_compile_seconds(0.0),
        caplog.at_level(logging.WARNING),
    ):
        compute()
    assert "can be written to by other users" in caplog.text and list(shared.iterdir()) == []
    cache_files.usable_folder.cache_clear()


@pytest.mark.parametrize("failing", ["mkstemp", "replace"])
def test_a_full_or_read_only_folder_only_logs(folder, caplog, monkeypatch, failing: str) -> None:
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    compute(7.0)
    module = cache_files.tempfile if failing == "mkstemp" else cache_files.os
    monkeypatch.setattr(module, failing, full)
    cache_files._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        compute(8.0)
        compute(9.0)
    assert caplog.text.count("No space left on device") == 1
    assert len(entries(folder)) == 1 and not list(folder.glob(".writing-*"))


def test_the_key_depends_on_all_that_matters(folder) -> None:
    from tangrad._backend_xla.lowering import lower_to_module

    device = XLA.devices()[0]
    closed = trace_to_closed_jaxpr(lambda x: (p.sin_p.bind(x),), [ShapedArray((3,), F32)])
    module = lower_to_module(closed, "program", "cpu").module
    options = jaxlib_api.make_compile_options([[device.raw]], 1, 1)
    key = compilation_cache.cache_key(module, [device], options)
    assert key == compilation_cache.cache_key(lower_to_module(closed, "program", "cpu").module, [device], options)
    other = jaxlib_api.make_compile_options([[device.raw]], 1, 1, overrides={"xla_cpu_enable_fast_math": True})
    assert key != compilation_cache.cache_key(module, [device], other)
    wider = trace_to_closed_jaxpr(lambda x: (p.sin_p.bind(x),), [ShapedArray((4,), F32)])
    assert key != compilation_cache.cache_key(lower_to_module(wider, "program", "cpu").module, [device], options)


WORKER = """
import numpy as np
from tangrad.core import ShapedArray, get_backend, literal, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions
from tangrad._lax.elementwise import primitives as p
xla = get_backend("xla")
x = xla.put(np.arange(3, dtype="float32"), ShapedArray((3,), "float32"))
for factor in range(6):
    closed = trace_to_closed_jaxpr(lambda x: (p.mul_p.bind(x, literal(float(factor), np.dtype("float32"))),), [x.aval])
    (out,) = xla.compile(closed, CompileOptions("program")).execute([x])
    assert out.tolist() == [0, factor, 2 * factor]
print("done")
"""


def test_several_processes_share_a_folder(tmp_path) -> None:
    place = tmp_path / "cache"
    environment = {
        **os.environ,
        "TANGRAD_COMPILATION_CACHE_DIR": str(place),
        "TANGRAD_XLA_CACHE_MIN_COMPILE_SECONDS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, "-c", WORKER]
    workers = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for worker in workers:
        output, _ = worker.communicate(timeout=120)
        assert worker.returncode == 0 and output == "done\n"
    assert len(entries(place)) == 6 and not list(place.glob(".writing-*"))


# --- The persistent cache by one line, and `tangrad cache`: what it shows, checks and removes ---


pytest.importorskip("tangrad.numpy")
pytest.importorskip("tangrad._console")

import tangrad
from tangrad._backend_xla import cache_control
from tangrad._console import cli

BY_REQUEST = (
    settings.compilation_cache_dir,
    settings.compilation_cache_max_size,
    settings.xla_cache_min_compile_seconds,
    settings.enable_compilation_cache,
)


@pytest.fixture
def chosen_folder(tmp_path):
    before = [setting.value for setting in BY_REQUEST]
    yield tmp_path / "programs"
    for setting, value in zip(BY_REQUEST, before, strict=True):
        setting.set(value)
    cache_files.usable_folder.cache_clear()


@pytest.fixture
def filled(chosen_folder):
    """A folder with two programs, of which `double` was used last."""
    tangrad.cache.enable(chosen_folder)
    for function in (triple, double):
        tangrad.jit(function, backend="xla").lower(np.ones(3, "float32")).compile()
    for entry in cache_files.entries(chosen_folder):
        age = 1_000_000_000 + (entry.contents().description.name == "double")
        os.utime(entry.path, (age, age))
    tangrad.cache.disable()
    return chosen_folder


def triple(x):
    return 3 * x


def double(x):
    return 2 * x


def run(capsys, *arguments: str) -> tuple[int, list[str]]:
    status = cli.main(["cache", *arguments])
    return status, capsys.readouterr().out.splitlines()


def names(folder) -> list[str]:
    return [entry.contents().description.name for entry in cache_files.entries(folder)]


def test_enabling_keeps_all_programs_and_disabling_stops(chosen_folder) -> None:
    assert tangrad.cache.enable(chosen_folder) == chosen_folder
    assert settings.xla_cache_min_compile_seconds.value == 0.0
    tangrad.jit(double, backend="xla").lower(np.ones(4, "float32")).compile()
    assert names(chosen_folder) == ["double"]
    tangrad.cache.disable()
    tangrad.jit(triple, backend="xla").lower(np.ones(4, "float32")).compile()
    assert names(chosen_folder) == ["double"]


def test_disabling_brings_the_threshold_back_and_leaves_the_folder(chosen_folder) -> None:
    before = settings.xla_cache_min_compile_seconds.value
    for _ in range(2):
        tangrad.cache.enable(chosen_folder)
        tangrad.cache.disable()
        assert settings.xla_cache_min_compile_seconds.value == before
    assert tangrad.cache.enable() == chosen_folder


@pytest.mark.parametrize(
    "wrong", [{"max_size": -1}, {"min_compile_seconds": -1}, {"max_size": 9, "min_compile_seconds": "a"}]
)
def test_a_refused_call_changes_nothing(chosen_folder, wrong) -> None:
    before = [setting.value for setting in BY_REQUEST]
    with pytest.raises((TypeError, ValueError)):
        tangrad.cache.enable(chosen_folder, **wrong)
    assert [setting.value for setting in BY_REQUEST] == before


def test_without_a_folder_the_setting_or_the_users_own_is_taken(chosen_folder, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TANGRAD_CACHE_DIR", str(tmp_path / "own"))
    assert tangrad.cache.enable() == tmp_path / "own" / "programs"
    settings.compilation_cache_dir.set(str(chosen_folder))
    assert tangrad.cache.enable(max_size=1000) == chosen_folder
    assert settings.compilation_cache_max_size.value == 1000


def test_a_user_without_a_cache_folder_must_name_one(chosen_folder, monkeypatch) -> None:
    settings.compilation_cache_dir.set(None)
    monkeypatch.setenv("TANGRAD_CACHE_DIR", "off")
    with pytest.raises(ValueError, match="pass path="):
        tangrad.cache.enable()
    assert settings.compilation_cache_dir.value is None


@pytest.mark.parametrize("wrong", [{"max_size": 0}, {"min_compile_seconds": -1.0}])
def test_what_cannot_be_enabled(chosen_folder, wrong) -> None:
    settings.compilation_cache_dir.set(None)
    with pytest.raises(ValueError, match="expected"):
        tangrad.cache.enable(chosen_folder, **wrong)
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
    assert cache_control._size(count) == text
