"""Where `tangrad stubs` writes: its own files are brought up to date, and nothing else is changed."""

from pathlib import Path

import pytest

from tangrad._console.stubs import NAME, differing, write

ADDED = "\n# Added by `tangrad stubs`: what other distributions provide.\nfrom a import b as b\n\n__all__ = ['b']\n"
FILES = {f"{NAME}/lax/__init__.pyi": ADDED, f"{NAME}/py.typed": "partial\n"}


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_it_wrote_is_changed_and_deleted(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    assert contents(tmp_path) == FILES and differing(FILES, tmp_path) == []
    later = {f"{NAME}/numpy/__init__.pyi": ADDED, f"{NAME}/py.typed": "partial\n"}
    assert differing(later, tmp_path) == [f"{NAME}/lax/__init__.pyi", f"{NAME}/numpy/__init__.pyi"]
    write(later, tmp_path)
    assert contents(tmp_path) == later and not (tmp_path / NAME / "lax").exists()
    write({}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_stay(tmp_path: Path) -> None:
    theirs = {f"{NAME}/notes.txt": "mine", f"{NAME}/lax/own.pyi": "x: int\n", f"{NAME}/nn/__init__.pyi": "x: int\n"}
    for path, text in theirs.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / NAME / "empty").mkdir()
    write(FILES, tmp_path)
    assert contents(tmp_path) == theirs | FILES and differing(FILES, tmp_path) == []
    write({}, tmp_path)
    assert contents(tmp_path) == theirs and (tmp_path / NAME / "empty").is_dir()


def test_what_it_did_not_write_is_not_overwritten(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    stub = tmp_path / NAME / "numpy" / "__init__.pyi"
    stub.parent.mkdir()
    stub.write_text("x: int\n")
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"numpy/__init__\.pyi is not of this command's making"):
        write({f"{NAME}/numpy/__init__.pyi": ADDED}, tmp_path)
    assert contents(tmp_path) == before
