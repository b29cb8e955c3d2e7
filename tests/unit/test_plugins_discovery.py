"""Discovery: which distributions are found on the path, and what becomes of the cache in every bad condition."""

import importlib.metadata
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tangrad._core.composition import record as records
from tangrad._core.composition.discovery import cache_folder, discover
from tangrad._core.composition.record import Index
from tests.unit.plugin_site import Site

HOOKS = "tangrad.hooks"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


@pytest.fixture
def large(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A folder that is recorded: large, and unchanged for long."""
    site.fill(70)
    site.add("some-plugin", {HOOKS: {"one": "some_plugin:one"}})
    monkeypatch.setattr("tangrad._core.composition.discovery._RACY_NANOSECONDS", 0)
    return site


def found(site: Site, *, cached: bool = False, group: str = HOOKS) -> list[tuple[str, str, str, str]]:
    return discover([str(site.folder)], str(site.cache) if cached else None).rows(group)


def the_record(site: Site) -> Path:
    (file,) = site.cache.iterdir()
    return file


def with_checksum(body: bytes) -> bytes:
    return b"tangrad-discovery 1 %08x\n" % zlib.crc32(body) + body


def falsify(site: Site, old: bytes, new: bytes) -> None:
    """Replace a part of the record, under a right checksum: the record says what is not in the folder."""
    body = the_record(site).read_bytes().partition(b"\n")[2]
    assert body.count(old) == 1
    the_record(site).write_bytes(with_checksum(body.replace(old, new)))


def test_reads_entry_points_of_our_groups_only(site: Site) -> None:
    site.add(
        "My.Plugin", "[console_scripts]\nx = a:b\n\n[tangrad.hooks]\n# a comment\none=my_plugin.m:one\n two = m2:x.y \n"
    )
    index = discover([str(site.folder)])
    assert index.groups() == [HOOKS]
    assert index.rows(HOOKS) == [
        ("one", "my_plugin.m:one", "my-plugin", "1.0"),
        ("two", "m2:x.y", "my-plugin", "1.0"),
    ]
    assert index.has_distribution("my-plugin") and not index.has_distribution("other")


def test_agrees_with_importlib_metadata_on_this_environment() -> None:
    index = discover()
    for group in index.groups():
        theirs = {
            (entry.name, entry.value, records.normalise(entry.dist.name), entry.dist.version)
            for entry in importlib.metadata.entry_points(group=group)
        }
        assert set(index.rows(group)) == theirs
    all_groups = {group for group in importlib.metadata.entry_points().groups if group.startswith("tangrad.")}
    assert set(index.groups()) == all_groups


def test_the_first_folder_on_the_path_wins(tmp_path: Path) -> None:
    first, second = Site(tmp_path / "first"), Site(tmp_path / "second")
    first.add("plugin", {HOOKS: {"new": "m:new"}}, version="2.0")
    second.add("Plugin", {HOOKS: {"old": "m:old"}}, version="1.0")
    second.add("other", {HOOKS: {"other": "m:other"}})
    rows = discover([str(first.folder), str(second.folder)]).rows(HOOKS)
    assert rows == [("new", "m:new", "plugin", "2.0"), ("other", "m:other", "other", "1.0")]


def test_a_distribution_without_plugins_shadows_one_that_has_some(tmp_path: Path) -> None:
    first, second = Site(tmp_path / "first"), Site(tmp_path / "second")
    first.add("plugin", {})
    second.add("plugin", {HOOKS: {"old": "m:old"}})
    index = discover([str(first.folder), str(second.folder)])
    assert index.rows(HOOKS) == [] and index.distributions() == {}


def test_of_two_versions_in_one_folder_the_newer_counts(site: Site) -> None:
    site.add("plugin", {HOOKS: {"old": "m:old"}}, version="1.9")
    site.add("plugin", {HOOKS: {"new": "m:new"}}, version="1.10")
    assert found(site) == [("new", "m:new", "plugin", "1.10")]


def test_development_installs_with_egg_info(site: Site) -> None:
    folder = site.folder / "my_plugin.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 3.1\n\nVersion: 9\n")
    (folder / "entry_points.txt").write_text("[tangrad.hooks]\none = m:one\n")
    assert found(site) == [("one", "m:one", "my-plugin", "3.1")]


def test_an_egg_on_the_path(tmp_path: Path) -> None:
    egg = tmp_path / "my_plugin-0.3-py3.11.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO" / "entry_points.txt").write_text("[tangrad.hooks]\none = m:one\n")
    assert discover([str(egg)]).rows(HOOKS) == [("one", "m:one", "my-plugin", "0.3")]


def test_a_wheel_on_the_path(tmp_path: Path) -> None:
    wheel = tmp_path / "plugin-0.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("plugin-0.2.dist-info/entry_points.txt", "[tangrad.hooks]\none = m:one\n")
        archive.writestr("plugin-0.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: plugin\nVersion: 0.2\n")
        archive.writestr("plugin.py", "")
    (tmp_path / "broken.zip").write_bytes(b"PK no zip at all")
    assert discover([str(wheel), str(tmp_path / "broken.zip")]).rows(HOOKS) == [("one", "m:one", "plugin", "0.2")]


def test_odd_entries_of_the_path_are_left_out(site: Site, tmp_path: Path) -> None:
    site.add("plugin", {HOOKS: {"one": "m:one"}})
    (tmp_path / "file").write_text("")
    paths = [str(tmp_path / "absent"), str(tmp_path / "file"), b"bytes", 3, "\0", str(site.folder), str(site.folder)]
    assert len(discover(paths).rows(HOOKS)) == 1  # type: ignore[arg-type]


def test_the_current_folder_counts_as_python_counts_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("plugin", {HOOKS: {"one": "m:one"}})
    monkeypatch.chdir(site.folder)
    assert len(discover([""]).rows(HOOKS)) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[tangrad.hooks]\n\xff\xfe = m:x\n", "is not UTF-8"),
        (b"[tangrad.hooks]\njust words\n", "'just words' in [tangrad.hooks] is not 'name = module:attribute'"),
        (b"[tangrad.hooks]\na\tb = m:x\n", "is not 'name = module:attribute'"),
        (b"[tangrad.hooks]\n= m:x\n", "is not 'name = module:attribute'"),
    ],
)
def test_malformed_metadata_is_a_problem_of_that_distribution_alone(site: Site, content: bytes, words: str) -> None:
    site.add("bad", content)
    site.add("good", {HOOKS: {"one": "m:one"}})
    index = discover([str(site.folder)])
    assert index.rows(HOOKS) == [("one", "m:one", "good", "1.0")]
    ((name, problem),) = index.problems()
    assert name == "bad" and words in problem


def test_unreadable_metadata_is_a_problem(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: str) -> bytes:
        raise PermissionError(13, "Permission denied", file)

    site.add("bad", {HOOKS: {"one": "m:one"}})
    monkeypatch.setattr("tangrad._core.composition.discovery.read_regular_file", refuse)
    ((name, problem),) = discover([str(site.folder)]).problems()
    assert name == "bad" and "cannot be read: [Errno 13]" in problem


# --- the cache ------------------------------------------------------------------------------------------------------


def test_a_record_saves_the_scan(large: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = found(large, cached=True)
    monkeypatch.setattr(
        "tangrad._core.composition.discovery._scan", lambda *_: pytest.fail("scanned although nothing changed")
    )
    assert found(large, cached=True) == first == [("one", "some_plugin:one", "some-plugin", "1.0")]


def test_small_folders_are_not_recorded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangrad._core.composition.discovery._RACY_NANOSECONDS", 0)
    site.add("plugin", {HOOKS: {"one": "m:one"}})
    assert len(found(site, cached=True)) == 1
    assert not site.cache.exists()


def test_a_folder_that_changed_just_now_is_not_recorded(site: Site) -> None:
    site.fill(70)
    found(site, cached=True)
    assert not site.cache.exists()


def test_installing_and_removing_is_noticed(large: Site) -> None:
    assert len(found(large, cached=True)) == 1
    second = large.add("another", {HOOKS: {"two": "m:two"}})
    assert len(found(large, cached=True)) == 2
    second.unlink()
    (second.parent / "METADATA").unlink()
    second.parent.rmdir()
    assert len(found(large, cached=True)) == 1


def test_a_development_install_changed_in_place_is_noticed(large: Site) -> None:
    folder = large.folder / "mine.egg-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("")
    assert len(found(large, cached=True)) == 1
    (folder / "entry_points.txt").write_text("[tangrad.hooks]\nmine = m:mine\n")
    assert len(found(large, cached=True)) == 2


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def _alter(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"some_plugin:one", b"another_one:one"))


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _garbage(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 10)


def _other_version(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"tangrad-discovery 1", b"tangrad-discovery 9", 1))


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("damage", [_truncate, _alter, _empty, _garbage, _other_version])
def test_a_damaged_record_is_ignored_and_rewritten(large: Site, damage: object) -> None:
    expected = found(large, cached=True)
    whole = the_record(large).read_bytes()
    damage(the_record(large))  # type: ignore[operator]
    assert found(large, cached=True) == expected
    assert the_record(large).read_bytes() == whole


def test_a_folder_in_place_of_the_record_is_survived(large: Site) -> None:
    expected = found(large, cached=True)
    _folder(the_record(large))
    assert found(large, cached=True) == expected


def test_a_record_with_a_good_checksum_and_no_sense_is_ignored(large: Site) -> None:
    expected = found(large, cached=True)
    the_record(large).write_bytes(with_checksum(b"no tabs here"))
    assert found(large, cached=True) == expected


def test_the_record_of_another_folder_is_ignored(large: Site) -> None:
    expected = found(large, cached=True)
    falsify(large, b"some_plugin:one", b"elsewhere:one")
    assert found(large, cached=True)[0][1] == "elsewhere:one"  # taken at its word, until it is about another folder
    falsify(large, os.fsencode(large.folder) + b"\t", b"/somewhere/else\t")
    assert found(large, cached=True) == expected


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs file owners")
def test_a_record_that_another_user_wrote_is_ignored(large: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found(large, cached=True)
    falsify(large, b"some_plugin:one", b"elsewhere:one")
    assert found(large, cached=True)[0][1] == "elsewhere:one"  # this user's own is taken at its word
    assert records.is_record(str(the_record(large))) is True
    assert records.is_record(str(large.cache / "notes.txt")) is None
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert records.is_record(str(the_record(large))) is False
    assert found(large, cached=True) == expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and file modes")
@pytest.mark.parametrize("fault", ["open to a group", "a link", "a pipe", "a folder"])
def test_a_record_that_is_no_file_of_this_user_alone_is_ignored(large: Site, fault: str) -> None:
    expected = found(large, cached=True)
    falsify(large, b"some_plugin:one", b"elsewhere:one")
    record = the_record(large)
    if fault == "open to a group":
        record.chmod(0o664)
    else:
        falsified = record.read_bytes()
        record.unlink()
        if fault == "a link":
            (record.parent / "planted").write_bytes(falsified)
            record.symlink_to("planted")
        elif fault == "a pipe":
            os.mkfifo(record)  # an ordinary open would wait for a writer
        else:
            record.mkdir()
    assert found(large, cached=True) == expected
    if fault != "a folder":
        assert record.stat().st_mode == 0o100600  # written anew


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["plugin_p-1.0.dist-info", "plugin_p.egg-info"])
def test_pipes_among_metadata_do_not_stop_the_start(site: Site, name: str) -> None:
    site.add("plugin-a", {"tangrad.api": {"good": "some_module:x"}})
    (site.folder / name).mkdir()
    os.mkfifo(site.folder / name / "entry_points.txt")
    index = discover([str(site.folder)])
    assert [row[0] for row in index.rows("tangrad.api")] == ["good"]
    ((distribution, problem),) = index.problems()
    assert distribution == "plugin-p" and "is not a regular file" in problem


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_the_version_does_not_stop_the_start(site: Site) -> None:
    folder = site.folder / "plugin_p.egg-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[tangrad.api]\ngood = some_module:x\n")
    os.mkfifo(folder / "PKG-INFO")
    assert [row[::3] for row in discover([str(site.folder)]).rows("tangrad.api")] == [("good", "")]


def test_a_working_directory_that_is_gone_is_left_out(site: Site, tmp_path: Path) -> None:
    site.add("plugin-a", {"tangrad.api": {"good": "some_module:x"}})
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"""
import os, sys
os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})
from tangrad._core.composition.discovery import discover
print([row[0] for row in discover(["", "relative", {str(site.folder)!r}]).rows("tangrad.api")])
import tangrad, tangrad.numpy as np
assert "" in sys.path
print((np.ones(2) + 1).tolist())
"""
    done = site.run(code)
    assert done.stdout.splitlines() == ["['good']", "[2.0, 2.0]"], done.stderr


def test_a_cache_folder_that_cannot_be_made_is_survived(large: Site) -> None:
    large.cache.write_text("a file where the folder should be")
    assert len(found(large, cached=True)) == 1


def test_a_full_disk_is_survived_and_leaves_nothing_behind(large: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tangrad._core.composition.record.os.replace", full)
    assert len(found(large, cached=True)) == 1
    assert list(large.cache.iterdir()) == []


def test_a_read_only_cache_folder_is_survived(large: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: str, contents: bytes) -> None:
        raise PermissionError(13, "Permission denied", file)

    monkeypatch.setattr("tangrad._core.composition.record.write_new_file", refuse)
    assert len(found(large, cached=True)) == 1
    assert list(large.cache.iterdir()) == []


def test_the_number_of_records_is_bounded(large: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangrad._core.composition.discovery._MAXIMUM_RECORDS", 3)
    large.cache.mkdir()
    for number in range(6):
        plant(large.cache / records.file_name(f"/old{number}"), with_checksum(b"%d" % number), number)
    found(large, cached=True)
    kept = {records.file_name(path) for path in ("/old4", "/old5", str(large.folder))}
    assert {file.name for file in large.cache.iterdir()} == kept


def plant(file: Path, contents: bytes, time: float) -> None:
    file.write_bytes(contents)
    os.utime(file, (time, time))


def test_what_an_interrupted_writer_left_goes_too(large: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangrad._core.composition.discovery._MAXIMUM_RECORDS", 1)
    large.cache.mkdir()
    plant(large.cache / f"{records.file_name('/old')}.123.7f00beef", with_checksum(b"whole")[:30], 1)
    plant(large.cache / f"{records.file_name('/old')}.124.7f00beef", b"", 1)
    found(large, cached=True)
    assert [file.name for file in large.cache.iterdir()] == [records.file_name(str(large.folder))]


def test_files_of_others_in_the_cache_folder_stay(large: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangrad._core.composition.discovery._MAXIMUM_RECORDS", 2)
    large.cache.mkdir()
    theirs = [f"measurement_{number}.csv" for number in range(200)]
    theirs += ["0123456789abcdef.txt", "0123456789abcdef.csv", "notes.txt", "fedcba9876543210.txt.1.2", "plain"]
    for name in theirs:
        plant(large.cache / name, b"time,value\n0,1\n", 1)
    plant(large.cache / "0123456789abcdee.txt", b"", 1)
    (large.cache / "0123456789abcded.txt").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(large.cache / "0123456789abcdec.txt")  # an ordinary open would wait for a writer
    before = {file.name for file in large.cache.iterdir()}
    for number in range(4):
        plant(large.cache / records.file_name(f"/old{number}"), with_checksum(b"old"), number)
    assert len(found(large, cached=True)) == 1
    after = {file.name for file in large.cache.iterdir()}
    assert after - before == {records.file_name("/old3"), records.file_name(str(large.folder))} and before <= after


def test_paths_beyond_utf8_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangrad._core.composition.discovery._RACY_NANOSECONDS", 0)
    try:
        site = Site(tmp_path / os.fsdecode(b"caf\xe9"))
    except OSError:
        pytest.skip("the file system takes no such names")
    site.fill(70)
    site.add("plugin", {HOOKS: {"one": "m:one"}})
    assert found(site, cached=True) == [("one", "m:one", "plugin", "1.0")]
    falsify(site, b"m:one", b"m:recorded")
    assert found(site, cached=True) == [("one", "m:recorded", "plugin", "1.0")]  # the record is what is read


@pytest.mark.skipif(sys.platform == "win32", reason="home folders are named by other variables")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TANGRAD_CACHE_DIR": "0"}, None),
        ({"TANGRAD_CACHE_DIR": "off"}, None),
        ({"TANGRAD_CACHE_DIR": ""}, None),
        ({"TANGRAD_CACHE_DIR": "/there"}, "/there/discovery"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/tangrad/discovery"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/tangrad/discovery"),
        ({}, "~/.cache/tangrad/discovery"),
    ],
)
def test_where_the_cache_is(environment: dict[str, str], expected: str | None) -> None:
    assert cache_folder(environment) == (None if expected is None else os.path.expanduser(expected))


# A record as discovery writes them, of a folder that is always the same: what is altered must not depend on where
# the tests run.
BODY = (
    b"/srv/python/site-packages\t12:34:56\nsome-plugin\tother\tthird\n"
    b"[@]\nsome-plugin\t1.0\t/srv/python/site-packages/some_plugin-1.0.dist-info/entry_points.txt\n"
    b"third\t2.0\t/srv/python/site-packages/third.egg-info/entry_points.txt\n"
    b"[tangrad.hooks]\none\tsome_plugin:one\tsome-plugin\none.more\tsome_plugin:more\tsome-plugin\n"
    b"[tangrad.api]\nnumpy.fresnel\tthird.numbers:fresnel\tthird\n"
    b"[~]\n/srv/python/site-packages/third.egg-info/entry_points.txt\t12:34\n"
    b"[!]\nother\tits metadata cannot be read"
)
PIECES = [b"", b"\n", b"\t", b"\n[", b"]\n", b"\xff", b"@~!", b"\n\n", b"\t\t", b"\n[]\n", b"one", b"."]


def altered_records() -> Iterator[bytes]:
    """The record cut at every place, from both sides, and with every piece in place of nothing, one and two bytes."""
    for place in range(len(BODY) + 1):
        yield BODY[:place]
        yield BODY[place:]
        for piece in PIECES:
            for length in range(3):
                yield BODY[:place] + piece + BODY[place + length :]


def test_no_nonsense_in_a_record_raises() -> None:
    """Records with a right checksum over altered content: no exception, and all questions are answered alike."""
    read = with_rows = 0
    for body in dict.fromkeys(altered_records()):
        record = records.parse(with_checksum(body))
        if record is not None:
            read += 1
            with_rows += _check_answers(Index([record]))
    assert read > 10_000 and with_rows > 10_000  # most alterations leave something to read


ENTRY_POINTS = (
    b"# ours\n[tangrad.hooks]\none = a_module:one\n\n[console_scripts]\nx=y\n[tangrad.api]\nnumpy.f = m.n:f.g [extra]\n"
)


def test_every_alteration_of_metadata_is_read_or_a_problem(tmp_path: Path) -> None:
    """And what is recorded of it is what was read."""
    recorded = 0
    for place in range(len(ENTRY_POINTS) + 1):
        for piece in (
            b"",
            b"\n",
            b"[",
            b"]",
            b"=",
            b"\t",
            b"\xff",
            b"\x0b",
            b"\xc2\x85",
            b"\r",
            b"\n[",
            b"]\n",
            b"[@]\n",
        ):
            for content in (ENTRY_POINTS[:place] + piece, ENTRY_POINTS[:place] + piece + ENTRY_POINTS[place + 1 :]):
                record = records.Record("/there", "1:2:3")
                record.add_name("some-plugin")
                record.add_entry_points("some-plugin", "1.0", content, "/there/entry_points.txt")
                _check_answers(Index([record]))
                assert record.is_same(records.parse(with_checksum(record.text().encode("utf-8", "surrogateescape"))))
                recorded += 1
    assert recorded > 2000


@pytest.mark.parametrize("name", ["[tangrad.hooks]", "a\nb", "a\tb", "\n[tangrad.hooks]\none\tevil:one\tsome-plugin"])
def test_folders_with_odd_names_are_no_records_of_others(large: Site, name: str) -> None:
    try:
        (large.folder / f"{name}-1.0.dist-info").mkdir()
    except OSError:
        pytest.skip("the file system takes no such names")
    first = found(large, cached=True)
    assert first == [("one", "some_plugin:one", "some-plugin", "1.0")] and found(large, cached=True) == first


def test_every_cut_and_every_byte_of_a_record_is_noticed() -> None:
    whole = with_checksum(BODY)
    assert records.parse(whole) is not None
    for place in range(len(whole)):
        assert records.parse(whole[:place]) is None
        for value in (0, 9, 10, 91, 255, whole[place] ^ 1):
            if value != whole[place]:
                assert records.parse(whole[:place] + bytes([value]) + whole[place + 1 :]) is None


def _check_answers(index: Index) -> int:
    """Assert that an index answers in the right form, and the same however it is asked. Returns the number of rows."""
    distributions = index.distributions()
    for name, one in distributions.items():
        assert one.name == name and all(isinstance(part, str) for part in one)
    rows = [(group, row) for group in index.groups() for row in index.rows(group)]
    for group, row in rows:
        name, _, distribution, version = row
        assert version == distributions[distribution].version
        assert row in index.rows(group, name) and row in index.rows(group, name, with_suffixes=True)
    for group in [*index.groups(), "@", "~", "!", "absent"]:
        for name in ("", "one", "one.more", "numpy", "\n", "\t", *distributions):
            assert set(index.rows(group, name)) <= {row for owner, row in rows if owner == group}
            index.rows(group, name, with_suffixes=True)
    for name in ("", *distributions):
        assert index.groups_of(name) <= set(index.groups())
    index.shadowed()
    for problem in index.problems():
        assert [type(part) for part in problem] == [str, str]
    return len(rows)
