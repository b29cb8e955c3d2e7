"""Builds the wheels of all distributions of the workspace into one folder: `python -m tools.build_wheels dist`."""

import argparse
import hashlib
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from tools.workspace import ROOT, distributions, umbrella


def folders(root: Path = ROOT) -> list[Path]:
    """Return the folder of every distribution, the umbrella included."""
    return [umbrella(root).folder, *(part.folder for part in distributions(root).values())]


def build(target: Path, root: Path = ROOT) -> list[Path]:
    """Build every wheel into `target`, which must be a folder or absent, and return their paths."""
    target.mkdir(parents=True, exist_ok=True)
    return [Path(next(WheelBuilder(str(f)).build(directory=str(target), versions=["standard"]))) for f in folders(root)]


def tree_state(root: Path = ROOT) -> str:
    """Return a digest of everything that goes into the wheels: it names a cache of them."""
    digest = hashlib.sha256()
    for folder in folders(root):
        shipped = sorted(path for path in folder.glob("tangrad*/**/*") if path.is_file() and path.suffix != ".pyc")
        for path in [folder / "pyproject.toml", folder / "README.md", *shipped]:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def main() -> None:
    """Build into the folder given on the command line, and print what was built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    for wheel in build(parser.parse_args().target):
        print(f"{wheel}  {wheel.stat().st_size / 1024:.1f} kB")


if __name__ == "__main__":
    main()
