"""Makes the stubs that editors and checkers read: they follow from the tree, and the repository does not keep them.

    python -m tools.stubs

Whatever builds or checks calls this first: the build hook of each distribution that has stubs (`tools/build_hook.py`),
which also runs where nothing of ours is installed, and `make install`. Nothing is done where no file has changed.
"""

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.workspace import ROOT, Distribution, distributions

# What making them imports beside ours: a build in an environment of its own asks for these.
NEEDS = ("numpy>=2.0", "pluggy>=1.5", "typing-extensions>=4.12", "importlib-metadata>=8; python_version < '3.12'")
RECORD = Path("build") / "stubs.state"


def state(root: Path = ROOT) -> str:
    """Return a digest of what the stubs follow from, by times and sizes of files, and of which stubs there are."""
    digest = hashlib.sha256()
    for folder in (root / "tools", *(part.folder for part in distributions(root).values())):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".pyi", ".toml")):
            seen = path.stat()
            made = path.suffix == ".pyi"
            digest.update(f"{path.relative_to(root)} {seen.st_size} {'' if made else seen.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def are_current(root: Path = ROOT) -> bool:
    """Return whether nothing has changed since the stubs were made."""
    record = root / RECORD
    return record.is_file() and record.read_text() == state(root)


def record(root: Path = ROOT) -> None:
    """Keep that the stubs are current."""
    (root / RECORD).parent.mkdir(exist_ok=True)
    (root / RECORD).write_text(state(root))


def ensure(root: Path = ROOT) -> None:
    """Make the stubs unless they are current, in a process of its own; several builds at once wait for one another."""
    if are_current(root):
        return
    with alone((root / RECORD).with_suffix(".lock")), tempfile.TemporaryDirectory() as metadata:
        if are_current(root):
            return
        parts = list(distributions(root).values())
        for part in parts:
            _declare(part, Path(metadata))
        paths = [metadata, str(root), *(str(part.folder) for part in parts), *filter(None, sys.path)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        subprocess.run([sys.executable, "-m", "tools.generate_api", "--stubs"], cwd=root, env=environment, check=True)


def _declare(part: Distribution, folder: Path) -> None:
    """Write the metadata of a distribution that is not installed: its entry points are found by it."""
    name, version = part.name, part.project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines: list[str] = []
    for group, entries in part.entry_points.items():
        lines += [f"[{group}]", *(f"{public} = {value}" for public, value in entries.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """A context that one process at a time is in; `lock` is the file that they share, made where it is not there."""
    try:
        import fcntl
    except ImportError:  # Windows: each process makes what it needs, all alike
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    ensure()
