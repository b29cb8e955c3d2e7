"""Builds the wheels of all distributions of the workspace into one folder: `python -m tools.build_wheels dist`.

With `--sdists` it builds their source distributions instead, each of which builds and installs by itself.
With `--kept` it prints a folder that has the wheels of the tree as it stands, and builds them only where none does.
"""

import argparse
import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tools import stubs
from tools.metadata import PARTS, SHARED, complete_text, configuration
from tools.workspace import ROOT, distributions, umbrella

NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", "build", "dist", ".*_cache")


def folders(root: Path = ROOT) -> list[Path]:
    """Return the folder of every distribution, the umbrella included."""
    return [umbrella(root).folder, *(part.folder for part in distributions(root).values())]


def build_one(folder: Path, target: Path) -> Path:
    """Build the wheel of one distribution into `target`, and return its path."""
    stubs.ensure()
    builder = WheelBuilder(str(folder), config=configuration(folder))
    return Path(next(builder.build(directory=str(target), versions=["standard"])))


def build_source(folder: Path, target: Path) -> Path:
    """Build the source distribution of one distribution into `target`, and return its path."""
    stubs.ensure()
    project = configuration(folder)["project"]
    with tempfile.TemporaryDirectory() as work:
        alone = Path(work) / "it"
        if folder == ROOT:
            alone.mkdir()
            for name in ("LICENSE", "NOTICE", "CHANGELOG.md"):
                shutil.copy(folder / name, alone)
        else:
            shutil.copytree(folder, alone, ignore=NOT_SHIPPED)
        (alone / "pyproject.toml").write_text(complete_text(folder))
        (alone / "README.md").write_text(project["readme"]["text"])
        return Path(next(SdistBuilder(str(alone)).build(directory=str(target), versions=["standard"])))


def build(target: Path, root: Path = ROOT, one: Callable[[Path, Path], Path] = build_one) -> list[Path]:
    """Build every wheel into `target`, which must be a folder or absent, and return their paths."""
    target.mkdir(parents=True, exist_ok=True)
    return [one(folder, target) for folder in folders(root)]


def tree_state(root: Path = ROOT) -> str:
    """Return a digest of everything that goes into the wheels: it names a cache of them."""
    if root == ROOT:
        stubs.ensure()
    digest = hashlib.sha256(SHARED.read_bytes() + PARTS.read_bytes())
    for folder in folders(root):
        digest.update(folder_state(folder, root).encode())
    return digest.hexdigest()[:16]


def folder_state(folder: Path, root: Path = ROOT) -> str:
    """Return a digest of what goes into the wheel of one distribution."""
    digest = hashlib.sha256()
    shipped = sorted(path for path in folder.glob("tangrad*/**/*") if path.is_file() and path.suffix != ".pyc")
    for path in [folder / "pyproject.toml", *shipped]:
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def kept(root: Path = ROOT) -> Path:
    """Return a folder with the wheels of the tree as it stands; built once for each state, by one process.

    The checks, the matrix and the tests share it.
    """
    shelf = Path(tempfile.gettempdir()) / f"tangrad-wheels-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    target = shelf / tree_state(root)
    with stubs.alone(shelf.with_suffix(".lock")):
        if not target.exists():
            shelf.mkdir(exist_ok=True)
            work = Path(tempfile.mkdtemp(dir=shelf))
            build(work, root)
            try:
                work.rename(target)
            except OSError:  # where processes are not alone, another was first
                shutil.rmtree(work)
            _forget_old(shelf)
        with contextlib.suppress(FileNotFoundError):
            os.utime(target)  # in use: another suite does not forget it
    return target


def _forget_old(shelf: Path, keep: int = 5) -> None:
    """Remove all but the newest builds, and none that was asked for within an hour: it may be in use."""
    ages: dict[Path, float] = {}
    for path in shelf.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process tidies up, too
            ages[path] = path.stat().st_mtime
    builds = sorted(ages, key=lambda path: ages[path])
    for old in builds[:-keep]:
        if ages[old] < ages[builds[-1]] - 3600:
            shutil.rmtree(old, ignore_errors=True)


def main() -> None:
    """Build into the folder given on the command line, and print what was built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, nargs="?")
    parser.add_argument("--kept", action="store_true", help="print the folder that has the wheels, built if need be")
    parser.add_argument("--sdists", action="store_true", help="source distributions instead of wheels")
    arguments = parser.parse_args()
    if arguments.kept:
        print(kept())
        return
    if arguments.target is None:
        parser.error("expected a folder to build into, or --kept")
    for path in build(arguments.target, one=build_source if arguments.sdists else build_one):
        print(f"{path}  {path.stat().st_size / 1024:.1f} kB")


if __name__ == "__main__":
    main()
