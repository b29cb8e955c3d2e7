"""Builds the wheels of all distributions of the workspace into one folder: `python -m tools.build_wheels dist`."""

import argparse
import hashlib
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder

from tools.workspace import ROOT, distributions, umbrella

SHARED = ROOT / "tools" / "shared_metadata.toml"


def folders(root: Path = ROOT) -> list[Path]:
    """Return the folder of every distribution, the umbrella included."""
    return [umbrella(root).folder, *(part.folder for part in distributions(root).values())]


def configuration(folder: Path) -> dict[str, Any]:
    """Return the `pyproject.toml` of a distribution, with what all of them have in common.

    What it states itself comes first; the umbrella, which has a README, states everything.
    """
    own = tomllib.loads((folder / "pyproject.toml").read_text())
    if "readme" in own["project"]:
        return own
    shared = tomllib.loads(SHARED.read_text())
    text = shared["readme"].format_map(own["project"]).lstrip()
    project = {**shared["project"], "readme": {"text": text, "content-type": "text/markdown"}, **own["project"]}
    return {**own, "project": project}


def build_one(folder: Path, target: Path) -> Path:
    """Build the wheel of one distribution into `target`, and return its path."""
    builder = WheelBuilder(str(folder), config=configuration(folder))
    return Path(next(builder.build(directory=str(target), versions=["standard"])))


def build(target: Path, root: Path = ROOT) -> list[Path]:
    """Build every wheel into `target`, which must be a folder or absent, and return their paths."""
    target.mkdir(parents=True, exist_ok=True)
    return [build_one(folder, target) for folder in folders(root)]


def tree_state(root: Path = ROOT) -> str:
    """Return a digest of everything that goes into the wheels: it names a cache of them."""
    digest = hashlib.sha256(SHARED.read_bytes())
    for folder in folders(root):
        shipped = sorted(path for path in folder.glob("tangrad*/**/*") if path.is_file() and path.suffix != ".pyc")
        for path in [folder / "pyproject.toml", *shipped]:
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
